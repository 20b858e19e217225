"""The checks of pages in a real browser can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import NARROW, WIDE, Browser, browser, chromium
from tests.catalogue import catalogue

__all__ = ["browser", "chromium"]

pytestmark = pytest.mark.slow

HEAD = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Good</title></head>'
STRICT = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'
GOOD = f"{HEAD}<body><main><h1>Good</h1></main>"
GOOD_AND_STRICT = GOOD.replace("</head>", f"{STRICT}</head>")


def page(directory: Path, html: str) -> str:
    path = directory / "page.html"
    path.write_text(html, encoding="utf-8")
    return path.as_uri()


def test_a_good_page_has_no_problems_even_if_it_allows_no_script(browser: Browser, tmp_path: Path) -> None:
    visit = browser.open(page(tmp_path, GOOD_AND_STRICT))
    assert visit.problems() == []
    assert visit.violations() == []


@catalogue(
    ("content", "problem"),
    [
        ("<script>console.error('lost')</script>", "console: lost"),
        ("<script>throw new Error('thrown')</script>", "error: thrown"),
        ("<script>fetch('missing.json').catch(() => 0)</script>", "missing.json"),
        ("<img alt='' src='http://other.invalid/x.png'>", "third party: http://other.invalid/x.png"),
        (f"<div style='width: {WIDE + 50}px'>wide</div>", "too wide"),
    ],
)
def test_a_problem_of_a_page_is_found(browser: Browser, tmp_path: Path, content: str, problem: str) -> None:
    visit = browser.open(page(tmp_path, GOOD + content), wait="networkidle")
    assert any(problem in line for line in visit.problems()), visit.problems()


@catalogue(
    ("box", "cell", "problem"),
    [
        ("", "a" * 90, "wider than its box"),
        ("overflow: auto", "a" * 90, "wider than its box"),
        ("", f"<div style='width: {NARROW}px'>a</div>" * 2, "wider than its box"),
    ],
)
def test_a_table_that_is_cut_is_found(browser: Browser, tmp_path: Path, box: str, cell: str, problem: str) -> None:
    table = f"<div style='{box}'><details><summary>a</summary><table><tr><td>{cell}</td></tr></table></details></div>"
    visit = browser.open(page(tmp_path, GOOD + table), width=NARROW)
    assert [line for line in visit.tables_cut() if problem in line]


def test_what_the_policy_forbids_is_found(browser: Browser, tmp_path: Path) -> None:
    visit = browser.open(page(tmp_path, GOOD_AND_STRICT + "<script>var late = 1</script>"))
    assert "Content Security Policy" in visit.problems()[0]


@catalogue(
    ("content", "rule"),
    [
        ("<p style='color: #aaa; background: #fff'>faint</p>", "color-contrast"),
        ("<button></button>", "button-name"),
        ("<input>", "label"),
    ],
)
def test_a_fault_for_readers_is_found(browser: Browser, tmp_path: Path, content: str, rule: str) -> None:
    visit = browser.open(page(tmp_path, GOOD + content))
    assert [line.split(":")[0] for line in visit.violations()] == [rule]


def test_width_and_scheme_are_those_asked_for(browser: Browser, tmp_path: Path) -> None:
    visit = browser.open(page(tmp_path, GOOD), width=NARROW, scheme="dark")
    assert visit.page.evaluate("innerWidth") == NARROW
    assert visit.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")

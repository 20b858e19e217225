"""The page of an experiment in a real browser: whole, live, and with hostile names as texts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.actors.studies.experiments.files import write_cell, write_experiment_directory
from tests.browser import NARROW, WIDE, Browser, Scheme, browser, chromium
from tests.hostile_texts import MARKUP, TEXTS
from tests.pages.view_server import serving

__all__ = ["browser", "chromium"]

pytestmark = pytest.mark.slow

NAMES = [MARKUP["image_that_fails"], TEXTS["right_to_left_override"], "a condition " * 9]
DRAWN = ".report figure svg"


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_experiment_directory(
        tmp_path_factory.mktemp("view") / "e",
        conditions={name: {"feed.topic": name} for name in NAMES},
        hypotheses=[{"measure": "likes", "contrast": NAMES[:2]}],
        question=MARKUP["end_of_script"],
        done=20,
    )


@pytest.fixture(scope="module")
def address(experiment: Path) -> Iterator[str]:
    with serving(experiment) as found:
        yield found


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_the_page_is_whole_and_hostile_names_stay_texts(
    browser: Browser, address: str, width: int, scheme: Scheme
) -> None:
    visit = browser.open(address, width=width, scheme=scheme)
    visit.page.wait_for_selector(DRAWN)
    assert visit.page.locator("h1").inner_text() == MARKUP["end_of_script"]
    assert visit.problems() == []
    assert visit.violations() == []
    assert visit.tables_cut() == []
    assert visit.page.evaluate("window.harmed") is None
    assert visit.page.locator("main :is(script, iframe, img, meta, object, embed)").count() == 0


def test_a_cell_that_ends_appears_and_leads_to_its_run(browser: Browser, address: str, experiment: Path) -> None:
    visit = browser.open(address)
    visit.page.wait_for_selector(DRAWN)
    done = visit.page.locator(".cell-done").count()
    visit.page.locator(".report summary").first.click()
    waiting = sorted(path.name for path in (experiment / "cells").iterdir())
    key = f"{2:04x}{done - 16 + 1:016x}"
    assert key not in waiting
    write_cell(experiment / "cells" / key, likes=25)
    visit.wait_until(f"document.querySelectorAll('.cell-done').length === {done + 1}")
    assert visit.page.locator(".report details[open]").count() == 1
    assert visit.page.locator(f"#cell-{key}").get_attribute("href") == f"#/run/{key}"
    assert visit.problems() == []

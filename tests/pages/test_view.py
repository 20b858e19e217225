"""The local page in a real browser, on runs of every kind and on an experiment; hostile texts stay texts."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page

from actors.core.messages import Message
from actors.store.oracle_log import LoggedAnswer
from prism.agents import Question, Update
from prism.social.posts.post import PostView
from tests.actors.studies.experiments.files import write_cell, write_experiment_directory
from tests.browser import NARROW, WIDE, Browser, Scheme, Visit, browser, chromium
from tests.catalogue import catalogue
from tests.command import prism_alone
from tests.hostile_texts import MARKUP, TEXTS
from tests.pages.view_server import PRISM, serving, write_run
from tests.paths import ROOT
from tests.patience import wait_until

__all__ = ["browser", "chromium"]

pytestmark = pytest.mark.slow

PHONE = 400
SMALL = ("--set", "population.size=200", "--set", "simulation.rounds=4", "--quiet")
SHOCK = "[{tick: 2, shock: {inflation: 1.0}}]"
DRAWN = "canvas[data-tick]:not([data-tick=''])"
LIVE = ".report .live svg"
LISTED = ".run-name a"
PAGES = {
    "list": ("", LISTED),
    "run": ("run/run?tick=30&agent=3", DRAWN),
    "killed": ("run/killed", DRAWN),
    "live": ("run/live", DRAWN),
    "economy": ("run/economy?tick=3&agent=1", ".seat li"),
    "compare": ("compare/run/fork", ".report svg"),
    "compare_economies": ("compare/economy/other", ".report svg"),
}
"""`{page: its address, and what it shows when it is ready}`."""


@pytest.fixture(scope="session")
def ended_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with runs. It is made before the browser starts, which has an event loop in this thread."""
    root = tmp_path_factory.mktemp("runs")
    default, economy = str(ROOT / "configs/friends.yaml"), str(ROOT / "configs/economy.yaml")
    fork = ("--at", "40", "--set", "feed.algorithm=random", "--quiet")
    for command in (
        ("run", default, *SMALL, "--out", str(root / "run")),
        ("fork", str(root / "run"), *fork, "--out", str(root / "fork")),
        ("run", economy, "--ticks", "6", "--quiet", "--out", str(root / "economy"), "--set", f"interventions={SHOCK}"),
        ("run", economy, "--ticks", "6", "--set", "simulation.seed=9", "--quiet", "--out", str(root / "other")),
    ):
        ended = prism_alone(*command)
        assert ended.code == 0, ended.err
    summary = json.loads((root / "run" / "summary.json").read_text())
    for of in ("likes", f"cascade:{summary['largest_cascade']['root_post']}"):
        ended = prism_alone("cause", str(root / "run"), "--of", of, "--budget", "12", "--draws", "2", "--top", "4")
        assert ended.code == 0, ended.err
    left_out = shutil.ignore_patterns("summary.json", "checkpoint-*", "causes")
    journal = shutil.copytree(root / "run", root / "killed", ignore=left_out) / "journal.prism"
    journal.write_bytes(journal.read_bytes()[:-5])
    return root


@pytest.fixture(scope="module")
def runs(ended_runs: Path) -> Iterator[Path]:
    """Provide the directory with a run that is under way, too."""
    config = ("--set", "run.tick_s=0.2")
    people = ("--set", "population.size=100", "--quiet", "--out", str(ended_runs / "live"))
    command = (*PRISM, "run", str(ROOT / "configs/friends.yaml"), *config, *people)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until((ended_runs / "live" / "journal.prism").exists, process)
            yield ended_runs
        finally:
            process.kill()


@pytest.fixture(scope="module")
def address(runs: Path) -> Iterator[str]:
    with serving(runs) as address:
        yield address


def opened(browser: Browser, address: str, kind: str) -> Visit:
    place, ready = PAGES[kind]
    visit = browser.open(f"{address}/#/{place}")
    visit.page.wait_for_selector(ready, timeout=60_000, state="attached")
    return visit


def tick_shown(page: Page) -> str:
    return page.locator(".clock output").inner_text().split("\n")[0].split(" round")[0]


LOOKS: tuple[tuple[int, Scheme], ...] = ((WIDE, "light"), (NARROW, "dark"))


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_has_no_problem(browser: Browser, address: str, kind: str) -> None:
    visit = opened(browser, address, kind)
    for width, scheme in LOOKS:
        visit.look(width, scheme)
        assert visit.violations() == [], (width, scheme)
        assert visit.problems() == [], (width, scheme)
        assert visit.tables_cut() == [], (width, scheme)
    assert {request.split("/")[2] for request in visit.requests} == {address.split("/")[2]}


def test_the_keys_move_the_clock_and_the_picture(browser: Browser, address: str) -> None:
    visit = opened(browser, address, "run")
    page = visit.page
    assert tick_shown(page) == "tick 30"
    picture = "document.querySelector('canvas').toDataURL()"
    before = page.evaluate(picture)
    shown = []
    keys = {"ArrowRight": 31, "Shift+ArrowRight": 41, "PageUp": 17, "End": 95, "PageDown": 95, "Home": 0}
    for key, tick in keys.items():
        page.keyboard.press(key)
        page.wait_for_selector(f"canvas[data-tick='{tick}']")
        assert tick_shown(page) == f"tick {tick}"
        shown.append(page.evaluate(picture))
    assert len({before, *shown}) == 6  # End and one beyond it show the same
    states = httpx.get(f"{address}/api/runs/run/states?tick=0").content
    idle = page.locator(".legend li", has_text="idle").locator("b").inner_text()
    assert int(idle) == states.count(0)
    page.keyboard.press("End")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    visit.wait_until("document.querySelector('.clock input').value > 2")
    page.keyboard.press("Space")
    assert "Play" in page.locator(".play").inner_text()
    assert visit.problems() == []


def test_a_killed_run_says_where_it_ends_and_a_live_one_grows(browser: Browser, address: str) -> None:
    page = opened(browser, address, "killed").page
    assert "the run was killed there" in page.locator("[role=alert]").inner_text()
    visit = opened(browser, address, "live")
    page = visit.page
    first = int(page.locator(".clock input").get_attribute("max") or 0)
    visit.wait_until(f"document.querySelector('.clock input').max > {first + 1}")
    visit.wait_until("document.querySelector('.clock input').value === document.querySelector('.clock input').max")


def test_the_wheel_zooms_the_time_of_all_panels_and_a_pointer_anywhere_tells_the_nearest_point(
    browser: Browser, address: str
) -> None:
    visit = opened(browser, address, "run")
    page = visit.page
    page.wait_for_selector(LIVE)
    chart = page.locator("figure", has_text="What people did").locator("svg").first
    chart.scroll_into_view_if_needed()
    upright = chart.locator(".cell .role-axis-label")
    numbers, across = upright.all_text_contents(), chart.locator(".column_footer .role-axis-label").text_content()
    box = chart.locator(".cell > g > .background").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 2)
    visit.wait_until("document.querySelector('#vg-tooltip-element.visible') !== null")
    told = page.locator("#vg-tooltip-element").inner_text()
    assert "posts in a round" in told
    assert "undefined" not in told
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    visit.wait_until(f"document.querySelector('.column_footer .role-axis-label').textContent !== {across!r}")
    assert upright.all_text_contents() == numbers
    assert visit.problems() == []


def test_a_run_opens_at_its_busiest_tick_or_its_end(browser: Browser, address: str) -> None:
    page = browser.open(f"{address}/#/run/run").page
    page.wait_for_selector(DRAWN)
    states = [httpx.get(f"{address}/api/runs/run/states?tick={tick}").content for tick in range(96)]
    idle = [each.count(0) for each in states]
    assert tick_shown(page) == f"tick {idle.index(min(idle))}"
    page = browser.open(f"{address}/#/run/economy").page
    page.locator(".when", has_text="1986q3").wait_for()  # the name of a quarter may come a moment later
    assert tick_shown(page) == "tick 5"


def test_the_reason_of_a_turn_opens_beside_the_agent_with_each_guard_once(browser: Browser, address: str) -> None:
    agent, tick = next(
        (agent, int(found[1]))
        for agent in range(200)
        for found in re.finditer(
            r"<summary>tick (\d+), on [^<]*, by the embedded oracle",
            httpx.get(f"{address}/part/runs/run/agent?agent={agent}&tick=95").text,
        )
    )
    visit = browser.open(f"{address}/#/run/run?tick={tick + 4}&agent={agent}")
    page = visit.page
    page.locator("tr.now").get_by_role("button", name="Why").first.click()
    page.wait_for_selector(".why .explanation dl", timeout=60_000)
    why, beside = page.locator(".why").bounding_box(), page.locator(".panel:has(#agent-number)").bounding_box()
    assert why is not None
    assert beside is not None
    assert why["x"] + why["width"] <= beside["x"]
    guards = page.locator(".why code").all_inner_texts()
    assert len(guards) == len(set(guards)) >= 3
    assert visit.violations() == []
    page.get_by_role("button", name="Close").click()
    assert page.locator(".why").count() == 0


def test_a_cascade_leads_to_what_made_it_and_an_agent_to_what_it_has_added(browser: Browser, address: str) -> None:
    agent, added = next(
        (agent, found)
        for agent in range(200)
        for found in re.findall(
            r"<li>(likes: [^<]*)</li>", httpx.get(f"{address}/part/runs/run/agent?agent={agent}&tick=95").text
        )
    )
    visit = browser.open(f"{address}/#/run/run?agent={agent}&tick=95", width=PHONE, scheme="dark")
    page = visit.page
    page.wait_for_selector(LIVE)
    page.get_by_role("link", name="What made it").click()
    assert page.evaluate("document.activeElement.querySelector('h3').textContent").startswith("What made cascade:")
    assert 0 <= page.evaluate("document.activeElement.getBoundingClientRect().top") < 100
    assert page.get_by_role("img", name="The largest effects").count() == 2
    page.get_by_text("What it has added").click()
    assert page.get_by_text(added).is_visible()
    page.evaluate("scrollTo(0, 0)")  # the clock, which stays at the top, would cover a part
    assert (visit.problems(), visit.violations(), visit.tables_cut()) == ([], [], [])


@catalogue("place", ["#/run/nobody", "#/nowhere", "nowhere/at/all"])
def test_an_error_leads_back_to_the_runs(browser: Browser, address: str, place: str) -> None:
    page = browser.open(f"{address}/{place}").page
    page.get_by_role("link", name="All runs").wait_for()
    assert "Reading the run …" not in page.locator("body").inner_text()
    page.get_by_role("link", name="All runs").click()
    page.wait_for_selector(LISTED)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a run in which every text is hostile: names, posts, effects, answers, and the run's own name."""
    root = tmp_path_factory.mktemp("hostile")
    ticks, answers = list[list[Message]](), []
    for agent, text in enumerate(MARKUP.values()):
        view = PostView(1, 0, text, text, (text,), 1, 0, 0, 0, 0.0, 0.0, False, 0.0, 0.0, 0.0)
        ticks.append(
            [
                Question(agent, 0, "decides", "evaluating", ("scrolling", "composing"), view),
                Update(agent, 0, "decides", "evaluating", "composing", "llm", text, text),
            ]
        )
        answers.append(LoggedAnswer(agent, 0, "decides", "composing", "llm", text, f'{{"text": "{agent}"}}{text}', 0.1))
    name = MARKUP["image_that_fails"].replace("/", "")
    write_run(root / name, ("population.size=40", "simulation.rounds=5"), ticks, answers)
    with serving(root) as address:
        yield address


def test_hostile_texts_stay_texts(browser: Browser, hostile: str) -> None:
    visit = browser.open(hostile)
    page = visit.page
    page.locator(".run-name a").click()
    page.wait_for_selector(DRAWN)
    page.locator("#agent-number").fill("0")
    page.keyboard.press("Enter")
    page.get_by_text("What it asked (").click()
    page.keyboard.press("Escape")
    for tick in range(0, len(MARKUP), 12):
        page.locator(".clock input").fill(str(min(tick + 11, len(MARKUP) - 1)))
        visit.wait_until(f"document.querySelectorAll('details.question').length >= {min(tick + 11, 12)}")
        page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    body = page.locator("main").inner_text()
    assert "<script>" in body
    assert page.evaluate("window.harmed") is None
    assert page.locator("main :is(script, iframe, img, style, meta, object, embed), a[href^='javascript']").count() == 0
    assert visit.problems() == []


NAMES = [MARKUP["image_that_fails"], TEXTS["right_to_left_override"], "a condition " * 9]
FIGURES = ".report figure svg"


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
def of_experiment(experiment: Path) -> Iterator[str]:
    with serving(experiment) as found:
        yield found


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_the_page_is_whole_and_hostile_names_stay_texts(
    browser: Browser, of_experiment: str, width: int, scheme: Scheme
) -> None:
    visit = browser.open(of_experiment, width=width, scheme=scheme)
    visit.page.wait_for_selector(FIGURES)
    assert visit.page.locator("h1").inner_text() == MARKUP["end_of_script"]
    assert visit.problems() == []
    assert visit.violations() == []
    assert visit.tables_cut() == []
    assert visit.page.evaluate("window.harmed") is None
    assert visit.page.locator("main :is(script, iframe, img, meta, object, embed)").count() == 0


def test_a_cell_that_ends_appears_and_leads_to_its_run(browser: Browser, of_experiment: str, experiment: Path) -> None:
    visit = browser.open(of_experiment)
    visit.page.wait_for_selector(FIGURES)
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

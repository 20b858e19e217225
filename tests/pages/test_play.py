"""The page of `prism play` in a real browser: sliders, fan, pins, a kept run, keys, and the processes behind it."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Page

from tests.browser import NARROW, WIDE, Browser, Scheme, Visit, browser, chromium
from tests.pages.view_server import PRISM, serving
from tests.patience import HANG_S, wait_until

__all__ = ["browser", "chromium"]

pytestmark = pytest.mark.slow

CONFIG = "{simulation: {rounds: 6}, population: {size: 200}}"
SERVERS = 2
"""The processes of the standard library that fork others, and clean up after them."""
LOOKS: tuple[tuple[int, Scheme], ...] = ((WIDE, "light"), (400, "dark"), (NARROW, "light"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("play")
    (directory / "mine.yaml").write_text(CONFIG)
    return directory


@pytest.fixture(scope="module")
def address(place: Path) -> Iterator[str]:
    with serving(place / "mine.yaml", place, "play") as address:
        yield address


def opened(browser: Browser, address: str, settings: str = "") -> Visit:
    visit = browser.open(f"{address}/{settings}")
    visit.page.wait_for_selector(".plot svg")
    return visit


def shown(page: Page) -> str:
    return page.locator("#said .answer").inner_text()


def filled(visit: Visit, seeds: int) -> None:
    visit.wait_until(f"document.querySelector('#status').textContent.includes('{seeds} of {seeds} seeds')")
    visit.wait_until(f"document.querySelector('#seeded').textContent.includes('Mean over {seeds} seeds')")


def test_a_slider_moves_the_world_the_fan_fills_in_and_the_run_before_stays(browser: Browser, address: str) -> None:
    visit = opened(browser, address)
    page, before = visit.page, shown(visit.page)
    filled(visit, 20)
    slider = page.get_by_role("slider", name="population size", exact=True)
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    visit.wait_until("document.querySelector('#said .answer').textContent.includes('215 people')")
    assert shown(page) != before
    assert "Beside the run before: " in page.locator("#answer").inner_text()
    visit.wait_until("document.querySelectorAll('#chart-likes polyline').length === 2")
    filled(visit, 20)
    visit.wait_until("document.querySelectorAll('#chart-likes .band').length === 1")
    assert re.search(r"over the same 20 seeds|Within chance|The same", page.locator("#answer").inner_text())
    page.go_back()
    visit.wait_until("!document.querySelector('#said .answer').textContent.includes('215 people')")
    assert visit.problems() == []


def test_a_page_has_no_problem_at_any_width(browser: Browser, address: str) -> None:
    visit = opened(browser, address, "#feed.algorithm=%22hot%22&seeds=5&tick=20&agent=3")
    filled(visit, 5)
    visit.page.wait_for_selector("canvas[data-tick]:not([data-tick=''])")
    visit.page.get_by_role("button", name="Pin").click()
    for width, scheme in LOOKS:
        visit.look(width, scheme)
        visit.page.wait_for_timeout(200)
        assert visit.violations() == [], (width, scheme)
        assert visit.problems() == [], (width, scheme)


def test_the_keyboard_alone_changes_pins_and_keeps(browser: Browser, address: str, place: Path) -> None:
    visit = opened(browser, address, "#seeds=1")
    page = visit.page

    def reach(name: str) -> None:
        for _ in range(120):
            page.keyboard.press("Tab")
            if page.evaluate("[document.activeElement.id, document.activeElement.textContent]").count(name):
                return
        raise AssertionError(f"no key leads to {name}")

    reach("Pin")
    page.keyboard.press("Enter")
    reach("set-feed.algorithm")
    page.keyboard.press("h")
    visit.wait_until("location.hash.includes('hot')")
    visit.wait_until("document.querySelector('#answer').textContent.includes('Beside the run before')")
    reach("Keep this run")
    page.keyboard.press("Enter")
    page.wait_for_selector(".kept .digest")
    digest, path = page.locator(".kept .digest").inner_text(), page.locator(".kept code").first.inner_text()
    assert digest.startswith(page.locator("#status code").inner_text())
    words = (*PRISM, "run", str(Path(path, "config.yaml")), "--quiet", "--out", "again")
    again = subprocess.run(words, cwd=place, capture_output=True, text=True, check=True)
    assert again.stdout.strip() == digest
    reach("Pin")
    page.keyboard.press("Enter")
    reach("Keep as an experiment")
    page.keyboard.press("Enter")
    written = page.locator("#written code").inner_text().split()[-1]
    plan = subprocess.run(
        (*PRISM, "experiment", "plan", written), cwd=place, capture_output=True, text=True, check=True
    )
    assert "40" in plan.stdout  # 2 conditions, 20 seeds
    assert visit.problems() == []


def test_a_person_is_silenced_by_a_click_and_that_is_an_entry_of_the_settings(browser: Browser, address: str) -> None:
    visit = opened(browser, address, "#seeds=1&tick=20&agent=3")
    page = visit.page
    page.wait_for_selector("canvas[data-tick='20']")
    for name, tick in (("One round back", 0), ("One tick on", 1), ("One round on", 25), ("One tick back", 24)):
        page.get_by_role("button", name=name).click()
        page.wait_for_selector(f"canvas[data-tick='{tick}']")
    page.get_by_role("slider", name="feed size", exact=True).press("ArrowLeft")  # which moves no clock
    visit.wait_until("location.hash.includes('feed.size')")
    page.get_by_role("button", name="is silenced").click()
    visit.wait_until("location.hash.includes('interventions')")
    assert "tick 25: person 3 is silenced" in page.locator("#done").inner_text()
    page.get_by_label("publishes").fill("Good morning")
    page.keyboard.press("Enter")
    visit.wait_until("document.querySelectorAll('#done li').length === 2")
    visit.wait_until("!document.body.hasAttribute('data-busy')")
    link = page.url
    answer = shown(page)
    other = opened(browser, address, link[link.index("#") :])
    other.wait_until(f"document.querySelector('#said .answer')?.textContent === {json.dumps(answer)}")
    assert page.get_by_role("button", name=re.compile("Remove: .*silenced")).count() == 1
    assert (visit.problems(), other.problems()) == ([], [])


def test_hostile_settings_in_the_address_are_refused_in_a_line(browser: Browser, address: str) -> None:
    hostile = "#population.profiles=%22/etc/passwd%22&x.%3Cscript%3E=1&seeds=7"
    visit = browser.open(f"{address}/{hostile}")
    problem = visit.page.locator("#answer [role=alert]")
    problem.first.wait_for()
    assert problem.all_inner_texts() == [
        f"{name}: is no setting that the page may change" for name in ("population profiles", "x <script>")
    ]
    assert visit.page.locator("main script").count() == 0


def children(pid: int) -> set[int]:
    return {each.pid for each in psutil.Process(pid).children(recursive=True)}


@contextmanager
def working(browser: Browser, place: Path) -> Iterator[tuple[subprocess.Popen[str], Visit]]:
    """Provide the command while its processes work on a long run, and its page; afterwards it is ended."""
    words = (*PRISM, "play", str(place / "mine.yaml"), "--port", "0")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=place) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://[\d.:]+", process.stdout.readline())
            assert found is not None
            visit = browser.open(f"{found[0]}/#simulation.rounds=9000")
            visit.wait_until("document.querySelector('#controls li') !== null")
            wait_until(lambda: len(children(process.pid)) > SERVERS)
            yield process, visit
        finally:
            process.terminate()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_end_of_the_command_ends_its_processes(browser: Browser, place: Path, end: signal.Signals) -> None:
    with working(browser, place) as (process, _):
        below = children(process.pid)
        process.send_signal(end)
        process.wait(HANG_S)
    wait_until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in below))


def test_closing_the_page_ends_its_processes(browser: Browser, place: Path) -> None:
    with working(browser, place) as (process, visit):
        visit.page.goto("about:blank")
        wait_until(lambda: len(children(process.pid)) == SERVERS)

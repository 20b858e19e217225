"""A real browser for tests: Chromium without a window, and what it says of a page.

A test that asks for `browser` stands outside `tests/actors`, where no task may block: Playwright has an event loop of
its own, and blocks in it. For the same reason a module with such tests has no `async` ones. They are marked `slow`,
`process` and `network`.

    def test_the_page(browser: Browser) -> None:
        visit = browser.open(url, width=390, scheme="dark")
        visit.page.keyboard.press("End")
        assert visit.problems() == []
"""

import shutil
from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import ConsoleMessage, Page, Request, Response, sync_playwright

Scheme = Literal["light", "dark"]

WIDE, NARROW = 1400, 390
"""The widths at which every page is looked at, in pixels: a desk, and a phone."""
HEIGHT = 900
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
"""The rules of axe that count: WCAG 2.2, levels A and AA."""
ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
"""WebGL is drawn by the processor. A root user, as in a container, has no sandbox."""
CUT = """() => {
  const cut = [];
  for (const each of document.querySelectorAll("details")) each.open = true;
  for (const table of document.querySelectorAll("table")) {
    if (!table.offsetWidth) continue;
    let box = table.parentElement;
    while (box !== document.documentElement && getComputedStyle(box).overflowX === "visible") box = box.parentElement;
    const name = (table.caption?.textContent || table.textContent).slice(0, 60);
    const over = table.getBoundingClientRect().right - box.getBoundingClientRect().right;
    if (over > 1) cut.push(`${name}: wider than its box by ${Math.round(over)} px`);
    for (const cell of table.querySelectorAll("th, td"))
      if (cell.scrollWidth > cell.clientWidth + 1) cut.push(`${name}: cut: ${cell.textContent}`);
  }
  return cut;
}"""
"""The tables of a page that do not fit."""
STEP_MS = 50
TIMEOUT_MS = 60_000
"""The longest wait for anything on a page; the default of 30 s is no shorter than a hang."""


class Visit:
    """One page in the browser, and what went wrong on it so far."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.requests: list[str] = []
        """The addresses that were asked for, data within the page left out."""
        self._home = _origin(url)
        self._problems: list[str] = []
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self._problems.append(f"error: {error}"))
        page.on("request", self._note_request)
        page.on("requestfailed", self._note_failure)
        page.on("response", self._note_response)

    def problems(self) -> list[str]:
        """Return errors and warnings of the console, failed requests, third-party requests, and a page too wide."""
        wide = self.overflow()
        return [*self._problems, *([f"too wide: it scrolls sideways by {wide} px"] if wide else [])]

    def overflow(self) -> int:
        root = "document.documentElement"
        return max(0, int(self.page.evaluate(f"() => {root}.scrollWidth - {root}.clientWidth")))

    def tables_cut(self) -> list[str]:
        found: list[str] = self.page.evaluate(CUT)
        return found

    def look(self, width: int, scheme: Scheme) -> None:
        self.page.set_viewport_size({"width": width, "height": HEIGHT})
        self.page.emulate_media(color_scheme=scheme)

    def wait_until(self, expression: str) -> None:
        """Wait until JavaScript is true; Playwright's own way needs `unsafe-eval`, which pages forbid."""
        for _ in range(TIMEOUT_MS // STEP_MS):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(STEP_MS)
        raise AssertionError(f"not within {TIMEOUT_MS / 1000:g} s: {expression}")

    def violations(self) -> list[str]:
        found: dict[str, Any] = Axe().run(self.page, options={"runOnly": {"type": "tag", "values": LEVELS}}).response
        return [
            f"{rule['id']}: {rule['help']}: {node['html'][:200]}"
            for rule in found["violations"]
            for node in rule["nodes"]
        ]

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self._problems.append(f"console: {message.text}")

    def _note_request(self, request: Request) -> None:
        if urlsplit(request.url).scheme in {"data", "blob"}:
            return
        self.requests.append(request.url)
        if _origin(request.url) != self._home:
            self._problems.append(f"third party: {request.url}")

    def _note_failure(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the page itself has given it up
            self._problems.append(f"failed: {request.url}: {request.failure}")

    def _note_response(self, response: Response) -> None:
        if response.status >= 400:
            self._problems.append(f"answered {response.status}: {response.url}")


class Browser:
    def __init__(self, chromium: Chromium) -> None:
        self._chromium = chromium

    def open(self, url: str, *, width: int = WIDE, scheme: Scheme = "light") -> Visit:
        context = self._chromium.new_context(
            viewport={"width": width, "height": HEIGHT}, color_scheme=scheme, reduced_motion="reduce"
        )
        context.set_default_timeout(TIMEOUT_MS)
        visit = Visit(context.new_page(), url)
        visit.page.goto(url)
        return visit

    def close_visits(self) -> None:
        for context in self._chromium.contexts:
            context.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        yield Browser(playwright.chromium.launch(executable_path=path, args=ARGUMENTS))


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    yield chromium
    chromium.close_visits()


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"

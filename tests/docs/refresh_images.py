"""Writes the screenshots of docs/images anew: `python -m tests.docs.refresh_images [SCENE...]`.

Each scene makes its own small runs, opens a page in Chromium and takes one picture of it. One that takes more than
`BYTES_MAX` is reduced to a few colours.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from PIL import Image
from playwright.sync_api import sync_playwright

from actors.pages.style import theme_css
from tests.browser import ARGUMENTS, NARROW, WIDE, Browser, Scheme
from tests.docs.pages import blocks
from tests.docs.view_images import take_all
from tests.pages.view_server import serving
from tests.paths import ROOT

IMAGES = ROOT / "docs" / "images"
BYTES_MAX: Final = 250_000
COLORS: Final = 200
Settings = Mapping[str, object]


def run_prism(*arguments: str) -> None:
    """Run a command, in a process of its own: this one has the event loop of the browser.

    Raises:
        CalledProcessError: it did not succeed; its errors are on standard error.
    """
    command = [sys.executable, "-m", "actors.cli", *arguments]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


class Studio:
    """A place for runs, and a browser that looks at pages.

    Args:
        directory: where runs and pages are written.
    """

    def __init__(self, browser: Browser, directory: Path) -> None:
        self.browser = browser
        self.directory = directory

    def run(self, name: str, config: Path, **settings: object) -> Path:
        """Return the directory of a run of a configuration with these settings, `__` for a dot; it is made once."""
        out = self.directory / "runs" / name
        if not out.exists():
            pairs = [f"{key.replace('__', '.')}={value}" for key, value in settings.items()]
            run_prism("run", str(config), "-q", "--out", str(out), *(f"--set={pair}" for pair in pairs))
        return out

    def report(self, name: str, *arguments: str | Path) -> str:
        """Return the address of a report of runs."""
        out = self.directory / f"{name}.html"
        run_prism("report", *map(str, arguments), "--out", str(out), "--force", "--quiet")
        return out.as_uri()

    def shoot(
        self,
        name: str,
        url: str,
        *,
        part: str = "",
        width: int = WIDE,
        height: int = 900,
        scheme: Scheme = "light",
        wait: str = "load",
    ) -> None:
        """Take a picture of a page: of its top, or of the element that the selector `part` names.

        Args:
            height: the most of it, in pixels.

        Raises:
            RuntimeError: something went wrong on the page, or the picture is too large.
        """
        visit = self.browser.open(url, width=width, height=height, scheme=scheme, wait=wait)
        problems = visit.problems()
        if problems:
            raise RuntimeError(f"{name}: {problems}")
        raw = visit.page.locator(part).screenshot() if part else visit.page.screenshot()
        picture = Image.open(io.BytesIO(raw)).convert("RGB")
        picture = picture.crop((0, 0, picture.width, min(picture.height, height)))
        path = IMAGES / f"{name}.png"
        picture.save(path, optimize=True)
        if path.stat().st_size > BYTES_MAX:
            method = Image.Quantize.MAXCOVERAGE  # it keeps the colours of small areas
            picture.quantize(COLORS, method=method, dither=Image.Dither.NONE).save(path, optimize=True)
        if path.stat().st_size > BYTES_MAX:
            raise RuntimeError(f"{path}: has {path.stat().st_size:,} bytes, and may have {BYTES_MAX:,}")
        self.browser.close_visits()


SMALL: Settings = {"population__size": 500, "simulation__rounds": 20}
QUESTION = "Do cascades stay smaller where a feed shows the newest posts first?"


def _social(studio: Studio, **settings: object) -> Path:
    name = "-".join(["social", *map(str, settings.values())])
    return studio.run(name, ROOT / "configs" / "friends.yaml", **SMALL, **settings, run__question=QUESTION)


def _two_feeds(studio: Studio) -> str:
    runs = [
        _social(studio, feed__algorithm=algorithm, simulation__seed=seed)
        for algorithm in ("interest", "chronological")
        for seed in (1, 2, 3)
    ]
    return studio.report("two", *runs)


def _economies(studio: Studio) -> str:
    config = ROOT / "configs" / "economy.yaml"
    runs = [studio.run(f"economy-{seed}", config, simulation__seed=seed, simulation__rounds=90) for seed in (1, 2, 3)]
    return studio.report("economy", *runs)


def _own_chart(studio: Studio) -> str:
    for block in blocks(ROOT / "docs" / "tutorial.md", "A behaviour of your own"):
        kind, *file = block.info.split()
        if kind == "yaml" and file:
            (studio.directory / file[0]).write_text(block.text, encoding="utf-8")
    return studio.report("own", studio.run("doomscrolling", studio.directory / "study.yaml"))


def report_top(studio: Studio) -> None:
    """The top of a report of two feeds with three seeds each."""
    studio.shoot("report-top", _two_feeds(studio), height=1150)


def report_states(studio: Studio) -> None:
    """The states of one run."""
    studio.shoot("report-states", studio.report("one", _social(studio)), part="#states .charts >> nth=0")


def report_attribute(studio: Studio) -> None:
    """Opinions over the rounds."""
    page = studio.report("opinions", studio.run("opinions", ROOT / "configs" / "opinions.yaml"))
    studio.shoot("report-attribute", page, part="#people .charts >> nth=0")


def report_cascades(studio: Studio) -> None:
    """The cascades of two feeds, dark."""
    studio.shoot("report-cascades", _two_feeds(studio), part="#cascades", height=1500, scheme="dark")


def report_economy(studio: Studio) -> None:
    """Three economies beside history."""
    studio.shoot("report-economy", _economies(studio), part="#quarters")


def report_own_chart(studio: Studio) -> None:
    """The statechart of a behaviour of one's own, with what was done on it."""
    studio.shoot("report-own-chart", _own_chart(studio), part="#statechart-0-0 svg", height=1100)


def report_opinions(studio: Studio) -> None:
    """Opinions over time, of bounded confidence with three bounds."""
    config, key = ROOT / "configs" / "opinions.yaml", "population__attributes__bound__default"
    runs = [studio.run(f"bound-{bound}", config, **{key: bound}) for bound in (0.1, 0.2, 0.4)]
    studio.shoot("report-opinions", studio.report("opinions", *runs), part="#people .charts >> nth=1")


def report_phone(studio: Studio) -> None:
    """The top of a report on a phone, dark."""
    studio.shoot("report-phone", studio.report("one", _social(studio)), width=NARROW, height=1400, scheme="dark")


def _feed(studio: Studio) -> Path:
    """Return the directory of the experiment of `feed.yaml`, which takes a minute."""
    out = studio.directory / "feed"
    if not out.exists():
        run_prism("experiment", "configs/experiments/feed.yaml", "--out", str(out), "--quiet")
    return out


def report_experiment(studio: Studio) -> None:
    """The top of the report of an experiment."""
    studio.shoot("report-experiment", studio.report("experiment", _feed(studio)), height=1500)


def view_experiment(studio: Studio) -> None:
    """The local page of an experiment, dark."""
    with serving(_feed(studio)) as address:
        visit = studio.browser.open(address)
        visit.page.wait_for_selector(".report figure svg")  # it is drawn once, and then kept
        studio.shoot("view-experiment", address, height=1100, scheme="dark", wait="networkidle")


def view(studio: Studio) -> None:
    """The local page: five pictures."""
    place = studio.directory / "view"
    place.mkdir()
    take_all(studio.browser, place)


def who_decided(studio: Studio) -> None:
    """The picture of the README: who decided the steps of the default run, as its report draws it."""
    url = studio.report("default", studio.run("default", ROOT / "configs" / "default.yaml"))
    visit = studio.browser.open(url)
    drawn = visit.page.locator("#decisions-0 svg").evaluate("drawn => new XMLSerializer().serializeToString(drawn)")
    head, inside = drawn.split(">", 1)
    style = f"<style>text {{ font-family: system-ui, sans-serif }}\n{theme_css()}</style>"
    (IMAGES / "who-decided.svg").write_text(f"{head}>{style}{inside}\n", encoding="utf-8")
    studio.browser.close_visits()


SCENES: dict[str, Callable[[Studio], None]] = {
    scene.__name__.replace("_", "-"): scene
    for scene in (
        report_top,
        report_states,
        report_attribute,
        report_cascades,
        report_economy,
        report_own_chart,
        report_opinions,
        who_decided,
        report_phone,
        report_experiment,
        view_experiment,
        view,
    )
}


def main(names: list[str]) -> None:
    """Take the pictures of these scenes, or of all."""
    unknown = [name for name in names if name not in SCENES]
    if unknown:
        sys.exit(f"no such scene: {', '.join(unknown)}; there are {', '.join(SCENES)}")
    with sync_playwright() as playwright, TemporaryDirectory() as directory:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        studio = Studio(Browser(chromium), Path(directory))
        for name in names or list(SCENES):
            sys.stdout.write(f"{name}\n")
            SCENES[name](studio)


if __name__ == "__main__":
    main(sys.argv[1:])

"""The pictures of the local page, which `python -m tests.docs.refresh_images view` takes again."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import httpx
from PIL import Image

from tests.browser import NARROW, WIDE, Browser, Scheme
from tests.pages.view_server import PRISM, serving
from tests.paths import ROOT

IMAGES = ROOT / "docs" / "images"
COLORS = 256
"""Colours of a picture that would be too large with all of them."""
BYTES_MAX = 250_000
"""The largest picture: a page is read over a network, too."""


class Shot(NamedTuple):
    """A picture of the local page.

    Args:
        place: of the page, behind the `#`; `{post}` is the largest cascade of the run.
        ready: what the page shows when it is ready.
        scroll_to: what is scrolled into view; empty for the top.
    """

    name: str
    place: str
    ready: str
    width: int
    height: int
    scheme: Scheme
    scroll_to: str = ""


DRAWN = "canvas[data-tick]:not([data-tick=''])"
SHOTS = (
    Shot("view-runs.png", "", ".run-name a", WIDE, 560, "light"),
    Shot("view-run.png", "run/interest?tick=401&agent=17&post={post}", DRAWN, WIDE, 1100, "light", "canvas"),
    Shot("view-economy.png", "run/economy?tick=7&agent=1", ".seat li", WIDE, 1100, "dark"),
    Shot("view-compare.png", "compare/interest/chronological", ".panel table", WIDE, 1160, "dark"),
    Shot("view-phone.png", "run/interest?tick=401&post={post}", DRAWN, NARROW, 844, "dark", "canvas"),
)


def take_all(browser: Browser, directory: Path) -> None:
    """Make the runs, and take the pictures.

    Args:
        directory: an existing one, for the runs.

    Raises:
        RuntimeError: something went wrong on a page, or a picture is too large.
    """
    make_runs(directory)
    with serving(Path("runs"), directory) as address:
        for shot in SHOTS:
            take(browser, address, shot)


def make_runs(directory: Path) -> None:
    """Make the runs of the pictures in `runs` of a directory, which takes about a minute."""
    default, economy = str(ROOT / "configs/friends.yaml"), str(ROOT / "configs/economy.yaml")
    for arguments in (
        ("run", default, "--out", "runs/interest"),
        (
            "fork",
            "runs/interest",
            "--at",
            "600",
            "--set",
            "feed.algorithm=chronological",
            "--out",
            "runs/chronological",
        ),
        ("run", economy, "--out", "runs/economy"),
    ):
        subprocess.run([*PRISM, *arguments, "--quiet"], check=True, stdout=subprocess.DEVNULL, cwd=directory)


def take(browser: Browser, address: str, shot: Shot) -> None:
    """Take one picture."""
    while httpx.get(f"{address}/api/runs/interest").json()["is_reading"]:
        time.sleep(0.1)
    post = httpx.get(f"{address}/api/runs/interest/cascades").json()["largest"][0]["post"]
    url = f"{address}/#/{shot.place.format(post=post)}"
    visit = browser.open(url, width=shot.width, height=shot.height, scheme=shot.scheme)
    visit.page.wait_for_selector(shot.ready, timeout=60_000, state="attached")
    visit.page.wait_for_load_state("networkidle")
    if shot.scroll_to:
        visit.page.locator(shot.scroll_to).scroll_into_view_if_needed()
    visit.page.wait_for_timeout(1500)  # the last lines and points
    visit.shoot(IMAGES / shot.name)
    if (IMAGES / shot.name).stat().st_size > BYTES_MAX:
        with Image.open(IMAGES / shot.name) as image:
            few = image.convert("RGB").quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(IMAGES / shot.name, optimize=True)
    size = (IMAGES / shot.name).stat().st_size
    if size > BYTES_MAX:
        raise RuntimeError(f"{shot.name}: has {size:,} bytes, and may have {BYTES_MAX:,}")
    if problems := visit.problems():
        raise RuntimeError(f"{shot.name}: {problems}")
    browser.close_visits()

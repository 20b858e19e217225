"""Bars: how much is done, with and without colour."""

from __future__ import annotations

import io

from rich.console import Console

from actors.display.progress_bar import ProgressBar
from tests.catalogue import catalogue


def drawn(bar: ProgressBar, *, color: bool = False, encoding: str = "utf-8", width: int = 80) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, force_terminal=True, no_color=not color, color_system="standard")
    console.print(bar, end="")
    file.flush()
    file.seek(0)
    return file.read()


@catalogue(
    ("part", "signs"), [(0, "····"), (1, "━···"), (3, "━━━·"), (3.99, "━━━·"), (4, "━━━━"), (5, "━━━━"), (-1, "····")]
)
def test_what_is_done_and_what_is_not_differ_without_colour(part: float, signs: str) -> None:
    assert drawn(ProgressBar(part, 4, width=4)) == signs


def test_a_bar_is_no_wider_than_the_terminal_and_its_shares_stay() -> None:
    assert drawn(ProgressBar(1, 2, width=40), width=10) == "━━━━━·····"

"""A picture of rows: in each a bar, or a number with its interval, below its words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from actors.pages.picture import LINE, WIDTH, figure, label, plain_numbers, words_at, wrapped
from actors.pages.words import NO_VALUE
from actors.pages.words import figure as digits
from prism.palette import BLUE, ORANGE

MINUS = "\N{MINUS SIGN}"
ROWS_MAX = 24
"""The most rows of a picture; of more, the first ones are drawn and the table has the others."""
ROW, EDGE = 36, 46
"""The height of a row, with its words above it, and of all that is around the rows, in pixels."""
WORDS_LINE = 12
"""The height of each further line of words."""
ABOVE, BELOW = 9, 12
"""The room between a row's mark and its words, and between the mark and the next row."""
BAR = 11
"""The height of a bar."""


class Row(NamedTuple):
    """A row of the picture."""

    words: str  # the text above the row
    mean: float | None = None  # the number that is drawn as a dot; None if there is no dot
    low: float | None = None  # low, high: the ends of its interval; None if it has no interval
    high: float | None = None
    color: str = BLUE
    is_filled: bool = True  # whether the dot is filled; an open one stands out from the others
    bar: float | None = None  # another number, drawn as a bar from 0; None if there is no bar


def pages_number(value: float | None) -> str:
    """Return a measured number with three significant digits and a proper minus; a dash if there is none."""
    if value is None or not math.isfinite(value):
        return NO_VALUE
    sign = MINUS if value < 0 else ""
    return f"{sign}{digits(abs(value))}"


def span(low: float | None, high: float | None) -> str:
    """Return an interval; a dash if there is none."""
    return NO_VALUE if low is None or high is None else f"{pages_number(low)} to {pages_number(high)}"


def more_rows(rows: Sequence[object]) -> str:
    """Return a sentence on the rows that are not drawn; empty if all are."""
    return f" The first {ROWS_MAX} of {len(rows):,} are drawn." if len(rows) > ROWS_MAX else ""


def rows_picture(rows: Sequence[Row], unit: str, *, margin: float | None = None, has_zero: bool = True) -> Figure:
    """Return a figure of the first rows.

    Args:
        margin: a range on both sides of 0 that is shaded.
        has_zero: whether the axis has a line at 0.
    """
    kept = rows[:ROWS_MAX]
    drawn, axes, ys = rows_axes([row.words for row in kept], wrapped(unit))
    if margin is not None:
        axes.axvspan(-margin, margin, color=ORANGE, alpha=0.18, linewidth=0)
    if has_zero:
        axes.axvline(0.0, color=LINE, linewidth=1.0)
    for y, row in zip(ys, kept, strict=True):
        if row.bar is not None:
            axes.plot([0.0, row.bar], [y, y], color=BLUE, linewidth=BAR, solid_capstyle="butt")
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [y, y], color=row.color, linewidth=2.2, solid_capstyle="butt")
        face = row.color if row.is_filled else "none"
        if row.mean is not None:
            axes.plot([row.mean], [y], "o", color=row.color, markerfacecolor=face, markersize=6, zorder=3)
    return drawn


def rows_axes(words: Sequence[str], unit: str) -> tuple[Figure, Axes, list[int]]:
    """Return a figure with words above each of its rows, and the place of each row, in pixels from the top."""
    texts = [wrapped(each) for each in words]
    heights = [ROW + WORDS_LINE * text.count("\n") for text in texts] or [ROW]
    ys = [sum(heights[: place + 1]) - BELOW for place in range(len(texts))]
    drawn = figure(WIDTH, EDGE + WORDS_LINE * unit.count("\n") + sum(heights))
    axes = drawn.subplots()
    axes.set_ylim(sum(heights), 0)
    for y, text in zip(ys, texts, strict=True):
        words_at(axes, y - ABOVE, text)
    axes.yaxis.set_major_locator(NullLocator())
    axes.spines["left"].set_visible(False)
    axes.margins(x=0.06)
    plain_numbers(axes.xaxis, ticks=5)
    label(axes, unit, grid="x")
    return drawn, axes, ys

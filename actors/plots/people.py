"""A chart of a number of people over the rounds: how many have which value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import altair as alt
import numpy as np

from actors.plots.theme import TEXT, WHOLE, above, axis, columns, data, fitted, floats, themed
from prism.columns import Floats
from prism.palette import BLUE

BINS: Final = 40
SHADES: Final = ((0.0, 0.14), (0.01, 0.28), (0.03, 0.46), (0.1, 0.7), (0.3, 1.0))
"""`(share, opacity)`: a cell with more than this share of the people has this opacity, up to the next share."""


def attribute(
    rounds: Sequence[float],
    values: Sequence[Floats],
    title: str,
    caption: str,
    *,
    name: str,
    ends: tuple[float, float],
    is_whole: bool = False,
    marks: Sequence[float] = (),
) -> Any:
    """Return the people by a number of theirs and by round; the stronger the colour, the more people.

    Args:
        values: each person's number in each of the rounds.
        ends: the least and the largest number of all rounds.
        is_whole: whether the numbers are whole: if there are few, each has a row of its own.
        marks: places in time of interventions, as dotted lines.
    """
    cells = _cell_ends(*ends, is_whole=is_whole)
    at = floats(rounds)
    sides = np.concatenate(([-0.5], (at[1:] + at[:-1]) / 2, [at[-1] + 0.5]))
    shares = np.array([np.histogram(each, cells)[0] / len(each) for each in values])
    shades = np.digitize(shares, [least for least, _ in SHADES], right=True)
    x = alt.X(
        "x:Q",
        axis=axis("round (0: the start)", **WHOLE),
        scale=alt.Scale(domain=[-0.5, float(at[-1]) + 0.5], nice=False),
    )
    whole: Any = WHOLE if is_whole else {}
    y = alt.Y("y:Q", axis=above(name, **whole), scale=alt.Scale(domain=[float(cells[0]), float(cells[-1])], nice=False))
    rows = []
    for place, row in enumerate(shades.T):  # cells of one shade side by side are one piece
        turns = np.flatnonzero(np.diff(np.concatenate(([-1], row, [-1]))))
        for begin, end in pairwise(turns):
            if row[begin]:
                opacity = SHADES[row[begin] - 1][1]
                rows.append((sides[begin], sides[end], cells[place], cells[place + 1], opacity))
    boxes = columns(**dict(zip(("x", "x2", "y", "y2", "opacity"), zip(*rows, strict=True), strict=True)))
    median = columns(x=at, y=[float(np.median(each)) for each in values])
    layers: list[Any] = [
        alt.Chart(data(boxes))
        .mark_rect(color=BLUE)
        .encode(x=x, x2="x2:Q", y=y, y2="y2:Q", fillOpacity=alt.FillOpacity("opacity:Q", scale=None)),
        alt.Chart(data(median)).mark_line(color=TEXT, strokeWidth=1).encode(x=x, y=y),
    ]
    if marks:
        rule = alt.Chart(data(columns(x=sorted(set(marks))))).mark_rule(color=TEXT, strokeDash=[1.2, 1.8])
        layers.append(rule.encode(x=x))
    return themed(fitted(alt.layer(*layers)), title, caption)


def _cell_ends(low: float, high: float, *, is_whole: bool) -> Floats:
    """Return the ends of the cells of a round."""
    if is_whole and high - low < BINS:
        return np.arange(low - 0.5, high + 1.0)
    return np.linspace(low, high, BINS + 1) if high > low else np.array([low - 0.5, low + 0.5])

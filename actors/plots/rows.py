"""A chart of rows: in each a bar, or a number with its interval, below its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import altair as alt

from actors.plots.theme import LINE, TEXT, axis, data, fitted, key, themed, wrapped
from prism.palette import BLUE, ORANGE

ROWS_MAX: Final = 24  # the most rows of a chart; of more, the first ones are drawn and the table has the others
ROW, WORDS_LINE, EDGE = 36, 12, 46
"""The height of a row with its words above it, of each further line of words, and of all around, in pixels."""
BELOW, BAR = 12, 11  # the room between a row's mark and the next row, and the height of a bar


class Row(NamedTuple):
    """A row of the chart."""

    words: str  # the text above the row
    mean: float | None = None  # the number that is drawn as a dot; None if there is no dot
    low: float | None = None  # low, high: the ends of its interval; None if it has no interval
    high: float | None = None
    color: str = BLUE
    is_filled: bool = True  # whether the dot is filled; an open one stands out from the others
    bar: float | None = None  # another number, drawn as a bar from 0; None if there is no bar


def rows(
    given: Sequence[Row],
    unit: str,
    title: str,
    caption: str,
    *,
    margin: float | None = None,
    has_zero: bool = True,
    seeds: Sequence[Sequence[float | None]] = (),
    names: Sequence[tuple[str, str, str]] = (),
) -> Any:
    """Return a chart of the first rows.

    Args:
        unit: the words of the axis; `has_zero`: whether it has a line at 0.
        margin: a range on both sides of 0 that is shaded.
        seeds: a line for each seed: its value in each row, or None.
        names: the legend: `(name, colour, shape)` of each entry.
    """
    kept = given[:ROWS_MAX]
    texts = [wrapped(row.words) for row in kept]
    heights = [ROW + WORDS_LINE * text.count("\n") for text in texts]
    room, ends = sum(heights, 0 if heights else ROW), [sum(heights[: place + 1]) for place in range(len(texts))]
    ys = [end - BELOW for end in ends]
    has_bar = any(row.bar is not None for row in kept)
    scale = alt.Scale(zero=has_zero and has_bar, nice=False, padding=12)
    x = alt.X("x:Q", axis=axis(unit, grid=True), scale=scale)
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, room], reverse=True, nice=False, zero=False))
    color = alt.Color("color:N", scale=None)

    def layer(found: Sequence[dict[str, Any]]) -> alt.Chart:
        return alt.Chart(data(found))

    layers: list[Any] = []
    if margin is not None:
        layers.append(
            layer([{"x": -margin, "to": margin}]).mark_rect(color=ORANGE, opacity=0.18).encode(x=x, x2="to:Q")
        )
    if has_zero:  # in each row below its words, which a line through all rows would cross
        zeros = [{"x": 0, "y": at - BAR / 2 - 3, "to": at + BELOW} for at in ys]
        layers.append(layer(zeros).mark_rule(color=LINE).encode(x=x, y=y, y2="to:Q"))
    placed = list(zip(ys, kept, strict=True))
    if has_bar:
        bars = [{"x": 0, "to": row.bar, "y": at, "of": row.words} for at, row in placed if row.bar is not None]
        layers.append(layer(bars).mark_rule(color=BLUE, strokeWidth=BAR).encode(x=x, x2="to:Q", y=y, detail="of:N"))
    through = [
        {"x": each, "y": at, "of": place}
        for place, seed in enumerate(seeds)
        for at, each in zip(ys, seed, strict=False)
        if each is not None
    ]
    if through:
        thin = layer(through).encode(x=x, y=y, order="y:Q", detail="of:N")
        layers.append(thin.mark_line(color=LINE, strokeWidth=1, point=alt.OverlayMarkDef(size=10, color=LINE)))
    spans = [
        {"x": row.low, "to": row.high, "y": at, "color": row.color, "of": row.words}
        for at, row in placed
        if row.low is not None and row.high is not None
    ]
    if spans:
        layers.append(layer(spans).mark_rule(strokeWidth=2.2).encode(x=x, x2="to:Q", y=y, color=color, detail="of:N"))
    for is_filled in (True, False):
        dots = [
            {"x": row.mean, "y": at, "color": row.color, "of": row.words}
            for at, row in placed
            if row.mean is not None and row.is_filled is is_filled
        ]
        if dots:
            drawn = layer(dots).mark_point(size=36, filled=is_filled, opacity=1)
            layers.append(drawn.encode(x=x, y=y, color=color, detail="of:N"))
    words = [{"y": end - height + 3, "words": text} for end, height, text in zip(ends, heights, texts, strict=True)]
    text: Any = {"align": "left", "baseline": "top", "lineBreak": "\n", "fontSize": 10, "lineHeight": WORDS_LINE}
    layers.append(layer(words).mark_text(color=TEXT, **text).encode(x=alt.value(0), y=y, text="words:N"))
    if names:
        layers.append(key(names))
    height = EDGE + WORDS_LINE * wrapped(unit).count("\n") + room + 18 * len(names)
    whole = alt.layer(*layers).resolve_scale(color="independent", shape="independent")
    more = f" The first {ROWS_MAX} of {len(given):,} are drawn." if len(given) > ROWS_MAX else ""
    return themed(fitted(whole, height), title, f"{caption}{more}")

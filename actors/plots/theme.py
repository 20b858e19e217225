"""The looks of charts: one theme in the colours of `prism.palette`, and texts that fit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any, Final, TypeVar

import altair as alt
import numpy as np

from prism.columns import Floats
from prism.palette import BLUE, BROWN, GREEN, GREY, INDIGO, LIGHT, ORANGE, PLUM, PURPLE, SKY, VERMILION
from prism.quoting import visible

WIDTH, HEIGHT = 344, 224  # the usual size of a chart in pixels: it fits a phone of 390 pixels with its margins
WORDS: Final = 50  # the letters of a line that is as wide as a chart
SERIES_COLORS: Final = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY, BROWN, INDIGO, PLUM)
SERIES_DASHES: Final = ([1, 0], [5, 2], [1.5, 1.5], [6, 2, 1.5, 2], [3, 1], [8, 2], [2, 3])
"""The lines of series: dashes tell them apart where colours do not."""
TEXT, QUIET, LINE, GROUND = LIGHT["text"], LIGHT["quiet"], LIGHT["line"], LIGHT["ground"]
NUMBER: Final = "abs(datum.value) >= 1e4 ? format(datum.value, '.4~s') : format(datum.value, ',.4~r')"
"""Writes the number at a tick: `1,200`, `0.05`; from 10,000 on in thousands or millions, as `25k`, `3M`."""
WHOLE: Final[Mapping[str, Any]] = {
    "tickMinStep": 1,  # Vega has halves also with it, on a short axis
    "labelExpr": f"datum.value % 1 ? '' : {NUMBER}",
    "gridOpacity": {"condition": {"test": "datum.value % 1 == 0", "value": 0.28}, "value": 0},
}
"""The axis of counts: it has whole numbers alone."""
LINES: Final = "split(datum.label, '\\n')"
_FONT: Final = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif"
_PAD: Final = 4

_CONFIG: Final[Mapping[str, Any]] = {
    "background": GROUND,
    "font": _FONT,
    "padding": _PAD,
    "view": {"stroke": None},
    "axis": {
        "domainColor": LINE,
        "gridColor": LINE,
        "gridOpacity": 0.28,
        "gridWidth": 0.6,
        "labelColor": QUIET,
        "labelFontSize": 10,
        "labelOverlap": "greedy",
        "labelSeparation": 4,
        "tickCount": 5,
        "ticks": False,
        "labelPadding": 4,
        "titleColor": QUIET,
        "titleFontSize": 10,
        "titleFontWeight": "normal",
    },
    "axisX": {"grid": False, "labelFlush": True, "titleAnchor": "end", "titlePadding": 4},
    "axisY": {"domain": False, "titleAlign": "left", "titleAnchor": "end", "titleAngle": 0, "titleX": 0, "titleY": -7},
    "header": {"labelAnchor": "start", "labelColor": TEXT, "labelFontSize": 10, "labelPadding": 3, "title": None},
    "legend": {
        "columns": 1,
        "labelColor": TEXT,
        "labelFontSize": 11,
        "labelLimit": 0,
        "orient": "top",
        "offset": 6,
        "rowPadding": 2,
        "symbolOpacity": 1,
        "symbolSize": 90,
        "title": None,
    },
    "range": {"category": SERIES_COLORS},
    "title": {"anchor": "start", "color": TEXT, "fontSize": 13, "fontWeight": 600, "subtitleColor": QUIET},
}
T = TypeVar("T", bound=Any)


def themed(chart: T, title: str, caption: str, clock: tuple[float, float] | None = None) -> T:
    """Return a chart with its title, its caption, which is its description for screen readers, and the theme.

    `clock`: of a chart over the time of a run, the place of its start, and how far a tick is from the next.
    """
    named: T = chart.properties(title=wrapped(title, 42).split("\n"), description=visible(caption)).configure(**_CONFIG)
    if clock is not None:
        named = named.properties(usermeta={"clock": clock})
    return named


def fitted(chart: T, height: float = HEIGHT) -> T:
    """Return a chart of one panel, as large as this with its axes."""
    size = alt.AutoSizeParams(type="fit", contains="padding")
    sized: T = chart.properties(width=WIDTH, height=height, autosize=size)
    return sized


def wrapped(text: str, letters: int = WORDS) -> str:
    """Return a text on as many lines as it needs, each with at most so many letters, so that no label is cut."""
    return "\n".join(wrap(visible(" ".join(text.split())), letters)) or " "


def axis(text: str = "", **more: Any) -> alt.Axis:
    """Return an axis with its title, on as many lines as it needs, and plain numbers."""
    return alt.Axis(**{"title": wrapped(text).split("\n") if text else None, "labelExpr": NUMBER, **more})


def above(text: str, **more: Any) -> alt.Axis:
    """Return a vertical axis whose title stands above it, horizontally, so that it is easy to read."""
    return axis(text, grid=True, titleY=-7 - 12 * wrapped(text).count("\n"), **more)


def key_of(**more: Any) -> alt.Legend:
    return alt.Legend(labelExpr=LINES, **more)


def color_of(place: int) -> str:
    return SERIES_COLORS[place % len(SERIES_COLORS)]


def series_scales(names: Sequence[str], colors: Sequence[str] = ()) -> tuple[alt.Scale, alt.Scale]:
    """Return the scales of the colours and of the dashes of series; without colours, they are those of the theme."""
    shades: dict[str, Any] = {"range": list(colors)} if colors else {}
    dashes = [SERIES_DASHES[place % len(SERIES_DASHES)] for place in range(len(names))]
    return alt.Scale(domain=list(names), **shades), alt.Scale(domain=list(names), range=dashes)


def key(entries: Sequence[tuple[str, str, str]]) -> Any:
    """Return a layer that is not seen but for its legend: `(name, colour, shape)` of each entry."""
    names = [wrapped(name) for name, _, _ in entries]
    colors, shapes = (alt.Scale(domain=names, range=[each[place] for each in entries]) for place in (1, 2))
    nowhere = alt.Chart(data([{"key": name} for name in names])).mark_point(opacity=0, filled=True)
    color = alt.Color("key:N", scale=colors, legend=key_of())
    return nowhere.encode(
        x=alt.value(0), y=alt.value(0), color=color, shape=alt.Shape("key:N", scale=shapes, legend=key_of())
    )


def log_axis(low: float, high: float, title: str, *, is_whole: bool, most: float) -> dict[str, Any]:
    """Return scale and axis of a logarithmic channel. `most`: the largest number that there can be."""
    low, high = (low, high) if high > low else (low / 2, min(high * 2, most))
    steps = (1.0, 2.0, 5.0) if high / low < 100 else (1.0,)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{step}e{power}") for power in powers for step in steps if power >= 0 or not is_whole]
    marked = axis(title, grid=True, values=[tick for tick in ticks if low * 0.999 <= tick <= high * 1.001])
    return {"scale": alt.Scale(type="log", domain=[low, high], nice=False), "axis": marked}


def data(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return the rows of a chart as one text of JSON: Altair looks at each value of a list, which takes longer.

    A number that is not finite is null, and others have six digits: a chart has no more.
    """
    kept = [{name: _plain(value) for name, value in row.items()} for row in rows]
    return alt.InlineData(values=json.dumps(kept), format={"type": "json"})


def columns(**named: Any) -> list[dict[str, Any]]:
    return [dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)]


def _plain(value: Any) -> Any:
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def floats(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)

"""Charts over time: lines of one run or of several, in panels, with ranges, seeds and interventions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import altair as alt
import numpy as np

from actors.plots.theme import (
    LINE,
    LINES,
    TEXT,
    WHOLE,
    WIDTH,
    above,
    axis,
    columns,
    data,
    fitted,
    floats,
    key_of,
    log_axis,
    series_scales,
    themed,
    wrapped,
)
from prism.answers import named
from prism.columns import Floats

SEEDS_DRAWN: Final = 20  # the most runs of a group that have a line of their own: more would be a band again
MARKS_MAX: Final = 40  # the most interventions that are marked: more lines would hide the others
AXIS: Final = 34  # the room for the numbers of a panel, in pixels


class Course(NamedTuple):
    """Values over time: of one run, or the middle and the range of several. All columns are of shape (places,)."""

    x: Floats
    middle: Floats
    low: Floats
    high: Floats
    each: Floats  # the values of each run, of shape (runs, places)


class Panel(NamedTuple):
    """A panel of a chart over time."""

    courses: Mapping[str, Course]  # `{series: its course}`
    color: str = ""  # of a panel that has one series: the colour of its filled area
    dots: tuple[Sequence[float], Sequence[float]] = ((), ())  # other values, as dots: places and values
    least: float | None = None  # a value that the axis reaches down to
    target: float | None = None  # a level that is aimed at, as a dashed line


def course(x: Sequence[float], values: Sequence[Sequence[float]]) -> Course:
    """Return the course of runs, each with a value at each of these places: their median, and their range."""
    table, places = floats(values).reshape(len(values), len(x)), floats(x)
    if not len(places):
        return Course(places, places, places, places, table)
    return Course(places, np.median(table, axis=0), table.min(axis=0), table.max(axis=0), table)


def over_rounds(
    tables: Mapping[str, Any], names: Sequence[str], title: str = "", caption: str = "Columns of rounds.csv, by round."
) -> Any:
    """Return columns of the rounds of runs, a panel for each: `over_rounds({"mine": result.rounds}, ["likes"])`."""
    first = next(iter(tables.values()))
    panels = {
        str(named(name, [*getattr(first, "columns", first)])): Panel(
            {run: course(list(table["round"]), [list(table[name])]) for run, table in tables.items()}
        )
        for name in names
    }
    return over_time(panels, title or " and ".join(names), caption, x="round")


def over_time(
    panels: Mapping[str, Panel],
    title: str,
    caption: str,
    *,
    x: str,
    marks: Sequence[tuple[float, str]] = (),
    height: float = 34,
    legend: bool | None = None,
    clock: tuple[float, float] | None = None,
) -> Any:
    """Return panels with a common axis of time, one below the other; a single panel is a chart of the usual size.

    Args:
        panels: `{words above it: panel}`.
        x: the name of the axis of time; the numbers of years have no separator.
        marks: places in time with a colour, such as those of interventions, as dotted lines.
        height: of a panel of several, in pixels.
        legend: whether series are named; by default if there are several.
        clock: of a single run, the place of its start, and how far a tick is from the next.
    """
    words = {name: wrapped(name) for name in panels}
    every = [each for panel in panels.values() for each in panel.courses.values() if len(each.x)]
    low, high = min(float(each.x[0]) for each in every), max(float(each.x[-1]) for each in every)
    at = sorted({(min(max(place, low), high), color) for place, color in marks})[:MARKS_MAX]
    numbers: Any = {**WHOLE} if low <= np.floor(high) else {}  # of less than a round it has no whole number
    if x == "year":
        numbers["labelExpr"] = "datum.value % 1 ? '' : format(datum.value, 'd')"
    time = alt.X("x:Q", axis=axis(x, **numbers), scale=alt.Scale(domain=[low, high], nice=False, zero=False))
    is_one, room = len(panels) == 1, dict[str, Any](minExtent=AXIS, maxExtent=AXIS)
    drawn_values = [each for one in every for each in (one.middle, one.each)]
    drawn_values += [floats(panel.dots[1]) for panel in panels.values()]
    counted: Any = WHOLE if all((values % 1 == 0).all() for values in drawn_values) else {}
    upright = above(next(iter(panels)), **counted) if is_one else axis(grid=True, tickCount=2, **room, **counted)
    layers = _layers(panels, words, time, alt.Y("y:Q", axis=upright, scale=alt.Scale(zero=False)), legend=legend)
    if at:
        rule = alt.Chart(data([{"x": place, "color": color} for place, color in at]))
        rule = rule.mark_rule(strokeDash=[1.2, 1.8], strokeWidth=1)
        layers.append(rule.encode(x=time, color=alt.Color("color:N", scale=None)))
    drawn = alt.layer(*layers, data=data(_rows(panels, words))).resolve_scale(color="independent")
    if is_one:
        return themed(fitted(drawn), title, caption, clock)
    split = alt.Facet("panel:N", sort=[*words.values()], header=alt.Header(labelExpr=LINES, title=None))
    faceted = drawn.properties(width=WIDTH - AXIS - 16, height=height).facet(split, columns=1, spacing=5)
    return themed(faceted.resolve_scale(y="independent"), title, caption, clock)


def curves(
    courses: Mapping[str, Course],
    title: str,
    caption: str,
    *,
    x: str,
    y: str,
    log: str = "",
    step: bool = False,
    colors: Sequence[str] = (),
) -> Any:
    """Return curves of series in one panel, with logarithmic axes where `log` names them: `x`, `y` or `xy`."""
    rows = _rows({"": Panel(courses)}, {"": ""})
    numbers = {
        "x": [row["x"] for row in rows if row["x"] is not None],
        "y": [value for row in rows for value in (row["y"], row.get("high")) if value is not None],
    }
    channel: dict[str, Any] = {}
    for name, words in (("x", x), ("y", y)):
        is_whole = all(float(each).is_integer() for each in numbers[name])
        if name in log:
            ends = min(numbers[name], default=1.0), max(numbers[name], default=1.0)
            most = 100.0 if words.startswith("%") else math.inf
            channel[name] = log_axis(*ends, words, is_whole=is_whole and name == "x", most=most)
        elif name == "y":
            channel[name] = {"scale": alt.Scale(zero=True), "axis": above(words)}
        else:
            whole: Any = WHOLE if is_whole else {}
            channel[name] = {"scale": alt.Scale(zero=False), "axis": axis(words, grid=True, **whole)}
    places, values = alt.X("x:Q", **channel["x"]), alt.Y("y:Q", **channel["y"])
    layers = _layers({"": Panel(courses)}, {"": ""}, places, values, step=step, colors=colors)
    drawn = alt.layer(*layers, data=data(rows)).resolve_scale(color="independent")
    return themed(fitted(drawn), title, caption)


def _layers(
    panels: Mapping[str, Panel],
    words: Mapping[str, str],
    x: alt.X,
    y: alt.Y,
    *,
    legend: bool | None = None,
    step: bool = False,
    colors: Sequence[str] = (),
) -> list[alt.Chart]:
    """Return the layers of panels: ranges, areas, seeds, lines and dots, as far as there are any."""
    each, kinds = list(panels.values()), alt.datum.kind
    courses = [one for panel in each for one in panel.courses.values()]
    names = list(dict.fromkeys(wrapped(series) for panel in panels.values() for series in panel.courses))
    shades, dashes = series_scales(names, colors)
    color = alt.Color("series:N", scale=shades, legend=None)
    filled = all(panel.color for panel in each)
    if filled:
        own = alt.Scale(domain=list(words.values()), range=[panel.color for panel in each])
        color = alt.Color("panel:N", scale=own, legend=None)

    def layer(kind: str) -> alt.Chart:
        return alt.Chart().transform_filter(kinds == kind)

    layers: list[alt.Chart] = []
    if any(panel.least is not None for panel in each):
        layers.append(layer("least").mark_point(opacity=0).encode(y=y))
    if any(panel.target is not None for panel in each):
        layers.append(layer("target").mark_rule(color=LINE, strokeDash=[4, 3]).encode(y=y))
    if filled or any((one.high > one.low).any() for one in courses):
        spread = layer("range").mark_area(opacity=0.85 if filled else 0.12)
        layers.append(spread.encode(x=x, y=y, y2="high:Q", color=color))
    if any(len(one.each) > 1 for one in courses):
        seeds = layer("seed").mark_line(strokeWidth=0.7, opacity=0.45)
        layers.append(seeds.encode(x=x, y=y, color=color, detail="of:N"))
    if filled:
        layers.append(layer("line").mark_line(strokeWidth=0.8, color=TEXT).encode(x=x, y=y))
    else:
        named = len(names) > 1 if legend is None else legend
        shown: Any = (
            key_of(symbolType="stroke", symbolStrokeWidth=2, symbolSize=200, offset=6 if len(panels) > 1 else 24)
            if named
            else None
        )
        stroke = alt.Stroke("series:N", scale=shades, legend=shown)
        dash = alt.StrokeDash("series:N", scale=dashes, legend=shown)
        line: Any = {"interpolate": "step-after"} if step else {}
        layers.append(layer("line").mark_line(strokeWidth=1.6, **line).encode(x=x, y=y, stroke=stroke, strokeDash=dash))
    if any(len(one.x) == 1 for one in courses):
        layers.append(layer("line").mark_point(filled=True, size=25).encode(x=x, y=y, color=color))
    if any(len(panel.dots[0]) for panel in each):
        layers.append(layer("dot").mark_point(filled=True, size=5, color=TEXT).encode(x=x, y=y))
    return layers


def _rows(panels: Mapping[str, Panel], words: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows of all panels: the kind says which layer draws a row."""
    rows: list[dict[str, Any]] = []
    for name, panel in panels.items():
        one: dict[str, Any] = {"panel": words[name]}
        for series, each in panel.courses.items():
            own = {**one, "series": wrapped(series)}
            rows += [{**own, "kind": "line", **row} for row in columns(x=each.x, y=each.middle)]
            if panel.color:
                rows += [{**own, "kind": "range", "y": 0, **row} for row in columns(x=each.x, high=each.middle)]
            elif (each.high > each.low).any():
                rows += [{**own, "kind": "range", **row} for row in columns(x=each.x, y=each.low, high=each.high)]
            for place, values in enumerate(each.each[:SEEDS_DRAWN] if len(each.each) > 1 else ()):
                of = {**own, "kind": "seed", "of": f"{series} {place}"}
                rows += [{**of, **row} for row in columns(x=each.x, y=values)]
        rows += [{**one, "kind": "dot", **row} for row in columns(x=panel.dots[0], y=panel.dots[1])]
        if panel.target is not None:
            rows.append({**one, "kind": "target", "y": panel.target})
        if panel.least is not None:
            rows.append({**one, "kind": "least", "y": panel.least})
    return rows

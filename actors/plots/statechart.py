"""A statechart as a picture: the innermost states in layers, by the order of the rows, and an arrow between two states.

Rows of outer states, and those whose target the oracle chooses, are listed below the picture.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import altair as alt
import numpy as np

from actors.plots.theme import GROUND, QUIET, TEXT, data, themed
from prism.imports import load_igraph
from prism.palette import state_styles
from prism.statechart.outline import Arrow, Outline

BOX: Final = (172.0, 78.0)
LANE: Final = 46.0  # the width of an arrow that passes a layer, in pixels
GAP: Final = (26.0, 74.0)  # the space between two states, beside and below
MARGIN: Final = 20.0
LINE: Final = 16.0
CHARACTER: Final = 6.0  # the mean width of a character in the labels, in pixels
NOTE_LETTERS: Final = 27
NOTE_LINES: Final = 2  # the most lines of one note; of a longer one the end is cut
LABEL_PARTS: Final = (0.5, 0.4, 0.6, 0.35, 0.65, 0.25, 0.75, 0.2, 0.8)
"""The places along an arrow at which its label may stand."""
WIDEST: Final = 5.0  # the stroke of the arrow that a run has taken most often, in pixels

Point = tuple[float, float]


def statechart(chart: Outline, title: str = "", caption: str = "") -> Any:
    """Return the picture of a statechart: of a run, if the outline has its activity.

    A question mark behind a trigger says that the row is put to the oracle.
    """
    drawn = [arrow for arrow in chart.arrows if arrow.source in chart.states and arrow.target]
    places, routes = _layout(chart, drawn)
    labels = _labels(places, drawn, routes)
    below = list(_below(chart, [arrow for arrow in chart.arrows if arrow not in drawn]))
    # The ends of the picture: all boxes, arrows and labels, and the lines below.
    every = [*places.values(), *(point for route in routes for point in route)]
    bottom = max(y for _, y in every) + BOX[1] / 2 + MARGIN
    wide = max(x + BOX[0] / 2 for x, _ in every)
    right = max([wide, *(x + half for (x, _), half in labels), *(CHARACTER * len(text) for text in below)]) + MARGIN
    left, top = min([0.0, *(x - half for (x, _), half in labels)]) - MARGIN, -BOX[1] / 2 - MARGIN
    low = bottom + LINE * len(below)
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[left, right], nice=False, zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[low, top], nice=False, zero=False))
    plain: Any = {"scale": None, "legend": None}
    color, width = alt.Color("color:N", **plain), alt.StrokeWidth("width:Q", **plain)

    def layer(rows: Sequence[dict[str, Any]]) -> Any:
        return alt.Chart(data(rows))

    def texts(found: Sequence[tuple[float, float, str]], **looks: Any) -> Any:
        rows = [{"x": at, "y": line, "words": words} for at, line, words in found]
        return layer(rows).mark_text(**{"color": TEXT, "lineBreak": "\n", **looks}).encode(x=x, y=y, text="words:N")

    def boxes(rows: Sequence[tuple[float, float, float, float, dict[str, Any]]], **looks: Any) -> Any:
        ends = [{"x": a, "x2": b, "y": c, "y2": d, **more} for a, b, c, d, more in rows]
        return layer(ends).mark_rect(**looks).encode(x=x, x2="x2:Q", y=y, y2="y2:Q")

    most = max([arrow.count or 0 for arrow in drawn], default=0)
    widths = [1.2 if not most else 0.8 + (WIDEST - 0.8) * math.sqrt((each.count or 0) / most) for each in drawn]
    rows, heads = [], []
    for number, (arrow, route, stroke) in enumerate(zip(drawn, routes, widths, strict=True)):
        of = {"arrow": number, "width": stroke, "is_never": arrow.count == 0}
        rows += [{"x": a, "y": b, "order": at, **of} for at, (a, b) in enumerate(route)]
        (before_x, before_y), (end_x, end_y) = route[-2:]
        turned, away = math.atan2(end_x - before_x, before_y - end_y), 3.0  # the tip is at the border of the box
        heads.append({"x": end_x - away * math.sin(turned), "y": end_y + away * math.cos(turned)})
        heads[-1]["angle"] = math.degrees(turned)
    dash = alt.condition("datum.is_never", alt.value([5, 4]), alt.value([1, 0]))
    lines = layer(rows).mark_line(interpolate="catmull-rom", tension=0.5, color=QUIET)
    layers = [
        lines.encode(x=x, y=y, order="order:Q", detail="arrow:N", strokeWidth=width, strokeDash=dash),
        layer(heads)
        .mark_point(shape="triangle", filled=True, size=70, color=QUIET, opacity=1)
        .encode(x=x, y=y, angle=alt.Angle("angle:Q", scale=None)),
    ]
    # The boxes of states: a frame, a strip in the colour of the state, the share of the time, and words.
    styles = state_styles(chart.states)
    frames, strips, bars, marks, names, notes = [], [], [], [], [], []
    for state, (at, line) in places.items():
        begin, end, over, under = at - BOX[0] / 2, at + BOX[0] / 2, line - BOX[1] / 2, line + BOX[1] / 2
        shade = {"color": styles[state].color}
        frames.append((begin, end, over, under, {"width": 2.6 if state == chart.initial else 1.2}))
        strips.append((begin + 3, begin + 10, over + 5, under - 5, shade))
        share = 0.0 if chart.activity is None else min(chart.activity.shares.get(state, 0.0), 1.0)
        bars += [(begin + 14, begin + 14 + (BOX[0] - 20) * share, under - 7, under - 3, shade)] if share else []
        told = [line for note in chart.notes(chart.state(state)) for line in _fitting(note)]
        marks.append((begin + 15, over + 11, styles[state].text))
        names.append((at + 6, line - 6.5 * len(told), state))
        notes += [(at + 6, line + 13 - 6.5 * len(told) + 12.5 * place, note) for place, note in enumerate(told)]
    layers += [
        boxes(frames, cornerRadius=8, fill=GROUND, stroke=TEXT).encode(strokeWidth=width),
        *(boxes(each, opacity=1, cornerRadius=2).encode(color=color) for each in (strips, bars) if each),
        texts(marks, fontSize=11, align="left"),
        texts(names, fontSize=13, fontWeight=600),
        texts(notes, fontSize=11, color=QUIET),
        texts([(at, line, arrow.label) for ((at, line), _), arrow in zip(labels, drawn, strict=True)], fontSize=11.5),
        texts([(left + 4, bottom + LINE * at, text) for at, text in enumerate(below)], fontSize=11.5, align="left"),
    ]
    layers.insert(2, boxes([(a - half, a + half, b - 8, b + 8, {}) for (a, b), half in labels], fill=GROUND))
    named = alt.layer(*layers).resolve_scale(color="independent", strokeWidth="independent")
    return themed(named.properties(width=right - left, height=low - top), title, caption)


def _layout(chart: Outline, arrows: Sequence[Arrow]) -> tuple[dict[str, Point], list[list[Point]]]:
    """Return the middle of each state, and the points of each arrow, with few crossings (Sugiyama et al. 1981)."""
    number, entered = {state: place for place, state in enumerate(chart.states)}, chart.entered
    # The layer of a state: the longest way to it by arrows that follow the order of the file.
    layers = [0] * len(number)
    outer = {path[-1].name: {state.name for state in path} for path in chart.definition.walk()}
    for state, begin in number.items():
        for arrow in chart.arrows:
            if arrow.target and arrow.source in outer[state] and begin < (end := number[entered[arrow.target]]):
                layers[end] = max(layers[end], layers[begin] + 1)
    edges = [(number[arrow.source], number[entered[arrow.target]]) for arrow in arrows]
    igraph: Any = load_igraph()
    graph = igraph.Graph(n=len(number), edges=edges, directed=True)
    found = graph.layout_sugiyama(layers=layers)
    routing = getattr(found, "edge_routing", [[]] * len(edges))  # older versions have none: straight lines
    # What is in each layer, from the left: states, and arrows that pass it, which have the same place as others there.
    middles = [*map(tuple, found)]
    ordered: dict[int, dict[tuple[float, float], bool]] = {}
    for point, is_state in [*((each, True) for each in middles), *((tuple(p), False) for way in routing for p in way)]:
        ordered.setdefault(round(point[1]), {}).setdefault(point, is_state)
    first = middles[number[chart.initial]][0]
    is_flipped = first > sum(at for at, _ in middles) / len(middles)  # the initial state is on the left
    at: dict[tuple[float, float], Point] = {}
    for line, points in ordered.items():
        x = 0.0
        for point, is_state in sorted(points.items(), reverse=is_flipped):
            room = BOX[0] + GAP[0] if is_state else LANE
            at[point] = x + room / 2 - GAP[0] / 2, line * (BOX[1] + GAP[1])
            x += room
    places = {state: at[middles[place]] for state, place in number.items()}
    routes = [
        _route(places[arrow.source], [at[tuple(point)] for point in way], places[entered[arrow.target]])
        for arrow, way in zip(arrows, routing, strict=True)
    ]
    return places, routes


def _route(source: Point, bends: Sequence[Point], target: Point) -> list[Point]:
    """Return the points of an arrow, from the border of one box to that of the other."""
    if source == target:
        x, y = source[0] + BOX[0] / 2, source[1]
        return [(x, y - BOX[1] / 4), (x + 40, y - BOX[1] / 8), (x + 40, y + BOX[1] / 8), (x, y + BOX[1] / 4)]
    shift = 12.0 if source[1] > target[1] else -12.0  # arrows in opposite directions must not overlap
    found = [(x + shift, y) for x, y in (source, *bends, target)]
    return [_border(source, found[0], found[1]), *found[1:-1], _border(target, found[-1], found[-2])]


def _border(middle: Point, inside: Point, outside: Point) -> Point:
    """Return where the line from a point in the box around `middle` to a point outside leaves the box."""
    steps = outside[0] - inside[0], outside[1] - inside[1]
    room = [
        half / 2 + math.copysign(1.0, step) * (m - i)
        for half, step, m, i in zip(BOX, steps, middle, inside, strict=True)
    ]
    scale = min([1.0, *(far / abs(step) for far, step in zip(room, steps, strict=True) if step)])
    return inside[0] + steps[0] * scale, inside[1] + steps[1] * scale


def _labels(
    places: dict[str, Point], arrows: Sequence[Arrow], routes: Sequence[Sequence[Point]]
) -> list[tuple[Point, float]]:
    """Return the middle and half the width of each label: clear of states and other labels, if possible."""
    taken = [(place, BOX[0] / 2, BOX[1] / 2) for place in places.values()]
    siblings, found = Counter[str](), list[tuple[Point, float]]()
    for arrow, route in zip(arrows, routes, strict=True):
        usual = 0.3 + 0.13 * (siblings[arrow.source] % 4)
        siblings[arrow.source] += 1
        half = len(arrow.label) * CHARACTER / 2 + 3
        spots = [_at(route, part) for part in (usual, *LABEL_PARTS)]
        if arrow.source == arrow.target:
            spots = [(route[1][0] + half + 2, (route[1][1] + route[2][1]) / 2)]
        free = (
            (x, y)
            for x, y in spots
            if not any(abs(x - a) < half + wide and abs(y - b) < LINE / 2 + high for (a, b), wide, high in taken)
        )
        found.append((next(free, spots[0]), half))
        taken.append((found[-1][0], half, LINE / 2))
    return found


def _at(points: Sequence[Point], part: float) -> Point:
    """Return the point after this part of the line through the points."""
    xs, ys = np.array(points).T
    lengths = np.append(0.0, np.cumsum(np.hypot(np.diff(xs), np.diff(ys))))
    at = part * lengths[-1]
    return float(np.interp(at, lengths, xs)), float(np.interp(at, lengths, ys))


def _fitting(note: str) -> Iterator[str]:
    """Yield a note of a state in lines that fit into its box: what a run did is two lines."""
    share, mark, stay = note.partition(" of the time, ")
    for text in (f"{share} of the time", stay) if mark else (note,):
        lines = [""]
        for piece in re.split(r"(?<=[ ._])", text):  # a key, such as `statechart.rest_ticks`, is broken between words
            lines += [""] if lines[-1] and len(lines[-1] + piece.rstrip()) > NOTE_LETTERS else []
            lines[-1] += piece
        whole = [line if len(line) <= NOTE_LETTERS + 1 else f"{line[:NOTE_LETTERS]}…" for line in lines]
        yield from whole if len(whole) <= NOTE_LINES else [*whole[: NOTE_LINES - 1], f"{whole[NOTE_LINES - 1][:-1]}…"]


def _below(chart: Outline, listed: Sequence[Arrow]) -> Iterator[str]:
    """Yield the lines below the picture: the outer states, their rows, and a legend."""
    for path in chart.definition.walk():
        state = path[-1]
        if state.states:
            yield f"{state.name}: {', '.join(state.states)}"
            for arrow in listed:
                if arrow.source == state.name:
                    target = arrow.target or "a target of the oracle"
                    yield f"each state of {state.name}: {arrow.label} to {target}"
    for arrow in listed:
        if not arrow.target:
            yield f"{arrow.source}: {arrow.label}: the oracle chooses the target"
    activity = "" if chart.activity is None else "; broken line: never taken; bar: share of the time"
    yield f"?: put to the oracle; bold frame: the initial state{activity}"

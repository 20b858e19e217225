"""A chart as an SVG picture, drawn here: a browser shows it, and no other program is needed.

Innermost states are boxes in layers (Sugiyama's method, by igraph). Rows of an outer state hold in every state inside
it; as arrows they would hide all others, so they are listed below the picture.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from textwrap import wrap
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from prism.drawing.outline import Arrow, Outline
from prism.social.ties.graph_library import load_igraph
from prism.statechart.definition import StateDefinition

BOX = (190.0, 84.0)
"""Width and height of a state, in pixels."""
NOTE_LINES = 2
"""The most lines of one note in a state's box."""
GAP = (30.0, 84.0)
"""The space between two states, beside and below."""
MARGIN = 40.0
LINE = 18.0
"""The height of a line of text."""
CHARACTER = 6.9
"""The mean width of a character in the labels, in pixels."""
LABEL_PARTS = (0.5, 0.4, 0.6, 0.35, 0.65, 0.25, 0.75, 0.2, 0.8)
"""The places along an arrow at which its label may stand."""
WIDEST = 5.0
"""The stroke of the arrow that a run has taken most often, in pixels."""


class _Point(NamedTuple):
    x: float
    y: float


class _Route(NamedTuple):
    arrow: Arrow
    points: list[_Point]


def svg(chart: Outline) -> str:
    picture = _Picture(chart)
    return "\n".join(picture.lines()) + "\n"


class _Picture:
    """One picture."""

    def __init__(self, chart: Outline) -> None:
        self._chart = chart
        self._paths = {path[-1].name: path for path in chart.definition.walk()}
        self._leaves = [path[-1] for path in self._paths.values() if not path[-1].states]
        names = {leaf.name for leaf in self._leaves}
        self._inner = [arrow for arrow in chart.arrows if arrow.source in names and arrow.target]
        self._listed = [arrow for arrow in chart.arrows if arrow.source not in names or not arrow.target]
        self._most = max([arrow.count or 0 for arrow in self._inner], default=0)
        self._styles = chart.styles()
        # The middle of each state, and the points of each arrow between two states.
        number = {leaf.name: place for place, leaf in enumerate(self._leaves)}
        targets = {arrow: self._entered(arrow.target) for arrow in self._inner}
        edges = [(number[arrow.source], number[targets[arrow]]) for arrow in self._inner]
        igraph: Any = load_igraph()
        graph = igraph.Graph(n=len(number), edges=edges, directed=True)
        step = (BOX[0] + GAP[0], BOX[1] + GAP[1])
        layout = graph.layout_sugiyama(layers=self._layers(number))
        routing = getattr(layout, "edge_routing", [[]] * len(edges))  # older versions have none: straight lines
        points = [_Point(x * step[0], y * step[1]) for x, y in layout]
        places = {leaf.name: points[number[leaf.name]] for leaf in self._leaves}
        routes = [
            _Route(arrow, _path(points[source], [_Point(x * step[0], y * step[1]) for x, y in bends], points[target]))
            for arrow, (source, target), bends in zip(self._inner, edges, routing, strict=True)
        ]
        self._places, self._routes = places, routes

    def lines(self) -> Iterator[str]:
        places = [point for route in self._routes for point in route.points] + list(self._places.values())
        left = min(point.x for point in places) - BOX[0] / 2 - MARGIN
        right = max(point.x for point in places) + BOX[0] / 2 + MARGIN + 60
        bottom = max(point.y for point in places) + BOX[1] / 2 + MARGIN
        below = list(self._below())
        loops = [route for route in self._routes if self._is_loop(route.arrow)]
        right = max([right, *(route.points[1].x + len(route.arrow.label) * CHARACTER + MARGIN for route in loops)])
        right = max(right, left + 2 * MARGIN + CHARACTER * max(map(len, below), default=0))
        top, height = -BOX[1] / 2 - MARGIN - LINE, bottom + LINE * (len(below) + 1)
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.0f} {top:.0f} {right - left:.0f} '
            f'{height - top:.0f}" width="{right - left:.0f}" height="{height - top:.0f}" font-family="sans-serif" '
            'style="max-width: 100%; height: auto">'
        )
        yield f"<title>{escape(self._chart.definition.name or 'statechart')}</title>"
        yield f'<rect x="{left:.0f}" y="{top:.0f}" width="100%" height="100%" fill="white"/>'
        yield (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
            'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="#475569"/></marker></defs>'
        )
        for route in self._routes:
            yield self._line(route)
        for leaf in self._leaves:
            yield from self._box(leaf)
        for route, part in zip(self._routes, self._label_parts(), strict=True):
            yield from self._label(route, part)
        for place, text in enumerate(below):
            yield _text(left + MARGIN, bottom + LINE * (place + 0.5), text, 12, text_anchor="start")
        yield "</svg>"

    def _layers(self, number: Mapping[str, int]) -> list[int]:
        """Return the layer of each state: the longest way to it by arrows that follow the order of the file."""
        layers = [0] * len(number)
        sources = {path[-1].name: [state.name for state in path] for path in self._paths.values()}
        for leaf in self._leaves:
            for arrow in self._chart.arrows:
                if arrow.target and arrow.source in sources[leaf.name]:
                    begin, end = number[leaf.name], number[self._entered(arrow.target)]
                    if begin < end:
                        layers[end] = max(layers[end], layers[begin] + 1)
        return layers

    def _entered(self, name: str) -> str:
        return self._paths[name][-1].entered

    def _line(self, route: _Route) -> str:
        width = 1.2
        if self._most:
            width = 0.8 + (WIDEST - 0.8) * math.sqrt((route.arrow.count or 0) / self._most)
        dash = ' stroke-dasharray="5 4"' if route.arrow.count == 0 else ""
        return (
            f'<path d="{_curve(route.points)}" fill="none" stroke="#475569" stroke-width="{width:.1f}"{dash} '
            'marker-end="url(#head)"/>'
        )

    def _is_loop(self, arrow: Arrow) -> bool:
        return self._entered(arrow.target) == arrow.source

    def _label_parts(self) -> list[float]:
        """Return the place of each arrow's label along the arrow: clear of states and other labels, if possible."""
        taken = [(place, BOX[0] / 2, BOX[1] / 2) for place in self._places.values()]
        siblings, parts = Counter[str](), list[float]()
        for route in self._routes:
            usual = 0.3 + 0.13 * (siblings[route.arrow.source] % 4)
            siblings[route.arrow.source] += 1
            half = len(route.arrow.label) * CHARACTER / 2 + 4
            free = (part for part in (usual, *LABEL_PARTS) if not _hits(_at(route.points, part), half, taken))
            parts.append(next(free, usual))
            taken.append((_at(route.points, parts[-1]), half, LINE / 2))
        return parts

    def _label(self, route: _Route, part: float) -> Iterator[str]:
        text = route.arrow.label
        half = len(text) * CHARACTER / 2 + 2
        middle = _at(route.points, part)
        if self._is_loop(route.arrow):
            middle = _Point(max(point.x for point in route.points) + half, self._places[route.arrow.source].y)
        yield (
            f'<rect x="{middle.x - half:.1f}" y="{middle.y - 8:.1f}" width="{2 * half:.1f}" height="15" rx="3" '
            'fill="white" fill-opacity="0.85"/>'
        )
        yield _text(middle.x, middle.y + 4, text, 12, fill="#334155")

    def _box(self, leaf: StateDefinition) -> Iterator[str]:
        place = self._places[leaf.name]
        share = 0.0 if self._chart.activity is None else self._chart.activity.shares.get(leaf.name, 0.0)
        x, y = place.x - BOX[0] / 2, place.y - BOX[1] / 2
        is_first = leaf.name == self._entered(self._chart.definition.initial)
        yield f"<g><title>{escape(leaf.description or leaf.name)}</title>"
        style = self._styles[leaf.name]
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{BOX[0]:g}" height="{BOX[1]:g}" rx="9" fill="#f8fafc" '
            f'stroke="#334155" stroke-width="{2.6 if is_first else 1.2}"/>'
        )
        yield (
            f'<path d="M{x + 9:.1f} {y:.1f}h-1a8 8 0 0 0 -8 8v{BOX[1] - 16:g}a8 8 0 0 0 8 8h1z" fill="{style.color}" '
            'stroke="#334155" stroke-width="0.8"/>'
        )
        if share:
            width = (BOX[0] - 11) * min(max(share, 0.0), 1.0)
            yield (
                f'<rect x="{x + 10:.1f}" y="{y + BOX[1] - 6:.1f}" width="{width:.1f}" height="5" fill="{style.color}"/>'
            )
        yield _text(x + 20, y + 17, style.text, 11, fill="#334155")
        notes = [line for part in self._chart.notes(leaf) for note in _lines(part) for line in _fitting(note)]
        yield _text(place.x + 4, place.y + 5 - 7 * len(notes), leaf.name, 13.5, font_weight="600")
        for line, note in enumerate(notes):
            yield _text(place.x + 4, place.y + 19 - 7 * len(notes) + 13.5 * line, note, 11.5, fill="#475569")
        yield "</g>"

    def _below(self) -> Iterator[str]:
        """Yield the lines below the picture: the outer states, their rows, and a legend."""
        for path in self._paths.values():
            state = path[-1]
            if state.states:
                yield f"{state.name}: {', '.join(inner.name for inner in state.states)}"
                for arrow in self._listed:
                    if arrow.source == state.name:
                        yield f"    from each of them: {arrow.label} to {arrow.target or 'a target of the oracle'}"
        for arrow in self._listed:
            if not arrow.target:
                yield f"{arrow.source}: {arrow.label}: the oracle chooses the target"
        yield "?: put to the oracle; bold frame: the initial state" + (
            "" if self._chart.activity is None else "; broken line: never taken; bar: share of the time"
        )


def _path(source: _Point, bends: Sequence[_Point], target: _Point) -> list[_Point]:
    """Return the points of an arrow, from the border of one box to that of the other."""
    if source == target:
        x = source.x + BOX[0] / 2
        return [_Point(x, source.y - BOX[1] / 4), _Point(x + 46, source.y), _Point(x, source.y + BOX[1] / 4)]
    shift = 12.0 if source.y > target.y else -12.0  # arrows in opposite directions must not overlap
    found = [_Point(point.x + shift, point.y) for point in (source, *bends, target)]
    return [_border(source, found[0], found[1]), *found[1:-1], _border(target, found[-1], found[-2])]


def _border(middle: _Point, inside: _Point, outside: _Point) -> _Point:
    """Return where the line from a point in the box around `middle` to a point outside leaves the box."""
    dx, dy = outside.x - inside.x, outside.y - inside.y
    right, left = middle.x + BOX[0] / 2 - inside.x, middle.x - BOX[0] / 2 - inside.x
    bottom, top = middle.y + BOX[1] / 2 - inside.y, middle.y - BOX[1] / 2 - inside.y
    across = (right if dx > 0 else left) / dx if dx else math.inf
    down = (bottom if dy > 0 else top) / dy if dy else math.inf
    scale = min(across, down, 1.0)
    return _Point(inside.x + dx * scale, inside.y + dy * scale)


def _curve(points: Sequence[_Point]) -> str:
    """Return a smooth SVG path through the points (Catmull & Rom 1974)."""
    whole = [points[0], *points, points[-1]]
    parts = [f"M{points[0].x:.1f} {points[0].y:.1f}"]
    for place in range(1, len(whole) - 2):
        before, begin, end, after = whole[place - 1 : place + 3]
        first = _Point(begin.x + (end.x - before.x) / 6, begin.y + (end.y - before.y) / 6)
        second = _Point(end.x - (after.x - begin.x) / 6, end.y - (after.y - begin.y) / 6)
        parts.append(f"C{first.x:.1f} {first.y:.1f} {second.x:.1f} {second.y:.1f} {end.x:.1f} {end.y:.1f}")
    return "".join(parts)


def _hits(middle: _Point, half: float, taken: Sequence[tuple[_Point, float, float]]) -> bool:
    """Return whether a label around `middle`, so wide to each side, covers something that is there already."""
    return any(
        abs(middle.x - place.x) < half + wide and abs(middle.y - place.y) < LINE / 2 + high
        for place, wide, high in taken
    )


def _at(points: Sequence[_Point], part: float) -> _Point:
    """Return the point after this part of the line through the points."""
    lengths = [math.dist(begin, end) for begin, end in pairwise(points)]
    left = sum(lengths) * part
    for (begin, end), length in zip(pairwise(points), lengths, strict=True):
        if left <= length and length:
            return _Point(begin.x + (end.x - begin.x) * left / length, begin.y + (end.y - begin.y) * left / length)
        left -= length
    return points[-1]


def _lines(note: str) -> list[str]:
    """Return a note as lines: what a run did in a state, its share of the time and the length of a stay, as two."""
    share, mark, stay = note.partition(" of the time, ")
    return [f"{share} of the time", stay] if mark else [note]


def _fitting(text: str) -> list[str]:
    """Return a text as lines that fit into a box; a long text is cut after two lines.

    A key, such as `statechart.rest_ticks`, is broken between its words.
    """
    letters, filled = int((BOX[0] - 16) / 5.7), [""]
    for piece in re.split(r"(?<=[ ._])", text):
        if filled[-1] and len(filled[-1] + piece.rstrip()) > letters:
            filled.append("")
        filled[-1] += piece
    lines = [line for each in filled for line in wrap(each, letters)]
    return lines if len(lines) <= NOTE_LINES else [*lines[: NOTE_LINES - 1], f"{lines[NOTE_LINES - 1][:-1]}…"]


def _text(x: float, y: float, text: str, size: float = 11, **attributes: str) -> str:
    """Return a line of text; attributes are SVG's, with _ for -."""
    given = {"text_anchor": "middle", "fill": "#0f172a", **attributes}
    shown = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in given.items())
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{shown} xml:space="preserve">{escape(text)}</text>'

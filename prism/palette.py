"""The colours of states, sources and pages: the same on a terminal, in a report, in Grafana and in a diagram.

The twelve hues can be told apart with each of the three kinds of colour blindness, on a dark and on a light ground; a
mark beside the colour makes a picture in grey readable. Source: Okabe and Ito, "Color universal design" (2008), with a
grey in place of black, and four hues that a search found farthest from these eight and from both grounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

GREY, ORANGE, SKY, GREEN = "#646B73", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
INDIGO, BROWN, MINT, PLUM = "#3000D8", "#783018", "#30F078", "#6000A8"

HUES = (GREY, BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW, INDIGO, MINT, BROWN, PLUM)
MARK_SHAPES: Mapping[str, str] = {
    "circle": "M6 1a5 5 0 1 0 .01 0Z",
    "square": "M1.5 1.5h9v9h-9Z",
    "triangle": "M6 .8 11.4 11H.6Z",
    "diamond": "M6 .3 11.7 6 6 11.7.3 6Z",
    "cross": "M3 1 6 4l3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3-3-3Z",
    "plus": "M4.5.8h3v3.7h3.7v3H7.5v3.7h-3V7.5H.8v-3h3.7Z",
    "star": "M6 .3 7.7 4.3l4.1.3-3.2 2.8 1 4.1L6 9.3 2.4 11.5l1-4.1L.2 4.6l4.1-.3Z",
    "ring": "M6 .8a5.2 5.2 0 1 0 .01 0Zm0 2.7a2.5 2.5 0 1 1-.01 0Z",
    "open_square": "M1 1h10v10H1Zm2.6 2.6v4.8h4.8V3.6Z",
    "open_triangle": "M6 .5 11.7 11.3H.3ZM6 5 3.9 9h4.2Z",
    "open_diamond": "M6 0 12 6 6 12 0 6Zm0 3.7L3.7 6 6 8.3 8.3 6Z",
    "bar": "M.5 3.8h11v4.4H.5Z",
}
"""`{mark: its outline as an SVG path, in a square of 12 by 12}`."""
MARKS = tuple(MARK_SHAPES)
"""The marks of states. Each picture draws them in its own way: as a shape, or as the character of `MARK_TEXTS`."""
MARK_TEXTS = ("●", "■", "▲", "◆", "✕", "✚", "★", "○", "□", "△", "◇", "▬")

LIGHT: Mapping[str, str] = {
    "ground": "#ffffff",
    "panel": "#f6f7f9",
    "text": "#1b1f24",
    "quiet": "#57606a",
    "line": "#868e96",
    "link": "#0550ae",
}
DARK: Mapping[str, str] = {
    "ground": "#14171a",
    "panel": "#1c2025",
    "text": "#e6e9ec",
    "quiet": "#a3abb3",
    "line": "#7d8790",
    "link": "#79b8ff",
}
"""`{role: colour}` of pages and charts in the two themes."""

PEOPLE: Mapping[str, str] = {
    "composing": GREEN,
    "engaging_like": YELLOW,
    "engaging_reply": PURPLE,
    "engaging_reshare": VERMILION,
    "evaluating": SKY,
    "idle": GREY,
    "resting": ORANGE,
    "scrolling": BLUE,
}
NATIONS: Mapping[str, str] = {
    "accepted": SKY,
    "applied": BLUE,
    "observing": GREY,
    "proposed": YELLOW,
    "rejected": VERMILION,
}
SOURCES: Mapping[str, str] = {"fallback": ORANGE, "llm": BLUE, "oracle": SKY, "rule": GREY, "timeout": VERMILION}


class Style(NamedTuple):
    """The looks of a state: a colour as `#RRGGBB`, one of `MARKS`, and its character."""

    color: str
    mark: str
    text: str


def state_styles(states: Sequence[str]) -> dict[str, Style]:
    """Return `{state: its looks}` of a chart's states, in the order given; up to 144 states look different.

    The looks follow from the names alone, so that every picture of a chart has the same. States of a shipped chart keep
    their looks in any chart. The others get what is free, in the order of their names, new hues first.
    """
    shipped = max((PEOPLE, NATIONS), key=lambda each: len(each.keys() & set(states)))
    marks = {state: place for place, state in enumerate(sorted(shipped))}
    styles = {state: _style(shipped[state], marks[state]) for state in states if state in shipped}
    free = _free(set(styles.values()))
    styles |= {state: next(free) for state in sorted(set(states) - styles.keys())}
    return {state: styles[state] for state in states}


def _free(taken: set[Style]) -> Iterator[Style]:
    hues = sorted(range(len(HUES)), key=lambda place: any(style.color == HUES[place] for style in taken))
    looks = [_style(HUES[hue], (hue + turn) % len(MARKS)) for turn in range(len(MARKS)) for hue in hues]
    while True:
        yield from (style for style in looks if style not in taken)


def _style(color: str, mark: int) -> Style:
    return Style(color, MARKS[mark], MARK_TEXTS[mark])

"""The colours of states, sources and pages: the same on a terminal, in a report, in Grafana and in a diagram.

The eight hues can be told apart by people with each of the three kinds of colour blindness, on a dark and on a light
ground. Neighbours in a stack, which is in the order of the names, differ most. A state has a mark beside its colour, so
that a picture in grey can be read too. Source: Okabe and Ito, "Color universal design" (2008), with a grey in place of
black. `tests/deploy/test_palette.py` measures it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

GREY, ORANGE, SKY, GREEN = "#646B73", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"

HUES = (GREY, BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW)
MARKS = ("circle", "square", "triangle", "diamond", "cross", "plus", "star", "ring")
"""The marks of states. Each is drawn by whoever draws: as a shape, or as the character of `MARK_TEXTS`."""
MARK_TEXTS = ("●", "■", "▲", "◆", "✕", "✚", "★", "○")

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
SOURCES: Mapping[str, str] = {
    "fallback": ORANGE,
    "llm": BLUE,
    "oracle": SKY,
    "rule": GREY,
    "timeout": VERMILION,
}


class Style(NamedTuple):
    """The looks of a state.

    Args:
        color: as `#RRGGBB`.
        mark: one of `MARKS`; `text`: its character.
    """

    color: str
    mark: str
    text: str


def state_styles(states: Sequence[str]) -> dict[str, Style]:
    """Return `{state: its looks}` of a chart's states, in the order given.

    The states of the shipped charts have fixed colours. Those of other charts get the hues in their order, the first
    one grey; with more than eight, hues come again with other marks, and up to 64 states look different.
    """
    fixed = next((known for known in (PEOPLE, NATIONS) if known.keys() >= set(states)), None)
    styles = {}
    for index, state in enumerate(states):
        number = sorted(fixed).index(state) if fixed else index
        mark = (number + number // len(HUES)) % len(MARKS)
        color = fixed[state] if fixed else HUES[number % len(HUES)]
        styles[state] = Style(color, MARKS[mark], MARK_TEXTS[mark])
    return styles

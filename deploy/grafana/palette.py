"""The colours of the dashboards: each state, source and phase has one, the same on every panel.

The eight hues can be told apart by people with each of the three kinds of colour blindness, and on Grafana's dark and
light ground. Neighbours in a stack, which is in the order of the names, differ most. Source: Okabe and Ito, "Color
universal design" (2008), with a grey in place of black. `tests/deploy/test_palette.py` measures it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from actors.core.phase import Phase

GREY, ORANGE, SKY, GREEN = "#646B73", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"

GOOD, WARNING, BAD, PLAIN = GREEN, ORANGE, VERMILION, SKY
"""The colours of a number: as it should be, to be looked at, wrong, and neither good nor bad."""

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


class Named(NamedTuple):
    """The name and the colour of a value that stands for a state."""

    text: str
    color: str


PHASES: Mapping[Phase, str] = {
    Phase.STARTING: SKY,
    Phase.RECOVERING: PURPLE,
    Phase.RUNNING: GREEN,
    Phase.WAITING_FOR_ORACLE: YELLOW,
    Phase.WAITING_FOR_DISK: ORANGE,
    Phase.STOPPING: BLUE,
    Phase.ENDED: GREY,
}
PHASE_NUMBERS: Mapping[Phase, int] = {phase: number for number, phase in enumerate(PHASES, start=1)}
NOT_THERE = 1 + len(PHASES)
"""The number of a run that was there, and is not any more."""
PHASE_NAMES: Mapping[int, Named] = {
    **{PHASE_NUMBERS[phase]: Named(phase.value.replace("_", " "), color) for phase, color in PHASES.items()},
    NOT_THERE: Named("not there", VERMILION),
}

"""The colours of the dashboards: each state, source and phase has one, the same on every panel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from actors.core.phase import Phase
from prism.palette import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, YELLOW

GOOD, WARNING, BAD, PLAIN = GREEN, ORANGE, VERMILION, SKY
"""The colours of a number: as it should be, to be looked at, wrong, and neither good nor bad."""


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

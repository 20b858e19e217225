"""The agents: traffic lights."""

from __future__ import annotations

from enum import StrEnum, unique
from typing import ClassVar

from prism.agents import StatefulAgent


@unique
class Light(StrEnum):
    """The states of a light."""

    RED = "red"
    GREEN = "green"
    AMBER = "amber"


class TrafficLight(StatefulAgent[Light]):
    """A light. All that it needs to decide comes with its trigger, so it remembers nothing but its state."""

    states: ClassVar[type[Light]] = Light

    def effect(self) -> int:
        """Return what the world is told besides the state: the tick of the turn."""
        return self.tick

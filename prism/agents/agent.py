"""What an agent of the economy is to those who run it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from prism.economy.action import Action
from prism.economy.state import SimulationState


class Agent(ABC):
    """Somebody who observes the economy and proposes an action.

    Args:
        name: what it is called; the key of its nation in a state.

    Raises:
        ValueError: the name is blank.
    """

    def __init__(self, name: str) -> None:
        if not name.strip():
            raise ValueError(f"name: expected a text that is not blank, got {name!r}")
        self.name = name

    @abstractmethod
    async def decide_action(self, state: SimulationState) -> Action:
        """The action it proposes, which nobody has validated yet."""

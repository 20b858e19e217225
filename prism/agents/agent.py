"""The interface of an agent in an economy."""

from __future__ import annotations

from abc import ABC, abstractmethod

from prism.models import Action, SimulationState


class Agent(ABC):
    """An agent that observes the economy and proposes an action. Its name is the key of its nation in a state."""

    def __init__(self, name: str) -> None:
        if not name.strip():
            raise ValueError(f"name: expected a text that is not blank, got {name!r}")
        self.name = name

    @abstractmethod
    async def decide_action(self, state: SimulationState) -> Action:
        """Return the action that the agent proposes, not yet validated."""

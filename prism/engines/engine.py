"""The interface of an engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from prism.models import Action, GlobalState, SimulationState


class Engine(ABC):
    """An engine that turns actions into the next state.

    Args:
        current_state: the state that the next turn starts from; the caller sets it, also after each turn. None is an
            economy at rest, without nations.
    """

    def __init__(self, current_state: SimulationState | None = None) -> None:
        self.current_state = current_state or SimulationState(turn=0, agents={}, global_state=GlobalState())

    @abstractmethod
    async def run_turn(self, validated_actions: Sequence[Action]) -> SimulationState:
        """Return the state after `current_state`. The caller stores it, so a turn that fails changes nothing."""

"""What an engine is to those who run it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from prism.economy.action import Action
from prism.economy.state import GlobalState, SimulationState


class Engine(ABC):
    """Somebody who turns actions into the next state.

    Args:
        current_state: the state that the next turn starts from; whoever runs the engine sets it, after each turn too.
            None is an economy at rest, without nations.
    """

    def __init__(self, current_state: SimulationState | None = None) -> None:
        self.current_state = current_state or SimulationState(turn=0, agents={}, global_state=GlobalState())

    @abstractmethod
    async def run_turn(self, validated_actions: Sequence[Action]) -> SimulationState:
        """The state after `current_state`. It is returned and not entered, so a turn that fails leaves no trace."""

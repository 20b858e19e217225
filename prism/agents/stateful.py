"""An agent as a statechart moves it: its state, the tick it entered it, and a bounded history of transitions."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar, Final, Generic

from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.statechart import StateTransition
from prism.statechart.states import S

NO_HISTORY: Final[tuple[()]] = ()


class StatefulAgent(Generic[S]):
    """An agent in a state. It keeps no reference to its chart, so a million agents share one.

    Args:
        agent_id: the agent's number.
        state: the agent's state.
        tick: the agent's current tick.
        ticks_in_state: ticks since it entered `state`.
        max_history_depth: the most transitions in its history; the oldest is removed first. 0 keeps none.
        clock: turns ticks into the history's timestamps.

    Raises:
        TypeError: the state is not one of the agent's states.
        ValueError: a negative count.
    """

    __slots__ = ("_history", "_state", "agent_id", "clock", "entered", "max_history_depth", "tick")

    states: ClassVar[type[StrEnum]] = StrEnum
    open_triggers: ClassVar[frozenset[str]] = frozenset()
    """The triggers to which the oracle's answer has content: it is asked even if only one option is left."""

    def __init__(
        self,
        agent_id: int,
        state: S,
        *,
        tick: int = 0,
        ticks_in_state: int = 0,
        max_history_depth: int = 50,
        clock: SimulatedClock = DEFAULT_CLOCK,
    ) -> None:
        if max_history_depth < 0:
            raise ValueError(f"max_history_depth must be 0 or more, got {max_history_depth!r}")
        self.agent_id = agent_id
        self.tick = tick
        self.state = state
        self.ticks_in_state = ticks_in_state
        self.max_history_depth = max_history_depth
        self.clock = clock
        self._history: list[StateTransition[S]] | None = None

    @property
    def state(self) -> S:
        """The agent's state."""
        return self._state

    @state.setter
    def state(self, value: S) -> None:
        if not isinstance(value, self.states):
            raise TypeError(f"state must be one of {self.states.__name__}, got {value!r}")
        self._state = value

    @property
    def ticks_in_state(self) -> int:
        """The ticks since the agent entered its state."""
        return self.tick - self.entered

    @ticks_in_state.setter
    def ticks_in_state(self, value: int) -> None:
        if value < 0:
            raise ValueError(f"ticks_in_state must be 0 or more, got {value!r}")
        self.entered = self.tick - value

    @property
    def state_history(self) -> list[StateTransition[S]]:
        """A copy of the latest transitions, oldest first, at most `max_history_depth`."""
        return list(self._history or NO_HISTORY)

    def enter(self, state: S, trigger: str, tick: int, context: Any = None) -> None:
        """Enter `state` at `tick`.

        A change of state goes into the history; a self-transition only restarts the count of ticks.
        """
        before, self._state = self._state, state
        self.tick = self.entered = tick
        if self.max_history_depth and state != before:
            self._remember(StateTransition(before, state, trigger, self.clock.at(tick), self.remembered(context)))

    def remembered(self, context: Any) -> dict[str, Any] | None:
        """Return the part of a trigger's context that the history keeps: a dictionary, unless a subclass differs."""
        return context if isinstance(context, dict) else None

    def answered(self, trigger: str, content: str) -> None:
        """Take in the content of the oracle's answer, as JSON text, right before the chosen row is run."""

    def effect(self) -> Any:
        """Return the effect of the action just run beyond the state, for the world to carry out; None for nothing."""
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the agent as JSON values, for debugging."""
        return {
            "agent_id": f"agent_{self.agent_id:03d}",
            "current_state": self._state.value,
            "ticks_in_state": self.ticks_in_state,
            "state_history": [record.to_json() for record in self.state_history],
        }

    def _remember(self, record: StateTransition[S]) -> None:
        if self._history is None:
            self._history = []
        elif len(self._history) >= self.max_history_depth:
            del self._history[0]
        self._history.append(record)

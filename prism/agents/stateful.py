"""An agent as a statechart moves it: its state, the tick it entered it, and a bounded history of transitions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from numbers import Integral
from operator import attrgetter
from typing import Any, ClassVar, Final, Generic, TypeVar, cast

from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.errors import StatechartError
from prism.quoting import shown
from prism.statechart import StateTransition, Transition
from prism.statechart.states import S

F = TypeVar("F", bound=Callable[..., Any])

MOVED: Final = 5
"""The values of a change of state as an agent keeps it: before, after, trigger, tick, and what it remembers."""
FAR_S, FAR_YEAR = 1e11, 6000
"""Simulated seconds (3,169 years) and a year of the epoch: beyond either, a tick may be after the last year, 9999."""


def _from_slot(name: str) -> Callable[[F], F]:
    """Return a decorator that makes the function of a property read a slot in C, in two thirds of the time."""

    def getter(_: F) -> F:
        return cast("F", attrgetter(name))

    return getter


class StatefulAgent(Generic[S]):
    """An agent in a state. It keeps no reference to its chart, so a million agents share one.

    Arguments, and assignments to them later, are checked. While a guard or an action of the agent is running, nothing
    moves it: neither its state nor its ticks nor the depth of its history can be set.

    Args:
        max_history_depth: the most transitions in its history; the oldest is removed first. 0 keeps none.
        clock: turns ticks into the history's timestamps.

    Raises:
        TypeError: the state is not one of the agent's states, or the clock is not a simulated one.
        ValueError: a count is not an int, or is out of its range.
    """

    __slots__ = ("_entered", "_history", "_max_history_depth", "_state", "_tick", "agent_id", "clock", "running")

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
        if clock is not DEFAULT_CLOCK and not isinstance(clock, SimulatedClock):
            raise TypeError(f"clock must be a SimulatedClock, got {shown(clock)}")
        self.running: Transition[S] | None = None
        self.agent_id = whole("agent_id", agent_id)
        self.clock = clock
        self._state = self._checked(state)
        self._tick = whole("tick", tick)
        self._entered = self._tick - whole("ticks_in_state", ticks_in_state)
        self._max_history_depth = whole("max_history_depth", max_history_depth)
        # MOVED plain values each until somebody asks for the list: few do, and a record takes ten times as long.
        # A tuple for each would make a turn a fifth longer: 1,000 agents would not stay in the processor's cache.
        self._history: deque[Any] | list[StateTransition[S]] | None = None

    @property
    @_from_slot("_state")
    def state(self) -> S:
        return self._state

    @state.setter
    def state(self, value: S) -> None:
        self._check_is_free("state")
        self._state = self._checked(value)

    @property
    @_from_slot("_tick")
    def tick(self) -> int:
        """The agent's current tick; never before the one in which it entered its state."""
        return self._tick

    @tick.setter
    def tick(self, value: int) -> None:
        if self.running is not None or type(value) is not int or value < self._entered or value < 0:  # at every turn
            self._check_is_free("tick")
            value = whole("tick", value)
            if value < self._entered:
                raise ValueError(f"tick must be {self._entered} or more, in which the state was entered, got {value}")
        self._tick = value

    @property
    @_from_slot("_entered")
    def entered(self) -> int:
        return self._entered

    @property
    def ticks_in_state(self) -> int:
        return self._tick - self._entered

    @ticks_in_state.setter
    def ticks_in_state(self, value: int) -> None:
        self._check_is_free("ticks_in_state")
        self._entered = self._tick - whole("ticks_in_state", value)

    @property
    def max_history_depth(self) -> int:
        """The most transitions in the agent's history. Setting it removes the oldest ones over it."""
        return self._max_history_depth

    @max_history_depth.setter
    def max_history_depth(self, value: int) -> None:
        self._check_is_free("max_history_depth")
        self._max_history_depth = whole("max_history_depth", value)
        if isinstance(self._history, deque):
            self._history = deque(self._history, MOVED * self._max_history_depth)
        elif self._history is not None:
            self._cut(self._history)

    @property
    def state_history(self) -> list[StateTransition[S]]:
        """The latest transitions, oldest first: a list that the agent owns, always the same one.

        Entries that others append stay, and count: the oldest ones over `max_history_depth` are removed.
        """
        found = self._history
        if not isinstance(found, list):
            at, values = self.clock.at, iter(found or ())
            self._history = found = [
                StateTransition(before, after, trigger, at(tick), self.recalled(remembered))
                for before, after, trigger, tick, remembered in zip(*[values] * MOVED, strict=True)
            ]
        self._cut(found)
        return found

    def _cut(self, history: list[StateTransition[S]]) -> None:
        if (over := len(history) - self._max_history_depth) > 0:
            del history[:over]

    def enter(self, state: S, trigger: str, tick: int | None = None, context: Any = None) -> None:
        """Enter `state` at `tick`; None is the current tick.

        A change of state goes into the history; a self-transition only restarts the count of ticks. An error leaves the
        agent as it was.

        Raises:
            StatechartError: a guard or an action of the agent is running.
            TypeError: the state is not one of the agent's states.
            ValueError: the tick is not an int of 0 or more.
        """
        before = self._state
        if self.running is not None or type(state) is not type(before):
            self._check_is_free("state")
            self._checked(state)
        if tick is None:
            tick = self._tick
        elif type(tick) is not int or tick < 0:
            tick = whole("tick", tick)
        if self._max_history_depth and state is not before:
            is_named = type(trigger) is str and trigger and not trigger.isspace()
            clock = self.clock
            if not is_named or tick * clock.tick_seconds > FAR_S or clock.epoch.year > FAR_YEAR:
                StateTransition(before, state, trigger, clock.at(tick))  # says what is wrong with it
            history, remembered = self._history, None if context is None else self.remembered(context)
            if history is None:
                history = self._history = deque(maxlen=MOVED * self._max_history_depth)
            if isinstance(history, deque):
                history.extend((before, state, trigger, tick, remembered))
            else:
                history.append(StateTransition(before, state, trigger, clock.at(tick), self.recalled(remembered)))
                self._cut(history)
        self._state = state
        self._tick = self._entered = tick

    def follow(self, state: S, trigger: str, tick: int, context: Any) -> None:
        """Enter the target of a row without an action, as `enter` does: a chart has checked the row."""
        if state is not self._state and self._max_history_depth:
            self.enter(state, trigger, tick, context)
            return
        self._state = state
        self._tick = self._entered = tick

    def remembered(self, context: Any) -> Any:
        """Return the part of a trigger's context, not None, that the history keeps: a copy of a dictionary, else None.

        A subclass that keeps something else returns what nobody changes later, such as an id.
        """
        return _copy_of(context, {}) if isinstance(context, dict) else None

    def recalled(self, remembered: Any) -> dict[str, Any] | None:
        """Return what was remembered, as records of the history have it."""
        found: dict[str, Any] | None = remembered
        return found

    def answered(self, trigger: str, content: str) -> None:
        """Take in the content of the oracle's answer, as JSON text, right before the chosen row is run."""

    def effect(self) -> Any:
        """Return the effect of the action just run beyond the state, for the world to carry out; None for nothing."""
        return None

    def with_answer(self, effect: Any) -> Any:
        """Return the effect of a row that an answer with content has chosen; a subclass may add the content."""
        return effect

    def to_json(self) -> dict[str, Any]:
        """Return the agent as JSON values, for debugging."""
        return {
            "agent_id": f"agent_{self.agent_id:03d}",
            "current_state": self._state.value,
            "ticks_in_state": self.ticks_in_state,
            "state_history": [record.to_json() for record in self.state_history],
        }

    def _check_is_free(self, field: str) -> None:
        if self.running is not None:
            raise StatechartError(
                f"{self.running.name}: its guard or action must not move its agent: {field} of agent {self.agent_id} "
                "is set by the row alone"
            )

    def _checked(self, state: S) -> S:
        if not isinstance(state, self.states):
            raise TypeError(f"state must be one of {self.states.__name__}, got {shown(state)}")
        return state


def whole(name: str, value: object, *, least: int | None = 0) -> int:
    """Return a whole number of at least `least` as a plain int; None is no limit.

    Raises:
        ValueError: it is not an int, or below the least. True and False are no numbers.
    """
    if type(value) is int and (least is None or value >= least):  # nearly always; the next line takes ten times as long
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be an int, got {shown(value)}")
    if least is not None and value < least:
        raise ValueError(f"{name} must be {'above 0' if least else '0 or more'}, got {int(value)}")
    return int(value)


def _copy_of(value: Any, copies: dict[int, Any]) -> Any:
    # Only containers are copied. `deepcopy` refuses locks, and copies all people of a network that a context holds.
    # `copies` is {id of a container: its copy}, so that the copy of one that holds itself comes to an end.
    if id(value) in copies:
        return copies[id(value)]
    if isinstance(value, dict):
        copy: Any = copies.setdefault(id(value), {})
        copy.update((key, _copy_of(item, copies)) for key, item in value.items())
    elif isinstance(value, list):
        copy = copies.setdefault(id(value), [])
        copy.extend(_copy_of(item, copies) for item in value)
    elif type(value) is tuple:
        copy = tuple(_copy_of(item, copies) for item in value)
    else:
        copy = set(value) if isinstance(value, set) else value
    return copy

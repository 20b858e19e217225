"""The rows of a statechart, the choice between several rows, and the record of a transition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import Any, Final, Generic

import msgspec

from prism.errors import StatechartError
from prism.expressions import Expression
from prism.quoting import shown
from prism.statechart.states import S

Guard = Callable[[Any, Any], object]
"""`(agent, context)` -> truthy if the row is enabled; `NEEDS_ORACLE` if it is enabled and the oracle should be
asked."""

Action = Callable[[Any, Any], None]
"""`(agent, context)` -> None; runs before the state is written."""

NEEDS_ORACLE: Final = "needs_oracle"


class Transition(msgspec.Struct, Generic[S], frozen=True):
    """One row of a statechart: on `trigger` in `source`, if `guard`, do `action` and go to `target`.

    Args:
        target: None leaves the choice among the valid targets to the oracle.
        guard: a row without one is the *else* of its source and trigger.
        oracle: True asks the oracle whenever the row is enabled, False never asks because of this row, None asks when
            several rows are enabled.
        when: the guard as an expression, if it is one: drawings show it, and the linter reads it.
        level: 0 for a row of the source state itself, 1 for one of the state around it, and so on. If a row is enabled,
            rows of higher levels are not (SCXML 3.13).

    Raises:
        StatechartError: a value is of another type, a guard or an action is async, or there is no target and no oracle.
    """

    trigger: str
    source: S
    target: S | None
    guard: Guard | None = None
    action: Action | None = None
    oracle: bool | None = None
    label: str = ""
    when: Expression | None = None
    level: int = 0

    def __post_init__(self) -> None:
        if not _is_worded(self.trigger):
            raise StatechartError(f"a transition's trigger must be a non-empty string, got {shown(self.trigger)}")
        plain = "a plain function, neither async nor a generator"
        for holds, field, expected in (
            (isinstance(self.label, str), "label", "a text"),
            (isinstance(self.source, StrEnum), "source", "a state such as AgentState.IDLE"),
            (isinstance(self.target, StrEnum | None), "target", "a state such as AgentState.IDLE"),
            (self.guard is None or callable(self.guard), "guard", "a function or None"),
            (self.guard is None or not is_deferred(self.guard), "guard", plain),
            (self.action is None or callable(self.action), "action", "a function or None"),
            (self.action is None or not is_deferred(self.action), "action", plain),
            (isinstance(self.oracle, bool | None), "oracle", "True, False or None"),
        ):
            if not holds:
                raise StatechartError(f"{self.name}: {field} must be {expected}, got {shown(getattr(self, field))}")
        if self.target is None and self.oracle is False:
            raise StatechartError(f"{self.name}: a row without a target needs the oracle, so oracle=False cannot hold")

    @property
    def name(self) -> str:
        """The label, or the row in one line: `evaluating --decides--> scrolling`."""
        target = "as the oracle decides" if self.target is None else _worded(self.target)
        return self.label or f"{_worded(self.source)} --{self.trigger}--> {target}"


def labels_of(rows: Iterable[Transition[S]]) -> dict[tuple[S, str, S], str]:
    """Return `{(source, trigger, target): label}` of the rows that the oracle may take, if they have a label."""
    found = dict[tuple[S, str, S], str]()
    for row in rows:
        if row.label and row.target is not None and row.oracle is not False:
            found.setdefault((row.source, row.trigger, row.target), row.label)
    return found


class Choice(msgspec.Struct, Generic[S], frozen=True):
    """Several rows that are all possible. `options[0]` is the row that `fire` would take, or the most passive one."""

    trigger: str
    source: S
    options: tuple[Transition[S], ...]

    @property
    def targets(self) -> tuple[S, ...]:
        """The states to choose from, all different, in the order of the options."""
        return tuple(option.target for option in self.options if option.target is not None)

    def option(self, target: str) -> Transition[S] | None:
        return next((option for option in self.options if option.target == target), None)


class StateTransition(msgspec.Struct, Generic[S], frozen=True):
    """A change of state in an agent's history, at a simulated time in UTC, with details such as `{"post_id": 12}`.

    Raises:
        StatechartError: a value is of another type, the trigger is empty, or the timestamp is not in UTC.
    """

    from_state: S
    to_state: S
    trigger: str
    timestamp: datetime
    context: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        for holds, field, expected in (
            (isinstance(self.from_state, StrEnum), "from_state", "a state"),
            (isinstance(self.to_state, StrEnum), "to_state", "a state"),
            (_is_worded(self.trigger), "trigger", "a non-empty string"),
            (isinstance(self.timestamp, datetime), "timestamp", "a datetime"),
            (isinstance(self.context, dict | None), "context", "a dictionary or None"),
        ):
            if not holds:
                problem = f"{field} must be {expected}, got {shown(getattr(self, field))}"
                raise StatechartError(f"a state transition's {problem}")
        if self.timestamp.utcoffset() != timedelta(0):
            raise StatechartError(f"a state transition's timestamp must be in UTC, got {self.timestamp.isoformat()!r}")

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON values, its time as `2026-01-30T10:00:00Z`."""
        return {
            "from_state": self.from_state.value,
            "to_state": self.to_state.value,
            "trigger": self.trigger,
            "timestamp": self.timestamp.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "context": self.context,
        }


def _worded(state: object) -> str:
    return str.__str__(state) if isinstance(state, str) else shown(state)


def _is_worded(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())


def is_deferred(function: Callable[..., object]) -> bool:
    """Return whether a call gives a coroutine or a generator. As a guard it would seem true, and its code never run."""
    forms = function, getattr(function, "__call__", None)  # noqa: B004  # an object is called by its class's method
    return any(test(form) for form in forms for test in (iscoroutinefunction, isgeneratorfunction, isasyncgenfunction))

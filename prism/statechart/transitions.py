"""The rows of a statechart, the choice between several of them, and the record of a transition."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Generic

import msgspec

from prism.errors import StatechartError
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
        trigger: the event that the row answers.
        source: the state that the row leaves.
        target: the state that the row enters; None leaves the choice among the valid targets to the oracle.
        guard: enables the row; a row without a guard is the *else* of its source and trigger.
        action: a side effect on the agent, run before the state is written.
        oracle: True asks the oracle whenever the row is enabled, False never asks because of this row, None asks when
            several rows are enabled.
        label: the row's name in logs and errors.

    Raises:
        StatechartError: the trigger is empty, a state is not a member of a StrEnum, a guard or an action cannot be
            called, another value is of a wrong type, or there is no target and no oracle.
    """

    trigger: str
    source: S
    target: S | None
    guard: Guard | None = None
    action: Action | None = None
    oracle: bool | None = None
    label: str = ""

    def __post_init__(self) -> None:
        trigger: object = self.trigger
        if not isinstance(trigger, str) or not trigger.strip():
            raise StatechartError(f"a transition's trigger must be a non-empty string, got {self.trigger!r}")
        for field, state in (("source", self.source), ("target", self.target)):
            if isinstance(state, StrEnum) or (field == "target" and state is None):
                continue
            raise StatechartError(f"{self.name}: {field} must be a state such as AgentState.IDLE, got {state!r}")
        for field, is_right, expected in (
            ("guard", self.guard is None or callable(self.guard), "a function or None"),
            ("action", self.action is None or callable(self.action), "a function or None"),
            ("oracle", isinstance(self.oracle, bool | None), "True, False or None"),
            ("label", isinstance(self.label, str), "a text"),
        ):
            if not is_right:
                raise StatechartError(f"{self.name}: {field} must be {expected}, got {getattr(self, field)!r}")
        if self.target is None and self.oracle is False:
            raise StatechartError(f"{self.name}: a row without a target needs the oracle, so oracle=False cannot hold")

    @property
    def name(self) -> str:
        """The label, or the row in one line: `evaluating --decides--> scrolling`."""
        return self.label or f"{self.source} --{self.trigger}--> {self.target or 'as the oracle decides'}"


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
        """Return the option that leads to `target`, or None."""
        return next((option for option in self.options if option.target == target), None)


class StateTransition(msgspec.Struct, Generic[S], frozen=True):
    """A change of state in an agent's history.

    Args:
        timestamp: in simulated UTC.
        context: the details, such as `{"post_id": 12}`.

    Raises:
        StatechartError: the timestamp is not in UTC.
    """

    from_state: S
    to_state: S
    trigger: str
    timestamp: datetime
    context: dict[str, Any] | None = None

    def __post_init__(self) -> None:
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

"""Calls of guards and actions: marked while they run, so that they cannot move their agent, and checked afterwards."""

from __future__ import annotations

from typing import Any

import msgspec

from prism.errors import StatechartError
from prism.quoting import shown
from prism.statechart.transitions import NEEDS_ORACLE, Transition, is_work_left


class GuardErrors(msgspec.Struct):
    """The count of errors that one row's guard raised, and the first of them."""

    row: Transition[Any]
    count: int
    first: str


class _Mark(msgspec.Struct):
    """The mark of the row whose guard or action runs, for a plain object: an agent has it as `running`."""

    running: Transition[Any] | None = None


def mark_of(agent: Any) -> Any:
    """Return the object whose `running` says which row's guard or action runs: the agent itself, if it is one."""
    return agent if hasattr(agent, "enter") else _Mark()


def ask_guard(row: Transition[Any], agent: Any, context: Any, mark: Any) -> bool | str:
    """Return True, False or NEEDS_ORACLE, whatever the guard returns. It raises as the guard.

    Raises:
        StatechartError: the guard returned work for later.
    """
    # The mark is put back, because a guard may ask what its own agent could do.
    before, mark.running = mark.running, row
    try:
        result: object = row.guard(agent, context)  # type: ignore[misc]  # only rows with a guard are asked
        if result is True or result is False:
            return result
        if is_work_left(result):
            raise StatechartError(f"the guard returned work for later, which nobody does; got {shown(result)}")
        return NEEDS_ORACLE if isinstance(result, str) and result == NEEDS_ORACLE else bool(result)
    finally:
        mark.running = before


def take(row: Transition[Any], agent: Any, tick: int | None, context: Any, mark: Any) -> None:
    """Run the row's action, if it has one, and let the agent enter the target. An error leaves it where it was.

    Raises:
        StatechartError: a guard or an action of the agent is running, or the action is not a plain one.
    """
    if row.action is not None:
        if mark.running is not None:
            raise StatechartError(f"{mark.running.name}: its guard or action must not run {row.name} on its own agent")
        mark.running = row
        try:
            result: object = row.action(agent, context)
        finally:
            mark.running = None
        # A coroutine would never run, and a state that the action writes itself would have no record.
        if result is not None and is_work_left(result):
            raise StatechartError(
                f"{row.name}: the action returned work for later, which nobody does; got {shown(result)}"
            )
        if agent.state != row.source:
            raise StatechartError(
                f"{row.name}: the action moved the agent to {agent.state!r}; only the row may move it"
            )
    if mark is agent:
        agent.enter(row.target, row.trigger, tick, context)
        return
    agent.state = row.target
    if hasattr(agent, "ticks_in_state"):
        agent.ticks_in_state = 0


def told(error: Exception) -> str:
    """Return an error in one line, even if it cannot make its own text."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  # an error of a guard is counted, whatever else is wrong with it
        text = "it has no message"
    return f"{type(error).__name__}: {text}"

"""A flat Harel statechart: rows in an order that is their only priority, indexed once, shared by every agent.

Four operations use one ordered list of rows. `candidates` lists the rows that are possible, `fire` takes the first of
them, `select` says whether the choice is ambiguous, and `commit` carries out a selected row. None of them waits or asks
an oracle. `outcomes` says of each row why it is enabled or not.

Semantics, decided in docs/decisions/001-ambiguity.md: a guard that raises is false (SCXML 5.9.1), document order is
priority (SCXML 3.13), and several enabled rows are a conflict (UML 2.5.1, 14.2.3.9.3) that `select` reports.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from enum import StrEnum
from typing import Any, Final, Generic, Literal, Protocol

import msgspec

from prism.errors import StatechartError
from prism.quoting import shown
from prism.statechart.rows import Rows, rows_of
from prism.statechart.states import S
from prism.statechart.transitions import NEEDS_ORACLE, Choice, Transition


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
        StatechartError: the guard returned work for later, such as a coroutine.
    """
    # The mark is put back, because a guard may ask what its own agent could do.
    before, mark.running = mark.running, row
    try:
        result: object = row.guard(agent, context)  # type: ignore[misc]  # only rows with a guard are asked
        if result is True or result is False:
            return result
        if isinstance(result, Awaitable):  # it is true, and its code would never run
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
        if isinstance(result, Awaitable):
            problem = f"the action returned work for later, which nobody does; got {shown(result)}"
            raise StatechartError(f"{row.name}: {problem}")
        # A state that the action writes itself would have no record.
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
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _listed(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise StatechartError(f"a chart's {name} must be a list of them, got {shown(values)}") from None


class Movable(Protocol[S]):
    """An object that a chart moves: a `StatefulAgent`, or any other with a state.

    Of another object it sets `state`, and `ticks_in_state` to 0 if there is one. Such an object has no tick and no
    history, and its guards and actions are not kept from moving it.
    """

    state: S


class Statechart(Generic[S]):
    """An immutable chart.

    Args:
        states: every state an agent can be in.
        transitions: the rows, in order of priority.
        initial: where a new agent starts.

    Raises:
        StatechartError: states of more than one StrEnum, a state that is not in `states`, a row after an else, or a row
            for the oracle with nothing to choose from.
    """

    def __init__(self, states: Iterable[S], transitions: Iterable[Transition[S]], initial: S) -> None:
        listed: tuple[S, ...] = _listed("states", states)
        for state in (initial, *listed):
            stated: object = state
            if not isinstance(stated, StrEnum):
                raise StatechartError(f"a chart's states must be members of a StrEnum, got {shown(state)}")
            if type(state) is not type(initial):
                raise StatechartError(f"a chart's states must be members of one StrEnum, got {initial!r} and {state!r}")
        self.states: frozenset[S] = frozenset(listed)
        self._known = ", ".join(sorted(self.states)) or "none"
        if initial not in self.states:
            raise StatechartError(f"initial state {initial!r} is not among the chart's states: {self._known}")
        self.transitions: tuple[Transition[S], ...] = _listed("rows", transitions)
        self.initial = initial
        self.guard_errors: list[GuardErrors] = []
        """One entry for each row whose guard has raised. Counters, not part of the chart's meaning."""
        # 1. Rows by state and trigger, in order.
        groups: dict[S, dict[str, list[Transition[S]]]] = {state: {} for state in self.states}
        for row in self.transitions:
            given: object = row
            if not isinstance(given, Transition):
                raise StatechartError(f"a chart's rows must be transitions, got {shown(row)}")
            for end in (row.source, row.target):
                if end is not None and (end not in self.states or type(end) is not type(initial)):
                    raise StatechartError(f"{row.name}: {end!r} is not among the chart's states: {self._known}")
            groups[row.source].setdefault(row.trigger, []).append(row)
        # 2. The index: `{state: {trigger: rows}}`, None for triggers that only other states have. So nearly every
        #    look-up finds its key in a plain dict, which takes half the time of `get` or of `__missing__`.
        nothing: dict[str, Rows[S] | None] = dict.fromkeys(row.trigger for row in self.transitions)
        self.index: dict[S, dict[str, Rows[S] | None]] = {
            state: {trigger: rows_of(rows) for trigger, rows in by_trigger.items()}
            for state, by_trigger in groups.items()
        }
        for indexed in self.index.values():
            indexed |= {trigger: None for trigger in nothing if trigger not in indexed}

    def valid_triggers(self, state: S) -> list[str]:
        """Return the triggers that have a row in `state`, in order of their first row."""
        return [trigger for trigger, rows in self.index.get(state, {}).items() if rows is not None]

    def valid_targets(self, state: S, trigger: str) -> list[S]:
        """Return the states that `trigger` can lead to from `state`, whatever the guards say: each once, in order."""
        rows = self.index.get(state, {}).get(trigger)
        return [] if rows is None else list(rows.targets)

    def rows(self, state: S, trigger: str) -> Rows[S] | None:
        """Return the rows of a state and trigger; None if there are none.

        Raises:
            StatechartError: the state is not in the chart.
        """
        try:
            return self.index[state][trigger]
        except KeyError:
            if state in self.index:
                return None
        raise StatechartError(f"the agent is in state {state!r}, which is not among the chart's states: {self._known}")

    def candidates(self, agent: Movable[S], trigger: str, context: Any = None) -> tuple[Transition[S], ...]:
        """Return every enabled row, in order."""
        rows = self.rows(agent.state, trigger)
        return () if rows is None else tuple(self._enabled(rows, agent, context)[0])

    def fire(self, agent: Movable[S], trigger: str, context: Any = None, tick: int | None = None) -> S | None:
        """Return the state that the first enabled row led to, or None if no row was enabled. It never asks an oracle.

        Args:
            tick: the tick of the transition; by default the agent's current tick.

        Raises:
            StatechartError: a guard or an action of this agent is running, or the action is not a plain one; the agent
                stays where it was.
            Exception: any error of the action; the agent stays where it was.
        """
        rows, mark = self.rows(agent.state, trigger), mark_of(agent)
        # A guard or an action that fires on its own agent would move it in the midst of a step (SCXML 3.13: a step runs
        # to its end before the next one begins).
        if mark.running is not None:
            raise StatechartError(
                f"{mark.running.name}: its guard or action must not fire {shown(trigger)} on its agent"
            )
        if rows is None:
            return None
        row = rows.certain
        if row is None:
            enabled, _ = self._enabled(rows, agent, context, only_first=True)
            row = enabled[0] if enabled else None
        if row is None or row.target is None:
            return None
        take(row, agent, tick, context, mark)
        return row.target

    def select(self, agent: Movable[S], trigger: str, context: Any = None) -> Transition[S] | Choice[S] | None:
        """Return the row that would be taken, or a choice for the oracle, or None if no row is enabled."""
        rows = self.rows(agent.state, trigger)
        return None if rows is None else rows.certain or self.select_among(rows, agent, context)

    def select_among(self, rows: Rows[S], agent: Movable[S], context: Any) -> Transition[S] | Choice[S] | None:
        """Return what `select` returns, where the rows of the agent's state and of the trigger have guards."""
        # Guards that are expressions read values and change nothing, so one function has all of them.
        if rows.only_read and rows.guarded:
            try:
                pattern = rows.pattern(agent, context)
            except Exception:  # noqa: BLE001  # a guard raises: below each is asked by itself, and errors are counted
                pattern = -1
            if pattern >= 0:
                return rows.outcome(pattern)
        enabled, asks = self._enabled(rows, agent, context)
        return rows.settled(enabled, asks=asks)

    def commit(self, agent: Movable[S], transition: Transition[S], tick: int | None, context: Any = None) -> bool:
        """Return True once the agent is in the row's target; change nothing and return False if it has left the source.

        The action runs first. If it raises, the agent stays where it was, and the caller gets the error.

        Raises:
            StatechartError: as for `fire`, or the row's target is not a state of this chart.
        """
        target = transition.target
        if target is None or agent.state != transition.source:
            return False
        if target not in self.states:
            raise StatechartError(f"{transition.name}: {target!r} is not among the chart's states: {self._known}")
        take(transition, agent, tick, context, mark_of(agent))
        return True

    def _enabled(
        self, rows: Rows[S], agent: Movable[S], context: Any, *, only_first: bool = False
    ) -> tuple[list[Transition[S]], bool]:
        """Return the enabled rows in order, or only those up to the first, and whether a guard asked for the oracle."""
        enabled: list[Transition[S]] = []
        asks, mark = False, mark_of(agent)
        for group in rows.guarded:
            # Rows are sorted from the inside out, so this is the end: inner rows hide outer ones (SCXML 3.13).
            if enabled and (only_first or group[0].level > enabled[0].level):
                break
            try:
                result = ask_guard(group[0], agent, context, mark)
            except Exception as error:  # noqa: BLE001  # fail-safe: any error of a guard means "not enabled"
                # It is counted for each row: one agent's bad guard must not stop a population.
                for row in group:
                    seen = next((seen for seen in self.guard_errors if seen.row is row), None)
                    if seen is None:
                        self.guard_errors.append(seen := GuardErrors(row, 0, told(error)))
                    seen.count += 1
                continue
            if result:
                enabled.extend(group)
                asks = asks or (result == NEEDS_ORACLE and any(row.oracle is not False for row in group))
        # A guard of a plain object can move it, and then none of these rows is of its state.
        if agent.state != rows.source:
            return [], False
        if not enabled and rows.otherwise is not None:
            enabled.append(rows.otherwise)
        return enabled, asks


Outcome = Literal["true", "false", "needs_oracle", "raised", "else", "not_asked", "not_needed"]
"""The outcome of one row: the guard's result; `raised`, which counts as false; `else`, of a row without a guard
that is taken because no other is enabled, and `not_needed` if one is; `not_asked`, because a row of an inner state is
enabled."""

ENABLED: Final = frozenset({"true", "needs_oracle", "else"})


class RowOutcome(msgspec.Struct, Generic[S], frozen=True):
    """The outcome of one row for one agent and context, with the error of a guard that raised, in one line."""

    row: Transition[S]
    outcome: Outcome
    error: str = ""


def outcomes(chart: Statechart[S], agent: Movable[S], trigger: str, context: Any = None) -> tuple[RowOutcome[S], ...]:
    """Return the outcome of each row, in order, as `select` finds it. It counts no error of a guard."""
    rows = chart.rows(agent.state, trigger)
    if rows is None:
        return ()
    found: list[RowOutcome[S]] = []
    level: int | None = None  # that of the first enabled row: rows of states further out are then not asked
    mark = mark_of(agent)
    for group in rows.guarded:
        outcome: Outcome
        error = ""
        if level is not None and group[0].level > level:
            outcome = "not_asked"
        else:
            try:
                result = ask_guard(group[0], agent, context, mark)
                outcome = "needs_oracle" if result == NEEDS_ORACLE else "true" if result else "false"
            except Exception as raised:  # noqa: BLE001  # as in a turn, any error of a guard means "not enabled"
                outcome, error = "raised", told(raised)
        if level is None and outcome in ENABLED:
            level = group[0].level
        found += [RowOutcome(row, outcome, error) for row in group]
    if rows.otherwise is not None:
        found.append(RowOutcome(rows.otherwise, "else" if level is None else "not_needed"))
    return tuple(found)


def question_kinds(chart: Statechart[S]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return `{(state, trigger): options}` of the questions that rows meant for the oracle ask."""
    found = {}
    for state in chart.states:
        for trigger in chart.valid_triggers(state):
            if (rows := chart.rows(state, trigger)) is not None and (options := rows.question_options()):
                found[state.value, trigger] = tuple(option.value for option in options)
    return found

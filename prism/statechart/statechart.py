"""A flat Harel statechart: rows in an order that is their only priority, indexed once, shared by every agent.

Four operations use one ordered list of rows. `candidates` lists the rows that are possible, `fire` takes the first of
them, `select` says whether the choice is ambiguous, and `commit` carries out a selected row. None of them waits or asks
an oracle.

Semantics, decided in docs/decisions/001-ambiguity.md: a guard that raises is false (SCXML 5.9.1), document order is
priority (SCXML 3.13), and several enabled rows are a conflict (UML 2.5.1, 14.2.3.9.3) that `select` reports.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Generic, Protocol

import msgspec

from prism.errors import StatechartError
from prism.statechart.states import S, most_passive
from prism.statechart.transitions import NEEDS_ORACLE, Choice, Transition


class Stateful(Protocol[S]):
    """An object that a chart moves: it is in a state, at a tick, and can enter another state."""

    @property
    def state(self) -> S:
        """The object's state."""

    @property
    def tick(self) -> int:
        """The object's current tick."""

    def enter(self, state: S, trigger: str, tick: int, context: Any = None) -> None:
        """Enter `state` at `tick`, and record the reason."""


class GuardErrors(msgspec.Struct):
    """The count of errors that one row's guard raised, and the first of them."""

    row: Transition[Any]
    count: int
    first: str


class _Rows(msgspec.Struct, Generic[S], frozen=True):
    """The rows of one state and trigger: the guarded ones in order, then the else; and all targets.

    `certain` is the row that is taken for every agent and context: most lookups end there.
    """

    guarded: tuple[Transition[S], ...]
    otherwise: Transition[S] | None
    targets: tuple[S, ...]
    certain: Transition[S] | None


class _ByState(dict[S, dict[str, _Rows[S]]]):
    """Rows by state and trigger.

    A state that is not in the chart is an error; the check costs nothing for other states.
    """

    def __missing__(self, state: S) -> dict[str, _Rows[S]]:
        known = ", ".join(sorted(self))
        raise StatechartError(f"the agent is in state {state!r}, which is not among the chart's states: {known}")


class Statechart(Generic[S]):
    """An immutable chart.

    Args:
        states: every state an agent can be in.
        transitions: the rows, in order of priority.
        initial: where a new agent starts.

    Raises:
        StatechartError: a state that is not in `states`, a row after an else, or a row for the oracle with nothing
            to choose from.
    """

    def __init__(self, states: Iterable[S], transitions: Iterable[Transition[S]], initial: S) -> None:
        self.states: frozenset[S] = frozenset(states)
        self.transitions: tuple[Transition[S], ...] = tuple(transitions)
        self.initial = initial
        self.guard_errors: list[GuardErrors] = []
        """One entry for each row whose guard has raised. Counters, not part of the chart's meaning."""
        self._check_states()
        self._index = self._indexed()

    def valid_triggers(self, state: S) -> list[str]:
        """Return the triggers that have a row in `state`, in order of their first row."""
        return list(self._index.get(state, {}))

    def valid_targets(self, state: S, trigger: str) -> list[S]:
        """Return the states that `trigger` can lead to from `state`, whatever the guards say: each once, in order."""
        rows = self._index.get(state, {}).get(trigger)
        return [] if rows is None else list(rows.targets)

    def candidates(self, agent: Stateful[S], trigger: str, context: Any = None) -> tuple[Transition[S], ...]:
        """Return every enabled row, in order."""
        rows = self._index[agent.state].get(trigger)
        return () if rows is None else self._enabled(rows, agent, context)[0]

    def fire(self, agent: Stateful[S], trigger: str, context: Any = None, *, tick: int | None = None) -> S | None:
        """Return the state that the first enabled row led to, or None if no row was enabled. It never asks an oracle.

        Args:
            tick: the tick of the transition; by default the agent's current tick.
        """
        rows = self._index[agent.state].get(trigger)
        if rows is None:
            return None
        row = rows.certain or self._first(rows, agent, context)
        if row is None or (target := row.target) is None:
            return None
        # The same as `commit`, without its check: the row was found by the state that the agent is in.
        if row.action is not None:
            row.action(agent, context)
        agent.enter(target, trigger, agent.tick if tick is None else tick, context)
        return target

    def select(self, agent: Stateful[S], trigger: str, context: Any = None) -> Transition[S] | Choice[S] | None:
        """Return the row that would be taken, or a choice for the oracle, or None if no row is enabled."""
        rows = self._index[agent.state].get(trigger)
        if rows is None:
            return None
        if rows.certain is not None:
            return rows.certain
        enabled, marked = self._enabled(rows, agent, context)
        if not enabled:
            return None
        return self._choice(rows, enabled) if marked or _is_ambiguous(enabled) else enabled[0]

    def commit(self, agent: Stateful[S], transition: Transition[S], tick: int, context: Any = None) -> bool:
        """Return True once the agent is in the row's target; change nothing and return False if it has left the source.

        The action runs first. If it raises, the agent stays where it was, and the caller gets the error.
        """
        target = transition.target
        if target is None or agent.state != transition.source:
            return False
        if transition.action is not None:
            transition.action(agent, context)
        agent.enter(target, transition.trigger, tick, context)
        return True

    def _enabled(self, rows: _Rows[S], agent: Stateful[S], context: Any) -> tuple[tuple[Transition[S], ...], bool]:
        """Return the enabled rows in order, and whether a guard asked for the oracle."""
        enabled, marked = [], False
        for row in rows.guarded:
            result = self._guard_result(row, agent, context)
            if result:
                enabled.append(row)
                marked = marked or (result == NEEDS_ORACLE and row.oracle is not False)
        if not enabled and rows.otherwise is not None:
            enabled.append(rows.otherwise)
        return tuple(enabled), marked

    def _first(self, rows: _Rows[S], agent: Stateful[S], context: Any) -> Transition[S] | None:
        for row in rows.guarded:
            if self._guard_result(row, agent, context):
                return row
        return rows.otherwise

    def _guard_result(self, row: Transition[S], agent: Stateful[S], context: Any) -> object:
        """Return the guard's result; False if it raises, because one agent's bad guard must not stop a population."""
        try:
            result = row.guard(agent, context)  # type: ignore[misc]  # only guarded rows come here
            return result if isinstance(result, str) else bool(result)
        except Exception as error:  # noqa: BLE001  # fail-safe: any error of a guard means "not enabled"
            self._count_guard_error(row, error)
            return False

    def _count_guard_error(self, row: Transition[S], error: Exception) -> None:
        for seen in self.guard_errors:
            if seen.row is row:
                seen.count += 1
                return
        self.guard_errors.append(GuardErrors(row, 1, f"{type(error).__name__}: {error}"))

    def _choice(self, rows: _Rows[S], enabled: tuple[Transition[S], ...]) -> Choice[S]:
        options: dict[S, Transition[S]] = {}
        for row in enabled:
            if row.oracle is False and row is not enabled[0]:
                continue
            for target in rows.targets if row.target is None else (row.target,):
                if target not in options:
                    options[target] = row if row.target is not None else msgspec.structs.replace(row, target=target)
        first = enabled[0].target or most_passive(options)
        ordered = (options.pop(first), *options.values())
        return Choice(enabled[0].trigger, enabled[0].source, ordered)

    def _check_states(self) -> None:
        stated: tuple[object, ...] = (self.initial, *self.states)
        for state in stated:
            if not isinstance(state, StrEnum):
                raise StatechartError(f"a chart's states must be members of a StrEnum, got {state!r}")
        known = ", ".join(sorted(self.states)) or "none"
        if self.initial not in self.states:
            raise StatechartError(f"initial state {self.initial!r} is not among the chart's states: {known}")
        rows: tuple[object, ...] = self.transitions
        for row in rows:
            if not isinstance(row, Transition):
                raise StatechartError(f"a chart's rows must be transitions, got {row!r}")
            for end in (row.source, row.target):
                if end is not None and end not in self.states:
                    raise StatechartError(f"{row.name}: {end!r} is not among the chart's states: {known}")

    def _indexed(self) -> _ByState[S]:
        groups: dict[S, dict[str, list[Transition[S]]]] = {state: {} for state in self.states}
        for row in self.transitions:
            groups[row.source].setdefault(row.trigger, []).append(row)
        return _ByState(
            (state, {trigger: _rows(rows) for trigger, rows in by_trigger.items()})
            for state, by_trigger in groups.items()
        )


def _rows(rows: list[Transition[S]]) -> _Rows[S]:
    for position, row in enumerate(rows[:-1]):
        if row.guard is None:
            raise StatechartError(
                f"{rows[position + 1].name}: comes after {row.name}, which has no guard and always wins"
            )
    targets = tuple(dict.fromkeys(row.target for row in rows if row.target is not None))
    for row in rows:
        if row.target is None and not targets:
            raise StatechartError(f"{row.name}: the oracle has nothing to choose from; add rows with a target")
    guarded = tuple(row for row in rows if row.guard is not None)
    otherwise = rows[-1] if rows[-1].guard is None else None
    certain = None if guarded or otherwise is None or _is_ambiguous((otherwise,)) else otherwise
    return _Rows(guarded, otherwise, targets, certain)


def _is_ambiguous(enabled: tuple[Transition[S], ...]) -> bool:
    if len(enabled) == 1:
        return enabled[0].oracle is True or enabled[0].target is None
    return sum(row.oracle is not False for row in enabled) >= 2 or any(
        row.oracle or row.target is None for row in enabled
    )

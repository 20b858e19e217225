"""A flat Harel statechart: rows in an order that is their only priority, indexed once, shared by every agent.

Four operations use one ordered list of rows. `candidates` lists the rows that are possible, `fire` takes the first of
them, `select` says whether the choice is ambiguous, and `commit` carries out a selected row. None of them waits or asks
an oracle.

Semantics, decided in docs/decisions/001-ambiguity.md: a guard that raises is false (SCXML 5.9.1), document order is
priority (SCXML 3.13), and several enabled rows are a conflict (UML 2.5.1, 14.2.3.9.3) that `select` reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Any, Final, Generic, Literal, Protocol, TypeVar, cast

import msgspec

from prism.errors import StatechartError
from prism.expressions import Expression, expression_of
from prism.quoting import shown
from prism.statechart.states import S, most_passive
from prism.statechart.transitions import NEEDS_ORACLE, Choice, Guard, Transition, is_work_left

T = TypeVar("T")


class Stateful(Protocol[S]):
    """An object that a chart moves: it is in a state, at a tick, and can enter another state.

    A chart sets `running` to a row while it calls the row's guard or action. Until that returns, the object lets nobody
    move it.
    """

    running: Transition[S] | None

    @property
    def state(self) -> S:
        """The object's state."""

    def enter(self, state: S, trigger: str, tick: int | None = None, context: Any = None) -> None:
        """Enter `state` at `tick`, and record the reason. None is the object's current tick.

        Raises:
            StatechartError: a guard or an action of the object is running.
        """


class InState(Protocol[S]):
    """A plain object that a chart moves: of all that an agent has, it needs only a state.

    A chart sets its `state`, and its `ticks_in_state` to 0 if it has that. It has no tick and no history, and its
    guards and actions are not kept from moving it.
    """

    state: S


Movable = Stateful[S] | InState[S]
"""An agent, or a plain object in a state: a chart moves both."""


class GuardErrors(msgspec.Struct):
    """The count of errors that one row's guard raised, and the first of them."""

    row: Transition[Any]
    count: int
    first: str


Outcome = Literal["true", "false", "needs_oracle", "raised", "else", "not_asked", "not_needed"]
"""The outcome of one row: the guard's result; `raised`, which counts as false; `else`, of a row without a guard
that is taken because no other is enabled, and `not_needed` if one is; `not_asked`, because a row of an inner state is
enabled."""

ENABLED: Final = frozenset({"true", "needs_oracle", "else"})
"""The outcomes of rows that are enabled."""


class RowOutcome(msgspec.Struct, Generic[S], frozen=True):
    """The outcome of one row for one agent and context.

    Args:
        error: the error of a guard that raised, in one line; empty otherwise.
    """

    row: Transition[S]
    outcome: Outcome
    error: str = ""


_Group = tuple[tuple[Transition[S], ...], Guard]
"""Rows next to each other that have the very same guard, because one call of it decides on them all; and that call."""


class Rows(msgspec.Struct, Generic[S], frozen=True):
    """The rows of one state and trigger: groups of the guarded ones in order, then the else; and all targets.

    `expressions` are the guards that are expressions, `reads` the fields that they read, and `only_read` is True if all
    guards are expressions. `certain` is the row that is taken for every agent and context, and `at_once` its target if
    it has no action: most lookups end there.
    """

    source: S
    guarded: tuple[_Group[S], ...]
    otherwise: Transition[S] | None
    targets: tuple[S, ...]
    only_read: bool
    certain: Transition[S] | None
    at_once: S | None
    expressions: tuple[Expression, ...]
    reads: frozenset[str]


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
        self.states: frozenset[S] = _checked_states(_listed("states", states), initial)
        self.transitions: tuple[Transition[S], ...] = _listed("rows", transitions)
        self.initial = initial
        self._known = ", ".join(sorted(self.states))
        self.guard_errors: list[GuardErrors] = []
        """One entry for each row whose guard has raised. Counters, not part of the chart's meaning."""
        self._check_rows()
        self._index = self._indexed()

    def valid_triggers(self, state: S) -> list[str]:
        """Return the triggers that have a row in `state`, in order of their first row."""
        return [trigger for trigger, rows in self._index.get(state, {}).items() if rows is not None]

    def valid_targets(self, state: S, trigger: str) -> list[S]:
        """Return the states that `trigger` can lead to from `state`, whatever the guards say: each once, in order."""
        rows = self._index.get(state, {}).get(trigger)
        return [] if rows is None else list(rows.targets)

    def question_options(self, state: S, trigger: str) -> tuple[S, ...]:
        """Return the options that the rows meant for the oracle offer in `state`, in order; empty without such rows.

        Those rows are marked `oracle=True`, or have no target. A question that arises only because the guards of other
        rows overlap has options of its own each time, which no chart knows beforehand.
        """
        # All guarded rows in order, with the else at their end: one group may hold several rows with one guard.
        rows = self._index.get(state, {}).get(trigger)
        if rows is None:
            return ()
        otherwise = () if rows.otherwise is None else (rows.otherwise,)
        listed = (*(row for group, _ in rows.guarded for row in group), *otherwise)
        meant = tuple(row for row in listed if row.oracle is True or (row.target is None and row.oracle is not False))
        options = self._choice(rows, meant).targets if meant else ()
        return options if len(options) > 1 else ()

    def question_kinds(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return `{(state, trigger): question_options}` of those that have some."""
        found = {}
        for state in self.states:
            for trigger in self.valid_triggers(state):
                if options := self.question_options(state, trigger):
                    found[state.value, trigger] = tuple(option.value for option in options)
        return found

    def candidates(self, agent: Movable[S], trigger: str, context: Any = None) -> tuple[Transition[S], ...]:
        """Return every enabled row, in order."""
        rows = self.rows(agent.state, trigger)
        return () if rows is None else self._enabled(rows, agent, context)[0]

    def fire(self, agent: Movable[S], trigger: str, context: Any = None, tick: int | None = None) -> S | None:
        """Return the state that the first enabled row led to, or None if no row was enabled. It never asks an oracle.

        Args:
            tick: the tick of the transition; by default the agent's current tick.

        Raises:
            StatechartError: a guard or an action of this agent is running, or the action is not a plain one; the agent
                stays where it was.
            Exception: any error of the action; the agent stays where it was.
        """
        # 1. The rows. A KeyError is a state of another chart, or a trigger that no row has: `rows` tells which.
        state = agent.state
        try:
            rows = self._index[state][trigger]
        except KeyError:
            rows = self.rows(state, trigger)
        # 2. The short way, for most: one row, without guard and action.
        if rows is not None and (target := rows.at_once) is not None:
            try:  # unlike a look-up of `enter` beforehand, this costs nothing for an agent
                agent.enter(target, trigger, tick, context)  # type: ignore[union-attr]
            except AttributeError:
                if hasattr(agent, "enter"):
                    raise
                _move(agent, target)
            return target
        # 3. A guard or an action that fires on its own agent would move it in the midst of a step (SCXML 3.13: a step
        #    runs to its end before the next one begins).
        marked: Any = agent if hasattr(agent, "enter") else _Mark()
        if marked.running is not None:
            raise StatechartError(
                f"{marked.running.name}: its guard or action must not fire {shown(trigger)} on its agent"
            )
        # 4. The same as `commit`, without its checks: the row is of this chart, and of the state that the agent is in.
        #    The action runs before the state is written: if it raises, nothing has happened.
        row = None if rows is None else self._first(rows, agent, context, marked)
        if row is None or (target := row.target) is None:
            return None
        if row.action is not None:
            _act(row, agent, context, marked)
        _enter(agent, marked, target, trigger, tick, context)
        return target

    def select(self, agent: Movable[S], trigger: str, context: Any = None) -> Transition[S] | Choice[S] | None:
        """Return the row that would be taken, or a choice for the oracle, or None if no row is enabled."""
        rows = self.rows(agent.state, trigger)
        if rows is None:
            return None
        if rows.certain is not None:
            return rows.certain
        enabled, marked = self._enabled(rows, agent, context)
        return self._settled(rows, enabled, marked)

    def outcomes(self, agent: Movable[S], trigger: str, context: Any = None) -> tuple[RowOutcome[S], ...]:
        """Return the outcome of each row, in order, as `select` finds it. It counts no error of a guard."""
        rows = self.rows(agent.state, trigger)
        found: list[RowOutcome[S]] = []
        level: int | None = None  # that of the first enabled row: rows of states further out are then not asked
        for group, guard in () if rows is None else rows.guarded:
            if level is not None and group[0].level > level:
                found.extend(RowOutcome(row, "not_asked") for row in group)
                continue
            outcome, error = _outcome(group[0], guard, agent, context)
            if level is None and outcome in ENABLED:
                level = group[0].level
            found.extend(RowOutcome(row, outcome, error) for row in group)
        if rows is not None and rows.otherwise is not None:
            found.append(RowOutcome(rows.otherwise, "else" if level is None else "not_needed"))
        return tuple(found)

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
        marked: Any = agent if hasattr(agent, "enter") else _Mark()
        if transition.action is not None:
            _act(transition, agent, context, marked)
        _enter(agent, marked, target, transition.trigger, tick, context)
        return True

    def certain_target(self, state: S, trigger: str) -> S | None:
        """Return where `trigger` leads every agent in `state`; None if that takes a guard, an action or the oracle.

        Raises:
            StatechartError: the state is not in the chart.
        """
        try:
            rows = self._index[state][trigger]
        except KeyError:
            rows = self.rows(state, trigger)
        return None if rows is None else rows.at_once

    def rows(self, state: S, trigger: str) -> Rows[S] | None:
        """Return the rows of a state and trigger; None if there are none.

        Raises:
            StatechartError: the state is not in the chart.
        """
        try:
            return self._index[state][trigger]
        except KeyError:
            if state in self._index:
                return None
        raise StatechartError(f"the agent is in state {state!r}, which is not among the chart's states: {self._known}")

    def selected(self, rows: Rows[S], holds: Sequence[bool]) -> Transition[S] | Choice[S] | None:
        """Return what `select` returns where it is known which guards hold, in the order of the rows."""
        enabled: list[Transition[S]] = []
        for (group, _), is_true in zip(rows.guarded, holds, strict=True):
            if enabled and group[0].level > enabled[0].level:
                break
            if is_true:
                enabled.extend(group)
        if not enabled and rows.otherwise is not None:
            enabled.append(rows.otherwise)
        return self._settled(rows, tuple(enabled), marked=False)

    def _enabled(self, rows: Rows[S], agent: Movable[S], context: Any) -> tuple[tuple[Transition[S], ...], bool]:
        """Return the enabled rows in order, and whether a guard asked for the oracle.

        No row is enabled if the agent has left the state while the guards ran.
        """
        enabled: list[Transition[S]] = []
        asks = False
        # The mark says which guard runs. It is put back, because a guard may ask what its own agent could do.
        marked: Any = agent if hasattr(agent, "enter") else _Mark()
        before = marked.running
        try:
            for group, guard in rows.guarded:
                # Rows are sorted from the inside out, so this is the end: inner rows hide outer ones (SCXML 3.13).
                if enabled and group[0].level > enabled[0].level:
                    break
                marked.running = group[0]
                try:
                    result = guard(agent, context)
                    if result is True or (result is not False and (result := _judged(result))):
                        enabled.extend(group)
                        asks = asks or (result == NEEDS_ORACLE and any(row.oracle is not False for row in group))
                except Exception as error:  # noqa: BLE001  # fail-safe: any error of a guard means "not enabled"
                    self._count_guard_error(group, error)
        finally:
            marked.running = before
        # A guard of a plain object can move it, and then none of these rows is of its state.
        if agent.state != rows.source:
            return (), False
        if not enabled and rows.otherwise is not None:
            enabled.append(rows.otherwise)
        return tuple(enabled), asks

    def _first(self, rows: Rows[S], agent: Movable[S], context: Any, marked: Any) -> Transition[S] | None:
        found = rows.otherwise
        try:
            for group, guard in rows.guarded:
                row = marked.running = group[0]
                try:
                    result = guard(agent, context)
                    if result is True or (result is not False and _judged(result)):
                        found = row
                        break
                except Exception as error:  # noqa: BLE001  # as in `_enabled`
                    self._count_guard_error(group, error)
        finally:
            marked.running = None
        return found if rows.only_read or agent.state == rows.source else None

    def _settled(
        self, rows: Rows[S], enabled: tuple[Transition[S], ...], marked: bool
    ) -> Transition[S] | Choice[S] | None:
        """Return the row that is taken, or a choice if a guard asked for one or it is ambiguous; None without a row."""
        if not enabled:
            return None
        return self._choice(rows, enabled) if marked or _is_ambiguous(enabled) else enabled[0]

    def _count_guard_error(self, group: tuple[Transition[S], ...], error: Exception) -> None:
        """Count an error for each row: one agent's bad guard must not stop a population."""
        for row in group:
            for seen in self.guard_errors:
                if seen.row is row:
                    seen.count += 1
                    break
            else:
                self.guard_errors.append(GuardErrors(row, 1, _told(error)))

    def _choice(self, rows: Rows[S], enabled: tuple[Transition[S], ...]) -> Choice[S]:
        # 1. One option a target, the first row that leads there. A row without a target stands for all targets that the
        #    rows of this state and trigger have. A row that is never to be asked about counts only as the first one.
        options: dict[S, Transition[S]] = {}
        for row in enabled:
            if row.oracle is False and row is not enabled[0]:
                continue
            for target in rows.targets if row.target is None else (row.target,):
                if target not in options:
                    options[target] = row if row.target is not None else msgspec.structs.replace(row, target=target)
        # 2. The first option is the fallback: the row that `fire` would take, or the state in which least happens.
        first = enabled[0].target or most_passive(options)
        ordered = (options.pop(first), *options.values())
        return Choice(enabled[0].trigger, enabled[0].source, ordered)

    def _check_rows(self) -> None:
        rows: tuple[object, ...] = self.transitions
        for row in rows:
            if not isinstance(row, Transition):
                raise StatechartError(f"a chart's rows must be transitions, got {shown(row)}")
            for end in (row.source, row.target):
                if end is not None and (end not in self.states or type(end) is not type(self.initial)):
                    raise StatechartError(f"{row.name}: {end!r} is not among the chart's states: {self._known}")

    def _indexed(self) -> dict[S, dict[str, Rows[S] | None]]:
        """Return `{state: {trigger: rows}}`, in the order of rows; None for triggers that only other states have.

        Nearly every look-up finds its key in a plain dict, which takes half the time of `get` or of `__missing__`.
        """
        groups: dict[S, dict[str, list[Transition[S]]]] = {state: {} for state in self.states}
        for row in self.transitions:
            groups[row.source].setdefault(row.trigger, []).append(row)
        index: dict[S, dict[str, Rows[S] | None]] = {}
        for state, by_trigger in groups.items():
            index[state] = {trigger: _rows(rows) for trigger, rows in by_trigger.items()}
            for row in self.transitions:
                index[state].setdefault(row.trigger, None)
        return index


def _rows(rows: list[Transition[S]]) -> Rows[S]:
    # 1. An else before other rows would always win. A row for the oracle alone needs targets from other rows.
    for position, row in enumerate(rows[:-1]):
        if row.guard is None:
            raise StatechartError(
                f"{rows[position + 1].name}: comes after {row.name}, which has no guard and always wins"
            )
    targets = tuple(dict.fromkeys(row.target for row in rows if row.target is not None))
    for row in rows:
        if row.target is None and not targets:
            raise StatechartError(f"{row.name}: the oracle has nothing to choose from; add rows with a target")
    # 2. Neighbours with the same guard are one group: it is called once, so it cannot answer them differently.
    groups = [tuple(group) for _, group in groupby((row for row in rows if row.guard is not None), _guard_id)]
    guarded = tuple((group, cast("Guard", group[0].guard)) for group in groups)
    otherwise = rows[-1] if rows[-1].guard is None else None
    # 3. What needs no agent: the row that is always taken, and its target if it does nothing else.
    certain = None if guarded or otherwise is None or _is_ambiguous((otherwise,)) else otherwise
    at_once = None if certain is None or certain.action is not None else certain.target
    found = (expression_of(group[0].guard) for group in groups)
    expressions = tuple(each for each in found if each is not None)
    reads = frozenset(field for each in expressions for field in each.fields)
    return Rows(
        source=rows[0].source,
        guarded=guarded,
        otherwise=otherwise,
        targets=targets,
        only_read=len(expressions) == len(groups),
        certain=certain,
        at_once=at_once,
        expressions=expressions,
        reads=reads,
    )


def _guard_id(row: Transition[S]) -> tuple[int, int]:
    return id(row.guard), row.level


def _is_ambiguous(enabled: tuple[Transition[S], ...]) -> bool:
    # One row is ambiguous if it is meant for the oracle; several are if at least two of them may be asked about (a
    # conflict, UML 2.5.1), or if one is meant for it.
    if len(enabled) == 1:
        return enabled[0].oracle is True or enabled[0].target is None
    return sum(row.oracle is not False for row in enabled) >= 2 or any(
        row.oracle or row.target is None for row in enabled
    )


class _Mark(Generic[S]):
    """The mark of the row whose guard or action runs, for a plain object: an agent has it as `running`."""

    __slots__ = ("running",)

    def __init__(self) -> None:
        self.running: Transition[S] | None = None


def _enter(agent: Any, marked: Any, state: S, trigger: str, tick: int | None, context: Any) -> None:
    """Let an agent enter a state; set the state of a plain object, whose mark is a `_Mark`."""
    if marked is agent:
        agent.enter(state, trigger, tick, context)
    else:
        _move(agent, state)


def _move(agent: Any, state: S) -> None:
    """Set the state of a plain object."""
    agent.state = state
    if hasattr(agent, "ticks_in_state"):
        agent.ticks_in_state = 0


def _act(row: Transition[S], agent: Movable[S], context: Any, marked: Any) -> None:
    """Run a row's action, and mark it while it runs."""
    if marked.running is not None:
        raise StatechartError(f"{marked.running.name}: its guard or action must not run {row.name} on its own agent")
    marked.running = row
    try:
        result: object = row.action(agent, context)  # type: ignore[misc]  # checked by the caller
    finally:
        marked.running = None
    # A coroutine would never run, and a state that the action writes itself would have no record.
    if result is not None and is_work_left(result):
        raise StatechartError(f"{row.name}: the action returned work for later, which nobody does; got {shown(result)}")
    if agent.state != row.source:
        raise StatechartError(f"{row.name}: the action moved the agent to {agent.state!r}; only the row may move it")


def _judged(result: object) -> object:
    """Return a guard's result: a text unchanged, because it may be a marker, and anything else as True or False."""
    if is_work_left(result):
        raise StatechartError(f"the guard returned work for later, which nobody does; got {shown(result)}")
    return result if isinstance(result, str) else bool(result)


def _outcome(row: Transition[S], guard: Guard, agent: Movable[S], context: Any) -> tuple[Outcome, str]:
    """Return what a row's guard says in a word, and the error that it raises."""
    marked: Any = agent if hasattr(agent, "enter") else _Mark()
    before, marked.running = marked.running, row
    try:
        result = _judged(guard(agent, context))
    except Exception as error:  # noqa: BLE001  # as in `_enabled`
        return "raised", _told(error)
    finally:
        marked.running = before
    if not result:
        return "false", ""
    return ("needs_oracle" if result == NEEDS_ORACLE else "true"), ""


def _told(error: Exception) -> str:
    """Return an error in one line, even if it cannot make its own text."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  # an error of a guard is counted, whatever else is wrong with it
        text = "it has no message"
    return f"{type(error).__name__}: {text}"


def _listed(name: str, values: Iterable[T]) -> tuple[T, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise StatechartError(f"a chart's {name} must be a list of them, got {shown(values)}") from None


def _checked_states(states: tuple[S, ...], initial: S) -> frozenset[S]:
    for state in (initial, *states):
        stated: object = state
        if not isinstance(stated, StrEnum):
            raise StatechartError(f"a chart's states must be members of a StrEnum, got {shown(state)}")
        if type(state) is not type(initial):
            raise StatechartError(f"a chart's states must be members of one StrEnum, got {initial!r} and {state!r}")
    if initial not in states:
        known = ", ".join(sorted(states)) or "none"
        raise StatechartError(f"initial state {initial!r} is not among the chart's states: {known}")
    return frozenset(states)

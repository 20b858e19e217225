"""A flat Harel statechart: rows in an order that is their only priority, indexed once, shared by every agent.

Four operations use one ordered list of rows. `candidates` lists the rows that are possible, `fire` takes the first of
them, `select` says whether the choice is ambiguous, and `commit` carries out a selected row. None of them waits or asks
an oracle. `outcomes` says of each row why it is enabled or not.

Semantics, decided in docs/decisions/001-ambiguity.md: a guard that raises is false (SCXML 5.9.1), document order is
priority (SCXML 3.13), and several enabled rows are a conflict (UML 2.5.1, 14.2.3.9.3) that `select` reports.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import groupby, pairwise
from types import SimpleNamespace
from typing import Any, Final, Generic, Literal, Protocol

import msgspec

from prism.errors import StatechartError
from prism.expressions import expression_of, pattern_of
from prism.quoting import shown
from prism.statechart.states import S, most_passive
from prism.statechart.transitions import NEEDS_ORACLE, Choice, Transition


class Rows(Generic[S]):
    """The rows of one state and trigger, in order.

    Raises:
        StatechartError: a row comes after an else, or the oracle has nothing to choose from.
    """

    def __init__(self, rows: Sequence[Transition[S]]) -> None:
        for row, after in pairwise(rows):
            if row.guard is None:
                raise StatechartError(f"{after.name}: comes after {row.name}, which has no guard and always wins")
        self.source, self.trigger = rows[0].source, rows[0].trigger
        self.targets = tuple(dict.fromkeys(row.target for row in rows if row.target is not None))
        if not self.targets:
            raise StatechartError(f"{rows[0].name}: the oracle has nothing to choose from; add rows with a target")
        self._all = rows
        self.otherwise = rows[-1] if rows[-1].guard is None else None
        asked = [row for row in rows if row.guard is not None]
        self.guarded = [[*group] for _, group in groupby(asked, lambda row: (id(row.guard), row.level))]
        """Groups of neighbours with the very same guard: one call of it decides on them all."""
        found = [expression_of(group[0].guard) for group in self.guarded]
        self.expressions = [each for each in found if each is not None]
        self.only_read = None not in found
        """True if all guards are expressions."""
        is_fixed = not self.guarded and not _is_ambiguous(rows)
        self.certain = self.otherwise if is_fixed else None
        """The row that is taken for every agent and context. Most lookups end here."""
        self._known: dict[int, Transition[S] | Choice[S] | None] = {}

    @cached_property
    def pattern(self) -> Callable[[Any, Any], int]:
        """The function of agent and context that says which guards hold, if they are expressions."""
        return pattern_of([group[0].guard for group in self.guarded])

    def outcome(self, pattern: int) -> Transition[S] | Choice[S] | None:
        """Return what `Statechart.select` returns where the guards hold that are bits of a number, group by group."""
        if pattern not in self._known:
            enabled: list[Transition[S]] = []
            for place, group in enumerate(self.guarded):
                if enabled and group[0].level > enabled[0].level:
                    break
                if pattern >> place & 1:
                    enabled.extend(group)
            if not enabled and self.otherwise is not None:
                enabled.append(self.otherwise)
            self._known[pattern] = self.settled(enabled)
        return self._known[pattern]

    @property
    def reads(self) -> frozenset[str]:
        return frozenset(field for each in self.expressions for field in each.fields)

    def settled(self, enabled: Sequence[Transition[S]], *, asks: bool = False) -> Transition[S] | Choice[S] | None:
        """Return the row that is taken, or a choice if a guard asked for one or it is ambiguous; None without a row."""
        if not enabled:
            return None
        return self.choice(enabled) if asks or _is_ambiguous(enabled) else enabled[0]

    def choice(self, enabled: Sequence[Transition[S]]) -> Choice[S]:
        """Return the choice between enabled rows, whose first option is the fallback."""
        # 1. One option a target, the first row that leads there. A row without a target stands for all targets that the
        #    rows of this state and trigger have. A row that is never to be asked about counts only as the first one.
        options: dict[S, Transition[S]] = {}
        for row in enabled:
            if row.oracle is False and row is not enabled[0]:
                continue
            for target in self.targets if row.target is None else (row.target,):
                if target not in options:
                    options[target] = row if row.target is not None else msgspec.structs.replace(row, target=target)
        # 2. The first option is the fallback: the row that `fire` would take, or the state in which least happens.
        first = enabled[0].target or most_passive(options)
        return Choice(self.trigger, self.source, (options.pop(first), *options.values()))

    def question_options(self) -> tuple[S, ...]:
        """Return the options that the rows meant for the oracle offer, in order; empty without such rows.

        A question that arises because other guards overlap has other options each time, which no chart knows before.
        """
        meant = [row for row in self._all if row.oracle or row.target is None]
        options = self.choice(meant).targets if meant else ()
        return options if len(options) > 1 else ()


def _is_ambiguous(enabled: Sequence[Transition[S]]) -> bool:
    # One row is ambiguous if it is meant for the oracle; several are if at least two of them may be asked about (a
    # conflict, UML 2.5.1), or if one is meant for it.
    is_meant = any(row.oracle or row.target is None for row in enabled)
    return is_meant or sum(row.oracle is not False for row in enabled) >= 2


class GuardErrors(msgspec.Struct):
    """The count of errors that one row's guard raised, and the first of them."""

    row: Transition[Any]
    count: int
    first: str


def mark_of(agent: Any) -> Any:
    """Return the object whose `running` says which row's guard or action runs: the agent itself, if it has it."""
    return agent if hasattr(agent, "enter") else SimpleNamespace(running=None)


def ask_guard(row: Transition[Any], agent: Any, context: Any, mark: Any) -> bool | str:
    """Return True, False or NEEDS_ORACLE, whatever the guard returns, or raise its error or that of a coroutine."""
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
    """Run the row's action, if it has one, and let the agent enter the target. An error leaves it where it was."""
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


Outcome = Literal["true", "false", "needs_oracle", "raised", "else", "not_asked", "not_needed"]
"""The outcome of one row: the guard's result; `raised`, which counts as false; `else`, of a row without a guard
that is taken because no other is enabled, and `not_needed` if one is; `not_asked`, because a row of an inner state is
enabled."""

ENABLED: Final = frozenset({"true", "needs_oracle", "else"})


def _asked(rows: Rows[S], agent: Any, context: Any) -> Iterator[tuple[list[Transition[S]], Outcome, str]]:
    """Yield each group of rows with the outcome of its guard, and the text of its error."""
    level, mark = None, mark_of(agent)
    for group in rows.guarded:
        # Rows are sorted from the inside out: inner rows hide outer ones (SCXML 3.13).
        if level is not None and group[0].level > level:
            yield group, "not_asked", ""
            continue
        try:
            result = ask_guard(group[0], agent, context, mark)
        except Exception as error:  # noqa: BLE001  # fail-safe: any error of a guard means "not enabled"
            yield group, "raised", f"{type(error).__name__}: {' '.join(str(error).split())}"
            continue
        if result and level is None:
            level = group[0].level
        yield group, "needs_oracle" if result == NEEDS_ORACLE else "true" if result else "false", ""


def _listed(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise StatechartError(f"a chart's {name} must be a list of them, got {shown(values)}") from None


class Movable(Protocol[S]):
    """An object that a chart moves: a `StatefulAgent`, or any other with a state.

    Of another object it sets `state`, and `ticks_in_state` if it has that; its guards and actions may move it.
    """

    state: S


class Statechart(Generic[S]):
    """An immutable chart.

    `transitions` are in order of priority; a new agent starts in `initial`.

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
            state: {trigger: Rows(rows) for trigger, rows in by_trigger.items()} for state, by_trigger in groups.items()
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
        """Return the rows of a state of the chart and a trigger; None if there are none."""
        try:
            return self.index[state][trigger]
        except KeyError:
            if state in self.index:
                return None
        raise StatechartError(f"the agent is in state {state!r}, which is not among the chart's states: {self._known}")

    def candidates(self, agent: Movable[S], trigger: str, context: Any = None) -> tuple[Transition[S], ...]:
        rows = self.rows(agent.state, trigger)
        return () if rows is None else tuple(self._enabled(rows, agent, context)[0])

    def fire(self, agent: Movable[S], trigger: str, context: Any = None, tick: int | None = None) -> S | None:
        """Return the state that the first enabled row led to, or None if no row was enabled. It never asks an oracle.

        Args:
            tick: of the transition; by default the agent's current tick.

        Raises:
            StatechartError: a guard or an action of this agent is running, or the action is not a plain one; the agent
                stays where it was, as after any error of the action.
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
        asks = False
        for group, outcome, error in _asked(rows, agent, context):
            if outcome == "raised":  # it is counted for each row: one agent's bad guard must not stop a population
                for row in group:
                    seen = next((seen for seen in self.guard_errors if seen.row is row), None)
                    if seen is None:
                        self.guard_errors.append(seen := GuardErrors(row, 0, error))
                    seen.count += 1
            elif outcome in ENABLED:
                enabled.extend(group)
                asks = asks or (outcome == NEEDS_ORACLE and any(row.oracle is not False for row in group))
            if enabled and (only_first or outcome == "not_asked"):
                break
        # A guard of a plain object can move it, and then none of these rows is of its state.
        if agent.state != rows.source:
            return [], False
        if not enabled and rows.otherwise is not None:
            enabled.append(rows.otherwise)
        return enabled, asks


class RowOutcome(msgspec.Struct, Generic[S], frozen=True):
    row: Transition[S]
    outcome: Outcome
    error: str = ""


def outcomes(chart: Statechart[S], agent: Movable[S], trigger: str, context: Any = None) -> tuple[RowOutcome[S], ...]:
    """Return the outcome of each row, in order, as `select` finds it. It counts no error of a guard."""
    rows = chart.rows(agent.state, trigger)
    if rows is None:
        return ()
    found = [RowOutcome(row, outcome, error) for group, outcome, error in _asked(rows, agent, context) for row in group]
    if rows.otherwise is not None:
        is_needed = not any(each.outcome in ENABLED for each in found)
        found.append(RowOutcome(rows.otherwise, "else" if is_needed else "not_needed"))
    return tuple(found)


def question_kinds(chart: Statechart[S]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return `{(state, trigger): options}` of the questions that rows meant for the oracle ask."""
    found = {}
    for state in chart.states:
        for trigger in chart.valid_triggers(state):
            if (rows := chart.rows(state, trigger)) is not None and (options := rows.question_options()):
                found[state.value, trigger] = tuple(option.value for option in options)
    return found

"""A linter of charts: faults that can be proved from the rows and their guards, without running anybody.

It reads the guards that are expressions. A guard that is another function could do anything, so nothing is said that
depends on it. A guard is decided for all values of its fields at once, by the search of `prism.expressions`: a fault is
shown by values, and its absence is a proof, but for the rounding of floats. Where the search decides nothing, the
finding is `undecided`.

| kind | the fault |
|---|---|
| unreachable | no way leads from the initial state to the state |
| trap | nobody who is in the state, or in one of a group of states, ever leaves it |
| shadowed | the row never wins: its guard is never true, or rows before it are enabled wherever it is |
| gap | for some values no row is enabled, so the trigger does nothing |
| overlap | for some values two rows are enabled, and neither list order nor the oracle was asked for |
| no_choice | the row asks the oracle, which has one option at most, or only ways into traps |
| never_set | the row never sets the attribute: its `when` is never true, or its value never is one |
| clipped | the value that the row sets is never within the attribute's range |
| always_set | the `when` of the attribute is always true, so it says nothing |
| delay | the delay of a state ends with a trigger that does nothing there |
| too_long | the end of the round cuts the delay of a state short; only who knows the rounds can find it |
| undecided | one of these is possible; the search has decided nothing |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum, unique
from itertools import combinations
from types import MappingProxyType
from typing import Any, Generic, NamedTuple

import msgspec

from prism.expressions import EFFORT_MAX, Expression, Search, expression_of, find
from prism.expressions.fields import reads_draw, reads_view
from prism.expressions.tree import Comparison, Node, Number, Ordering
from prism.statechart.behaviour import Change
from prism.statechart.statechart import Statechart
from prism.statechart.states import S
from prism.statechart.transitions import Transition


@unique
class FindingKind(StrEnum):
    """The fault that a finding is about, in the order in which findings of one trigger are listed."""

    UNREACHABLE = "unreachable"
    TRAP = "trap"
    DELAY = "delay"
    TOO_LONG = "too_long"
    SHADOWED = "shadowed"
    GAP = "gap"
    OVERLAP = "overlap"
    NO_CHOICE = "no_choice"
    NEVER_SET = "never_set"
    CLIPPED = "clipped"
    ALWAYS_SET = "always_set"
    UNDECIDED = "undecided"


Changes = Mapping[str, Mapping[tuple[str, str], tuple[Change, ...]]]
"""`{trigger: {(state before, state after): the attributes that such rows set}}`."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault of a chart.

    Args:
        kind: the fault.
        state: the state that it is about.
        trigger: the trigger that it is about; empty for a fault of the state.
        rows: the names of the rows that it is about.
        message: the fault in words.
        witness: `{field: value}` for which it shows; None if the fault needs no values.
    """

    kind: FindingKind
    state: str
    trigger: str = ""
    rows: tuple[str, ...] = ()
    message: str
    witness: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        """Return the finding in one line."""
        place = f"{self.state}, {self.trigger}" if self.trigger else self.state
        return f"{place}: {self.kind}: {self.message}"


def lint(
    chart: Statechart[S],
    *,
    assume: Sequence[Expression] = (),
    delays: Mapping[S, str] | None = None,
    changes: Changes = MappingProxyType({}),
    effort: int = EFFORT_MAX,
) -> list[Finding]:
    """Return the faults of a chart, in the order of its states, of their triggers, and of their rows.

    Args:
        chart: the chart.
        assume: what always holds between fields, such as `agent.low_threshold <= agent.high_threshold`: a fault that
            contradicts it is not reported.
        delays: `{state: the trigger that ends it}` of the states that end by themselves.
        changes: the attributes that rows set, as `Behaviour.changes` has them.
        effort: the limit on the work for each question, as for `find`.

    Raises:
        ModuleNotFoundError: z3 is not installed, with which guards are searched.
    """
    return _Linting(chart, assume, delays or {}, changes, effort).findings()


def rendered(findings: Sequence[Finding]) -> str:
    """Return findings as text, one line each, and nothing for none."""
    return "".join(f"{finding}\n" for finding in findings)


class _Group(Generic[S]):
    """The rows of one state and trigger, and what can be enabled with what.

    Args:
        rows: the rows in their order.
        assume: what always holds.
        effort: the limit of each search.
    """

    def __init__(self, rows: Sequence[Transition[S]], assume: Sequence[Expression], effort: int) -> None:
        self.rows = rows
        self._assume = assume
        self._effort = effort
        self.guarded = [row for row in rows if row.guard is not None]
        self.otherwise = next((row for row in rows if row.guard is None), None)
        self._guards = {id(row): found for row in rows if (found := expression_of(row.guard)) is not None}

    def knows(self, *rows: Transition[S]) -> bool:
        """Return whether the guards of all these rows are expressions."""
        return all(id(row) in self._guards for row in rows)

    def search(self, holds: Sequence[Transition[S]], fails: Sequence[Transition[S]] = ()) -> Search:
        """Search for values that enable all of `holds` and none of `fails`. Rows with other guards are left out."""
        return self.find(self.guards(holds), self.guards(fails))

    def guards(self, rows: Sequence[Transition[S]]) -> list[Expression]:
        """Return the guards of these rows; others than expressions are left out."""
        return [self._guards[id(row)] for row in rows if self.knows(row)]

    def find(self, true: Sequence[Expression], false: Sequence[Expression] = ()) -> Search:
        """Search for values with which all of `true` hold and none of `false`, among those that may be assumed."""
        names = tuple(dict.fromkeys(name for guard in (*true, *false) for name in guard.fields))
        found = find([*true, *self._assumed(names)], false, effort=self._effort)
        if found.values is None:
            return found
        return Search(values={name: found.values[name] for name in names}, is_decided=True)

    def _assumed(self, names: Sequence[str]) -> list[Expression]:
        """Return what always holds of these fields, and of fields that they are related to."""
        related, kept, left = set(names), list[Expression](), list(self._assume)
        while near := [each for each in left if related.intersection(each.fields)]:
            kept += near
            left = [each for each in left if each not in near]
            related.update(name for each in near for name in each.fields)
        return kept

    def before(self, row: Transition[S]) -> list[Transition[S]]:
        """Return the guarded rows before a row, of its own level."""
        place = next(place for place, each in enumerate(self.rows) if each is row)
        return [each for each in self.rows[:place] if each.guard is not None and each.level == row.level]

    def inside(self, row: Transition[S]) -> list[Transition[S]]:
        """Return the guarded rows of inner states, which come before a row of an outer state."""
        return [each for each in self.guarded if each.level < row.level]

    def is_dead(self, row: Transition[S]) -> bool:
        """Return whether a row is certainly never enabled."""
        if row.guard is None:
            return self.search((), self.guarded).is_impossible and bool(self.guarded)
        return self.knows(row) and self.search([row]).is_impossible

    @property
    def targets(self) -> tuple[S, ...]:
        """The states that a row without a target can lead to."""
        return tuple(dict.fromkeys(row.target for row in self.rows if row.target is not None))

    def options(self, row: Transition[S]) -> tuple[S, ...]:
        """Return the states between which the oracle may have to choose where this row asks it."""
        found: dict[S, None] = dict.fromkeys(self.targets if row.target is None else (row.target,))
        for other in self.guarded if row.guard is not None and row.target is not None else ():
            if other is not row and self._may_be_options(row, other):
                found.update(dict.fromkeys(self.targets if other.target is None else (other.target,)))
        return tuple(found)

    def _may_be_options(self, row: Transition[S], other: Transition[S]) -> bool:
        if row.level != other.level:
            return False
        if other.oracle is not False:
            return not self.search([row, other], self.inside(row)).is_impossible
        # A row that never asks is an option only if it comes first.
        is_before = any(each is other for each in self.before(row))
        return is_before and not self.search([row, other], [*self.inside(row), *self.before(other)]).is_impossible


class _Linting(Generic[S]):
    """The linting of one chart."""

    def __init__(
        self, chart: Statechart[S], assume: Sequence[Expression], delays: Mapping[S, str], changes: Changes, effort: int
    ) -> None:
        self._chart = chart
        self._delays = delays
        self._changes = changes
        self._effort = effort
        self._states = [state for state in type(chart.initial) if state in chart.states]
        self._groups: dict[S, dict[str, _Group[S]]] = {
            state: {
                trigger: _Group(
                    [row for row in chart.transitions if (row.source, row.trigger) == (state, trigger)], assume, effort
                )
                for trigger in chart.valid_triggers(state)
            }
            for state in self._states
        }
        self._ways = {state: self._ways_out(state) for state in self._states}
        self._reach = {state: self._reached(state) for state in self._states}
        self._trapped = [states for state in self._states if (states := self._trap(state))]

    def findings(self) -> list[Finding]:
        found: list[Finding] = []
        inherited: dict[tuple[str, str, str], list[S]] = {}
        for state in self._states:
            found += self._of_state(state)
            for group in self._groups[state].values():
                is_inherited = all(row.level for row in group.rows)
                for finding in self._of_group(group):
                    key = (finding.kind, finding.trigger, finding.message)
                    if not is_inherited or key not in inherited:
                        found.append(finding)
                    if is_inherited:
                        inherited.setdefault(key, []).append(state)
        return [_with_states(finding, inherited) for finding in found]

    def _of_group(self, group: _Group[S]) -> list[Finding]:
        found = [*self._shadowed(group), *self._gaps(group), *self._overlaps(group), *self._choices(group)]
        found += self._sets(group)
        order = list(FindingKind)
        return sorted(found, key=lambda finding: order.index(finding.kind))

    # States

    def _ways_out(self, state: S) -> list[S]:
        """Return the states to which a row may lead from a state: all but those of rows that are never enabled."""
        found: dict[S, None] = {}
        for group in self._groups[state].values():
            for row in group.rows:
                if not group.is_dead(row):
                    found.update(dict.fromkeys(group.targets if row.target is None else (row.target,)))
        return list(found)

    def _reached(self, state: S) -> list[S]:
        """Return the states that can be entered from a state on, sooner or later."""
        found: dict[S, None] = {}
        waiting = [state]
        while waiting:
            for target in self._ways[waiting.pop()]:
                if target not in found:
                    found[target] = None
                    waiting.append(target)
        return list(found)

    def _trap(self, state: S) -> list[S]:
        """Return the states that a state is trapped in, if it is the first of them and can be reached."""
        chart, states = self._chart, [each for each in self._states if each in self._reach[state]]
        if state != chart.initial and state not in self._reach[chart.initial]:
            return []
        group = states or [state]
        if group[0] != state or any(state not in self._reach[each] for each in states):
            return []
        is_whole = chart.initial in group and (len(group) > 1 or len(self._states) == 1)
        return [] if is_whole else group

    def _of_state(self, state: S) -> Iterator[Finding]:
        if state != self._chart.initial and state not in self._reach[self._chart.initial]:
            message = f"no row leads from {self._chart.initial} to {state}"
            yield Finding(kind=FindingKind.UNREACHABLE, state=state, message=message)
        for group in self._trapped:
            if group[0] == state:
                alone = f"no row leads from {state} to another state"
                together = f"no row leads out of {', '.join(group)}"
                message = alone if len(group) == 1 else together
                yield Finding(kind=FindingKind.TRAP, state=state, message=message)
        trigger = self._delays.get(state)
        if trigger is None:
            return
        rows = self._groups[state].get(trigger)
        if rows is None or all(rows.is_dead(row) for row in rows.rows):
            told = "has no row" if rows is None else "has no row that can be enabled"
            message = f"the delay ends with {trigger}, which {told} in {state}"
            yield Finding(kind=FindingKind.DELAY, state=state, trigger=trigger, message=message)

    # Rows

    def _shadowed(self, group: _Group[S]) -> Iterator[Finding]:
        for row in group.rows:
            if row.guard is not None and not group.knows(row):
                continue
            if row.guard is not None and group.is_dead(row):
                yield _finding(FindingKind.SHADOWED, [row], f"the guard of {_told(row)} is never true")
                continue
            before = [each for each in group.before(row) if group.knows(each)]
            if not before or (row.guard is not None and _is_marked(row)):
                continue
            found = group.search([row] if row.guard is not None else [], before)
            if found.is_impossible:
                message = f"{_told(row)} never wins: wherever it is enabled, a row before it is"
                yield _finding(FindingKind.SHADOWED, [row], message)
            elif not found.is_decided:
                yield self._undecided([row], f"{_told(row)} ever wins")

    def _gaps(self, group: _Group[S]) -> Iterator[Finding]:
        if group.otherwise is not None or not group.knows(*group.rows):
            return
        found = group.search((), group.guarded)
        if found.values is not None:
            message = f"no row is enabled{_where(found.values)}"
            yield _finding(FindingKind.GAP, group.rows, message, found.values)
        elif not found.is_decided:
            yield self._undecided(group.rows, "a row is enabled for all values")

    def _overlaps(self, group: _Group[S]) -> Iterator[Finding]:
        for first, second in combinations(group.guarded, 2):
            if not group.knows(first, second) or _may_overlap(first, second):
                continue
            found = group.search([first, second], group.inside(first))
            told = f"{_told(first)} and {_told(second)}"
            if found.values is not None:
                message = f"{told} are both enabled{_where(found.values)}"
                yield _finding(FindingKind.OVERLAP, [first, second], message, found.values)
            elif not found.is_decided:
                yield self._undecided([first, second], f"{told} are ever both enabled")

    def _choices(self, group: _Group[S]) -> Iterator[Finding]:
        trapped = {state for states in self._trapped for state in states}
        for row in group.rows:
            if not _is_marked(row) or group.is_dead(row):
                continue
            options = group.options(row)
            if len(options) == 1:
                message = f"{_told(row)} asks the oracle, which can only choose {options[0]}"
                yield _finding(FindingKind.NO_CHOICE, [row], message)
            elif trapped.issuperset(options) and row.source not in trapped:
                message = f"{_told(row)} asks the oracle, and no state that it can choose is ever left again"
                yield _finding(FindingKind.NO_CHOICE, [row], message)

    # Attributes

    def _sets(self, group: _Group[S]) -> Iterator[Finding]:
        by_ends = self._changes.get(group.rows[0].trigger, {})
        for target in dict.fromkeys(row.target for row in group.rows if row.target is not None):
            rows = [row for row in group.rows if row.target == target and not group.is_dead(row)]
            for change in by_ends.get((group.rows[0].source, target), ()) if rows else ():
                yield from self._of_change(change, rows, _Taken(group, rows, change))

    def _of_change(self, change: Change, rows: Sequence[Transition[S]], taken: _Taken[S]) -> Iterator[Finding]:
        when = [] if change.when is None else [change.when]
        is_met = taken.search(when)
        if when and is_met.is_impossible:
            message = f"{change.name} is never set: its condition is never true ({change.when})"
            yield _finding(FindingKind.NEVER_SET, rows, message)
            return
        if when and not is_met.is_decided:
            yield self._undecided(rows, f"the condition of {change.name} is ever true")
        if when and not (reads_view(when[0].fields) and not reads_view(change.to.fields)):
            # A condition that reads a post is false where none is in view, so it is not redundant beside a value that
            # reads no post.
            is_missed = taken.search([], when)
            if is_missed.is_impossible:
                message = f"the condition of {change.name} is always true, so it can go ({change.when})"
                yield _finding(FindingKind.ALWAYS_SET, rows, message)
            elif not is_missed.is_decided:
                yield self._undecided(rows, f"the condition of {change.name} is always true")
        if change.field.is_number:
            yield from self._of_value(change, rows, taken, when)

    def _of_value(
        self, change: Change, rows: Sequence[Transition[S]], taken: _Taken[S], when: Sequence[Expression]
    ) -> Iterator[Finding]:
        low, high = (Number(float(bound)) for bound in change.field.bounds)
        inside = taken.search([*when, _compared(low, "<=", change.to.root, "<=", high)])
        if not inside.is_decided:
            yield self._undecided(rows, f"{change.to} is ever within the range of {change.name}")
        if not inside.is_impossible:
            return
        is_below = taken.search([*when, _compared(change.to.root, "<", low)])
        is_above = taken.search([*when, _compared(change.to.root, ">", high)])
        if is_below.is_impossible and is_above.is_impossible:
            message = f"{change.name} is never set: {change.to} never has a value"
            yield _finding(FindingKind.NEVER_SET, rows, message)
            return
        side = f"out of {low.value:g} to {high.value:g}"
        if is_above.is_impossible:
            side = f"below {low.value:g}"
        elif is_below.is_impossible:
            side = f"above {high.value:g}"
        message = f"{change.name} is always clipped to its range: {change.to} is always {side}"
        yield _finding(FindingKind.CLIPPED, rows, message)

    def _undecided(self, rows: Sequence[Transition[S]], question: str) -> Finding:
        message = f"not decided: whether {question}"
        return _finding(FindingKind.UNDECIDED, rows, message)


class _Case(NamedTuple):
    """The conditions under which a row is taken: those that hold, and those that do not."""

    holds: Sequence[Expression]
    fails: Sequence[Expression]


class _Taken(Generic[S]):
    """The values with which one of several rows is taken, for what the rows set.

    Nothing is assumed where the oracle may choose the row: its guard may no longer hold when the answer comes. Nor is
    anything assumed if its guard and the change both read random numbers, which differ.

    Args:
        rows: the rows that set the attribute, of which at least one can be enabled.
    """

    def __init__(self, group: _Group[S], rows: Sequence[Transition[S]], change: Change) -> None:
        self._group = group
        self._cases = [self._case(row, change) for row in rows]

    def _case(self, row: Transition[S], change: Change) -> _Case:
        group = self._group
        if any(_is_marked(each) or self._may_both_hold(row, each) for each in group.rows):
            return _Case((), ())
        # A guard that reads a post is false where none is in view, whatever its fields may be.
        has_view = reads_view(change.fields)
        fails = [guard for guard in group.guards(group.guarded) if has_view or not reads_view(guard.fields)]
        case = _Case((), fails) if row.guard is None else _Case(group.guards([row]), ())
        is_random = any(reads_draw(guard.fields) for guard in (*case.holds, *case.fails)) and reads_draw(change.fields)
        return _Case((), ()) if is_random else case

    def _may_both_hold(self, row: Transition[S], other: Transition[S]) -> bool:
        """Return whether the oracle may be asked because two rows hold and neither settles the choice."""
        if row is other or row.guard is None or other.guard is None or _may_overlap(row, other):
            return False
        return not self._group.search([row, other]).is_impossible

    def search(self, holds: Sequence[Expression], fails: Sequence[Expression] = ()) -> Search:
        """Search for values with which a row is taken, all of `holds` are true and all of `fails` false."""
        found = [self._group.find([*case.holds, *holds], [*case.fails, *fails]) for case in self._cases]
        undecided = next((each for each in found if not each.is_decided), found[0])
        return next((each for each in found if each.values is not None), undecided)


def _compared(first: Node, *rest: Node | Ordering) -> Expression:
    """Return a chain of comparisons: `_compared(low, "<=", value)`."""
    root = Comparison((first, *rest[1::2]), rest[::2])  # type: ignore[arg-type]  # signs and operands in turn
    return Expression(text="", root=root, kind="bool")


def _finding(
    kind: FindingKind, rows: Sequence[Transition[Any]], message: str, witness: Mapping[str, Any] | None = None
) -> Finding:
    names = tuple(row.name for row in rows)
    first = rows[0]
    return Finding(kind=kind, state=first.source, trigger=first.trigger, rows=names, message=message, witness=witness)


def _with_states(finding: Finding, inherited: Mapping[tuple[str, str, str], Sequence[str]]) -> Finding:
    """Return a finding about rows of an outer state, which is the same in several inner states, with their names."""
    first, *others = inherited.get((finding.kind, finding.trigger, finding.message), [finding.state])
    if first != finding.state or not others:
        return finding
    return msgspec.structs.replace(finding, message=f"{finding.message} (also in {', '.join(others)})")


def _is_marked(row: Transition[Any]) -> bool:
    """Return whether a row is meant for the oracle."""
    return row.oracle is True or row.target is None


def _may_overlap(first: Transition[Any], second: Transition[Any]) -> bool:
    """Return whether it is no fault if both rows are enabled.

    Both are meant for the oracle; or one of them never asks, so list order decides; or they do the same; or one is of
    an outer state, and comes after the other.
    """
    is_same = first.target == second.target and first.action is second.action
    is_meant = _is_marked(first) and _is_marked(second)
    return is_meant or is_same or first.oracle is False or second.oracle is False or first.level != second.level


def _told(row: Transition[Any]) -> str:
    """Return a row as a message names it: by its label, or by its target and guard."""
    if row.label:
        return f"'{row.label}'"
    guard = expression_of(row.guard)
    when = "the else" if row.guard is None else f"where {guard}" if guard is not None else "with a function as guard"
    return f"the row to {row.target or 'what the oracle decides'} ({when})"


def _where(values: Mapping[str, Any]) -> str:
    told = ", ".join(f"{name} = {_value(value)}" for name, value in values.items())
    return f" where {told}" if told else ""


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)

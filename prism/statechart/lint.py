"""A linter of charts: faults that the table of rows shows, and a sample of values, without running anybody.

A guard that is an expression is tried with values of its fields: the numbers and texts that the guards name, those next
to them, the ends of ranges, and others. A guard that is another function could do anything, so nothing is said that
depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum, unique
from itertools import combinations
from math import isfinite
from typing import Any, Final, Generic

import msgspec
import numpy as np

from prism.expressions import Expression, Field, compiled, expression_of
from prism.expressions.tree import Member, Number, Read, Text, walk
from prism.statechart.statechart import Statechart
from prism.statechart.states import S
from prism.statechart.transitions import Transition

SAMPLES: Final = 4_000
"""The most samples of the fields of one state's rows for one trigger."""
_SEED: Final = 20_040
_FAR: Final = 1_000.0
"""Numbers without a bound are drawn up to so far from 0, and at the numbers that the guards name."""

Values = dict[str, Any]


@unique
class FindingKind(StrEnum):
    UNREACHABLE = "unreachable"
    TRAP = "trap"
    DELAY = "delay"
    TOO_LONG = "too_long"
    SHADOWED = "shadowed"
    GAP = "gap"
    OVERLAP = "overlap"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault of a chart; `witness`: `{field: value}` for which it shows, None if it needs no values."""

    kind: FindingKind
    state: str
    trigger: str = ""
    rows: tuple[str, ...] = ()
    message: str
    witness: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        place = f"{self.state}, {self.trigger}" if self.trigger else self.state
        return f"{place}: {self.kind}: {self.message}"


def lint(
    chart: Statechart[S], *, assume: Sequence[Expression] = (), delays: Mapping[S, str] | None = None
) -> list[Finding]:
    """Return the faults of a chart, in the order of its states, of their triggers, and of their rows.

    Args:
        assume: what holds between fields, such as `agent.low_threshold <= agent.high_threshold`, in all samples.
        delays: `{state: the trigger that ends it}` of the states that end by themselves.
    """
    states = [state for state in type(chart.initial) if state in chart.states]
    groups: dict[S, dict[str, _Group[S]]] = {}
    for state in states:
        rows: dict[str, list[Transition[S]]] = {trigger: [] for trigger in chart.valid_triggers(state)}
        for row in chart.transitions:
            if row.source == state:
                rows[row.trigger].append(row)
        groups[state] = {trigger: _Group(those, assume) for trigger, those in rows.items()}
    found: list[Finding] = []
    inherited: dict[tuple[str, str, str], list[str]] = {}
    ways = {state: {target for group in groups[state].values() for target in group.ways} for state in states}
    for state in states:
        found += _of_state(chart.initial, state, ways, (delays or {}).get(state), groups[state])
        for group in groups[state].values():
            # A fault of an outer state's rows is told once, with the names of all inner states that have them.
            is_inherited = all(row.level for row in group.rows)
            for finding in group.findings():
                key = (finding.kind, finding.trigger, finding.message)
                if not is_inherited or key not in inherited:
                    found.append(finding)
                if is_inherited:
                    inherited.setdefault(key, []).append(state)
    for place, finding in enumerate(found):
        first, *others = inherited.get((finding.kind, finding.trigger, finding.message), [finding.state])
        if others and first == finding.state:
            message = f"{finding.message} (also in {', '.join(others)})"
            found[place] = msgspec.structs.replace(finding, message=message)
    return found


def rendered(findings: Sequence[Finding]) -> str:
    return "".join(f"{finding}\n" for finding in findings)


def _of_state(
    initial: S, state: S, ways: Mapping[S, set[S]], delay: str | None, groups: Mapping[str, _Group[S]]
) -> Iterator[Finding]:
    if state != initial and state not in reached(initial, ways):
        message = f"no row leads from {initial} to {state}"
        yield Finding(kind=FindingKind.UNREACHABLE, state=state, message=message)
    else:
        # The states that can still be reached are a trap if each of them leads back here, and so nowhere else. A trap
        # is told of its first state. No chart is a trap as a whole.
        onward = [each for each in ways if each in reached(state, ways)] or [state]
        is_closed = all(each == state or state in reached(each, ways) for each in onward)
        is_whole = initial in onward and (len(onward) > 1 or len(ways) == 1)
        if is_closed and not is_whole and onward[0] == state:
            alone = f"no row leads from {state} to another state"
            message = alone if len(onward) == 1 else f"no row leads out of {', '.join(onward)}"
            yield Finding(kind=FindingKind.TRAP, state=state, message=message)
    if delay is not None and (delay not in groups or not groups[delay].ways):
        told = "has no row that can be enabled" if delay in groups else "has no row"
        message = f"the delay ends with {delay}, which {told} in {state}"
        yield Finding(kind=FindingKind.DELAY, state=state, trigger=delay, message=message)


def reached(state: S, ways: Mapping[S, set[S]]) -> set[S]:
    """Return the states to which ways lead from a state; itself only if one leads back."""
    found: set[S] = set()
    waiting = [state]
    while waiting:
        new = ways[waiting.pop()] - found
        found |= new
        waiting += new
    return found


class _Group(Generic[S]):
    """The rows of one state and trigger, tried with samples of the fields that their guards read."""

    def __init__(self, rows: Sequence[Transition[S]], assume: Sequence[Expression]) -> None:
        self.rows = rows
        guards = [expression_of(row.guard) for row in rows]
        self._is_known = all(row.guard is None or guard is not None for row, guard in zip(rows, guards, strict=True))
        known = [guard for guard in guards if guard is not None]
        self._names = tuple(dict.fromkeys(name for guard in known for name in guard.fields))
        functions = [None if guard is None else _function(guard) for guard in guards]
        self._patterns: dict[tuple[bool, ...], Values] = {}
        """`{for each row whether its guard holds: the first values for which it is so}`. The guards of others than
        expressions count as false."""
        for values in _samples(known, assume) if known else ({},):
            pattern = tuple(function is not None and function(values) is True for function in functions)
            self._patterns.setdefault(pattern, values)
        self._never = [
            guard is not None and not any(pattern[place] for pattern in self._patterns)
            for place, guard in enumerate(guards)
        ]
        self._is_full = self._is_known and bool(known) and all(map(any, self._patterns))
        """True if a row with a guard is enabled for all samples: then the else never is."""

    @property
    def ways(self) -> list[S]:
        targets = [row.target for row in self.rows if row.target is not None]
        found: list[S] = []
        for row, never in zip(self.rows, self._never, strict=True):
            if not (never or (row.guard is None and self._is_full)):
                found += targets if row.target is None else [row.target]
        return found

    def findings(self) -> Iterator[Finding]:
        # 1. Rows that never win. One that is meant for the oracle is an option also behind others.
        for place, row in enumerate(self.rows):
            if self._never[place]:
                message = f"the guard of {_told(row)} is true for no sample of values"
                yield self._finding(FindingKind.SHADOWED, [row], message)
            elif self._is_known and place and not (row.guard is not None and _is_marked(row)):
                level = [other for other in range(place) if self.rows[other].level == row.level]
                holds = [each for each in self._patterns if each[place] or row.guard is None]
                if holds and all(any(each[other] for other in level) for each in holds):
                    message = f"{_told(row)} never wins: wherever it is enabled, a row before it is"
                    yield self._finding(FindingKind.SHADOWED, [row], message)
        # 2. Values for which nothing happens.
        has_else = any(row.guard is None for row in self.rows)
        for pattern, values in self._patterns.items():
            if self._is_known and not has_else and not any(pattern):
                yield self._finding(FindingKind.GAP, self.rows, f"no row is enabled{self._where(values)}", values)
        # 3. Values for which two rows are enabled. Rows of inner states hide those of outer ones.
        for (one, first), (other, second) in combinations(enumerate(self.rows), 2):
            inner = [place for place, row in enumerate(self.rows) if row.level < first.level]
            for pattern, values in self._patterns.items():
                if pattern[one] and pattern[other] and not any(pattern[place] for place in inner):
                    # It is no fault if both are meant for the oracle or do the same; if one never asks, so that the
                    # order of the list decides; or if one is of an outer state, whose rows come after inner ones.
                    is_same = first.target == second.target and first.action is second.action
                    is_meant = _is_marked(first) and _is_marked(second)
                    decides = first.oracle is False or second.oracle is False or first.level != second.level
                    if not (is_meant or is_same or decides):
                        message = f"{_told(first)} and {_told(second)} are both enabled{self._where(values)}"
                        yield self._finding(FindingKind.OVERLAP, [first, second], message, values)
                    break

    def _finding(
        self, kind: FindingKind, rows: Sequence[Transition[S]], message: str, values: Values | None = None
    ) -> Finding:
        first, names = rows[0], tuple(row.name for row in rows)
        witness = None if values is None else {name: values[name] for name in self._names}
        return Finding(
            kind=kind, state=first.source, trigger=first.trigger, rows=names, message=message, witness=witness
        )

    def _where(self, values: Values) -> str:
        told = ", ".join(f"{name} = {_value(values[name])}" for name in self._names)
        return f" where {told}" if told else ""


def _function(expression: Expression) -> Callable[[Values], Any]:
    def reader(name: str) -> Callable[[Any, Any], Any]:
        return lambda values, _: values[name]

    guard = compiled(expression, {name: reader(name) for name in expression.fields})
    return lambda values: guard(values, None)


def _samples(guards: Sequence[Expression], assume: Sequence[Expression]) -> Iterator[Values]:
    """Yield values of all fields that the guards read, and of those that are related to them by `assume`."""
    # 1. The fields, the relations between them, and the numbers and texts that the guards name.
    nodes = [node for guard in guards for node in walk(guard.root)]
    fields = {node.field.name: node.field for node in nodes if isinstance(node, Read)}
    related, left = list[Expression](), list(assume)
    while near := [each for each in left if fields.keys() & {*each.fields}]:
        related += near
        left = [each for each in left if each not in near]
        fields |= {node.field.name: node.field for each in near for node in walk(each.root) if isinstance(node, Read)}
    named = sorted({node.value for node in nodes if isinstance(node, Number)})
    members = (node.among for node in nodes if isinstance(node, Member) and isinstance(node.among, tuple))
    texts = sorted({node.value for node in nodes if isinstance(node, Text)}.union(*members))
    # 2. The values of one field in all samples: its own draws, so that another field changes none of them.
    columns = {
        name: _column(field, named, texts, np.random.default_rng([_SEED, place]))
        for place, (name, field) in enumerate(sorted(fields.items()))
    }
    if not columns:
        yield {}
    # 3. Samples that contradict a relation are left out.
    relations = [_function(each) for each in related]
    for sample in zip(*columns.values(), strict=True):
        values = dict(zip(columns, sample, strict=True))
        if all(relation(values) for relation in relations):
            yield values


def _column(field: Field, named: Sequence[float], texts: Sequence[str], rng: np.random.Generator) -> list[Any]:
    """Return so many values of a field: half of them at or next to what the guards name, the others anywhere."""
    if field.kind == "bool":
        return list((rng.random(SAMPLES) < 0.5).tolist())
    if not field.is_number:
        known = list(field.values or (*texts, *(f"another {number}" for number in (1, 2, 3))))
        if field.kind == "text":
            return [known[place] for place in rng.integers(len(known), size=SAMPLES)]
        shares = rng.random(SAMPLES)  # few members in some samples, nearly all in others
        has = rng.random((SAMPLES, len(known))) < shares[:, None]
        return [tuple(text for text, held in zip(known, row, strict=True) if held) for row in has.tolist()]
    ends = [end for end in (field.low, field.high) if isfinite(end)]
    far = min(max([_FAR, *(2 * abs(number) for number in (*named, *ends))]), 1e300)
    low, high = max(field.bounds[0], -far), min(field.bounds[1], far)
    near = [low, high, *(number + step for number in named for step in (-1, -1e-3, 0, 1e-3, 1))]
    inside = rng.uniform(low, high, SAMPLES)
    picked = np.where(rng.random(SAMPLES) < 0.5, rng.choice(near, SAMPLES), inside)
    kept = np.clip(np.round(picked) if field.kind == "int" else picked, low, high)
    return [int(value) for value in kept] if field.kind == "int" else list(kept.tolist())


def _is_marked(row: Transition[Any]) -> bool:
    return row.oracle is True or row.target is None


def _told(row: Transition[Any]) -> str:
    if row.label:
        return f"'{row.label}'"
    guard = expression_of(row.guard)
    when = "the else" if row.guard is None else f"where {guard}" if guard is not None else "with a function as guard"
    return f"the row to {row.target or 'what the oracle decides'} ({when})"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return f'"{value}"' if isinstance(value, str) else f"{value:.4g}" if isinstance(value, float) else repr(value)

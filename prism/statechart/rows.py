"""The rows of one state and trigger: checked, grouped, and settled once it is known which guards hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, Generic

import msgspec

from prism.errors import StatechartError
from prism.expressions import Expression, expression_of, pattern_of
from prism.statechart.states import S, most_passive
from prism.statechart.transitions import Choice, Transition


class Rows(msgspec.Struct, Generic[S], frozen=True, dict=True):
    """The rows of one state and trigger, in order.

    Args:
        guarded: groups of neighbours with the very same guard, because one call of it decides on them all.
        otherwise: the else.
        targets: all targets, each once.
        expressions: the guards that are expressions.
        only_read: True if all guards are expressions.
        certain: the row that is taken for every agent and context. Most lookups end here.
        known: `{the guards that hold, as the bits of a number: the outcome}`, as far as they were met.
    """

    source: S
    trigger: str
    guarded: tuple[tuple[Transition[S], ...], ...]
    otherwise: Transition[S] | None
    targets: tuple[S, ...]
    expressions: tuple[Expression, ...]
    only_read: bool
    certain: Transition[S] | None
    known: dict[int, Transition[S] | Choice[S] | None]

    @cached_property
    def pattern(self) -> Callable[[Any, Any], int]:
        """The function of agent and context that says which guards hold, if they are expressions."""
        return pattern_of([group[0].guard for group in self.guarded])

    def outcome(self, pattern: int) -> Transition[S] | Choice[S] | None:
        """Return what `selected` returns for a pattern of guards, looked up if it was met before."""
        if pattern not in self.known:
            self.known[pattern] = self.selected([bool(pattern >> place & 1) for place in range(len(self.guarded))])
        return self.known[pattern]

    @property
    def reads(self) -> frozenset[str]:
        """The fields that the guards read."""
        return frozenset(field for each in self.expressions for field in each.fields)

    def selected(self, holds: Sequence[bool]) -> Transition[S] | Choice[S] | None:
        """Return what `Statechart.select` returns where it is known which guards hold, group by group."""
        enabled: list[Transition[S]] = []
        for group, is_true in zip(self.guarded, holds, strict=True):
            if enabled and group[0].level > enabled[0].level:
                break
            if is_true:
                enabled.extend(group)
        if not enabled and self.otherwise is not None:
            enabled.append(self.otherwise)
        return self.settled(enabled)

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

        A question that arises only because the guards of other rows overlap has options of its own each time, which no
        chart knows beforehand.
        """
        otherwise = () if self.otherwise is None else (self.otherwise,)
        listed = (*(row for group in self.guarded for row in group), *otherwise)
        meant = [row for row in listed if row.oracle is True or (row.target is None and row.oracle is not False)]
        options = self.choice(meant).targets if meant else ()
        return options if len(options) > 1 else ()


def rows_of(rows: Sequence[Transition[S]]) -> Rows[S]:
    """Return the rows of one state and trigger, given in order.

    Raises:
        StatechartError: a row comes after an else, or the oracle has nothing to choose from.
    """
    # 1. An else before other rows would always win. A row for the oracle alone needs targets from other rows.
    for row, after in pairwise(rows):
        if row.guard is None:
            raise StatechartError(f"{after.name}: comes after {row.name}, which has no guard and always wins")
    targets = tuple(dict.fromkeys(row.target for row in rows if row.target is not None))
    for row in rows:
        if row.target is None and not targets:
            raise StatechartError(f"{row.name}: the oracle has nothing to choose from; add rows with a target")
    # 2. Neighbours with the same guard are one group: it is called once, so it cannot answer them differently.
    asked = [row for row in rows if row.guard is not None]
    guarded = tuple(tuple(group) for _, group in groupby(asked, lambda row: (id(row.guard), row.level)))
    otherwise = rows[-1] if rows[-1].guard is None else None
    found = [expression_of(group[0].guard) for group in guarded]
    return Rows(
        source=rows[0].source,
        trigger=rows[0].trigger,
        guarded=guarded,
        otherwise=otherwise,
        targets=targets,
        expressions=tuple(each for each in found if each is not None),
        only_read=None not in found,
        certain=None if guarded or otherwise is None or _is_ambiguous((otherwise,)) else otherwise,
        known={},
    )


def _is_ambiguous(enabled: Sequence[Transition[S]]) -> bool:
    # One row is ambiguous if it is meant for the oracle; several are if at least two of them may be asked about (a
    # conflict, UML 2.5.1), or if one is meant for it.
    is_meant = any(row.oracle or row.target is None for row in enabled)
    return is_meant or sum(row.oracle is not False for row in enabled) >= 2

"""The rows of a chart with how often a run has taken them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from actors.record.course import Step
from prism.drawing import outline
from prism.drawing.outline import inner_states
from prism.statechart import Behaviour, RowDefinition, Statechart


class CoveredRow(NamedTuple):
    """A row of a chart, as its author wrote it.

    Args:
        name: the row in one line.
        times: how often it was taken.
        sources: the innermost states in which it holds.
        row: the row.
        is_shared: True if the count includes other rows that lead the same way.
    """

    name: str
    times: int
    sources: tuple[str, ...]
    row: RowDefinition
    is_shared: bool = False


def covered_rows(behaviour: Behaviour[Any] | Statechart[Any], steps: Mapping[Step, int]) -> list[CoveredRow]:
    """Return every row in the order of the chart.

    A journal names the states before and after, the trigger, and whether a choice was decided. Rows that agree in all
    of these share their count.
    """
    definition = outline(behaviour).definition
    leaves = inner_states(definition)
    entered = {path[-1].name: path[-1].entered for path in definition.walk()}
    return [
        CoveredRow(
            _name(path[-1].name, row),
            _times(leaves[path[-1].name], entered.get(row.target, ""), _is_decided(row, path[-1].rows), row, steps),
            leaves[path[-1].name],
            row,
            is_shared=_is_shared(row, path[-1].rows),
        )
        for path in definition.walk()
        for row in path[-1].rows
    ]


def _is_decided(row: RowDefinition, rows: Sequence[RowDefinition]) -> bool | None:
    """Return whether the row is taken by decisions alone, or by rules alone; None if by both.

    The journal separates the two kinds only if there is a row of each for the same trigger and target. A row for the
    oracle that is the only option counts as taken by a rule, because nothing is left to ask.
    """
    rivals = [each for each in rows if (each.trigger, each.target) == (row.trigger, row.target)]
    return bool(row.oracle) if len({bool(each.oracle) for each in rivals}) > 1 else None


def _is_shared(row: RowDefinition, rows: Sequence[RowDefinition]) -> bool:
    """Return whether the journal cannot tell the row from another of its state."""
    alike = [
        each
        for each in rows
        if (each.trigger, each.target, _is_decided(each, rows)) == (row.trigger, row.target, _is_decided(row, rows))
    ]
    return len(alike) > 1


def _times(
    sources: tuple[str, ...], target: str, is_decided: bool | None, row: RowDefinition, steps: Mapping[Step, int]
) -> int:
    return sum(
        times
        for step, times in steps.items()
        if step.before in sources
        and step.trigger == row.trigger
        and step.after == (target or step.after)
        and (is_decided is None or step.is_decided == is_decided)
    )


def _name(source: str, row: RowDefinition) -> str:
    label = f"  ({row.label})" if row.label else ""
    when = f" when {row.when}" if row.when else ""
    return f"{source} --{row.trigger}--> {row.target or 'as the oracle decides'}{when}{label}"

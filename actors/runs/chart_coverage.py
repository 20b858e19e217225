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
        times: how often it was taken.
        sources: the innermost states in which it holds.
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
    definition, found = outline(behaviour).definition, list[CoveredRow]()
    leaves = inner_states(definition)
    entered = {path[-1].name: path[-1].entered for path in definition.walk()}
    for path in definition.walk():
        state, rows = path[-1].name, path[-1].rows
        for row in rows:
            target, is_decided = entered.get(row.target, ""), _is_decided(row, rows)
            alike = [each for each in rows if (each.trigger, each.target) == (row.trigger, row.target)]
            when, label = f" when {row.when}" if row.when else "", f"  ({row.label})" if row.label else ""
            times = sum(
                count
                for step, count in steps.items()
                if step.before in leaves[state]
                and step.trigger == row.trigger
                and step.after == (target or step.after)
                and (is_decided is None or step.is_decided == is_decided)
            )
            found.append(
                CoveredRow(
                    f"{state} --{row.trigger}--> {row.target or 'as the oracle decides'}{when}{label}",
                    times,
                    leaves[state],
                    row,
                    is_shared=sum(_is_decided(each, rows) == is_decided for each in alike) > 1,
                )
            )
    return found


def _is_decided(row: RowDefinition, rows: Sequence[RowDefinition]) -> bool | None:
    """Return whether the row is taken by decisions alone, or by rules alone; None if by both.

    The journal separates the two kinds only if there is a row of each for the same trigger and target. A row for the
    oracle that is the only option counts as taken by a rule, because nothing is left to ask.
    """
    rivals = [each for each in rows if (each.trigger, each.target) == (row.trigger, row.target)]
    return bool(row.oracle) if len({bool(each.oracle) for each in rivals}) > 1 else None

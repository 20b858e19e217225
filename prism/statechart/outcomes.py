"""The outcome of each row for one agent, for explanations, and the questions that a chart may ask."""

from __future__ import annotations

from typing import Any, Final, Generic, Literal

import msgspec

from prism.statechart.calls import ask_guard, mark_of, told
from prism.statechart.statechart import Movable, Statechart
from prism.statechart.states import S
from prism.statechart.transitions import NEEDS_ORACLE, Transition

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

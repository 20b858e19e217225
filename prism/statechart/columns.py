"""The selection of rows for many agents at once: guards are evaluated as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import distinct
from prism.expressions.vectors import truths
from prism.statechart.statechart import Statechart
from prism.statechart.transitions import Choice, Transition

GUARDS_MAX: Final = 62
"""The most guards of one state and trigger that are asked for many agents at once: a bit each."""

Read = Callable[[frozenset[str]], Mapping[str, NDArray[Any]] | None]
"""`fields` -> the values of each for every agent, or None if that cannot be."""


class Selected(NamedTuple):
    """The rows that many agents take.

    Args:
        found: what `Statechart.select` returns, each once.
        numbers: the number of each agent's among them.
    """

    found: list[Transition[Any] | Choice[Any] | None]
    numbers: NDArray[np.intp]

    def split(
        self, places: NDArray[np.intp]
    ) -> Iterator[tuple[Transition[Any] | Choice[Any] | None, NDArray[np.intp]]]:
        """Yield each row, and the agents that take it, of agents at these places."""
        if len(self.found) == 1:
            yield self.found[0], places
            return
        for number, row in enumerate(self.found):
            yield row, places[self.numbers == number]


def select_all(chart: Statechart[Any], state: Any, trigger: str, count: int, read: Read) -> Selected | None:
    """Return what `select` returns for many agents in one state.

    Args:
        count: the number of agents.
        read: returns the values of the fields that guards read.

    Returns:
        None if they must be asked one by one, because a guard is a function or reads what has no column.
    """
    rows = chart.rows(state, trigger)
    if rows is None or rows.certain is not None:
        return Selected([None if rows is None else rows.certain], np.zeros(count, dtype=np.intp))
    if not rows.only_read or len(rows.guarded) > GUARDS_MAX:
        return None
    columns = read(rows.reads)
    if columns is None:
        return None
    patterns = np.zeros(count, dtype=np.int64)
    for place, holds in enumerate(truths(rows.expressions, columns)):
        patterns |= holds.astype(np.int64) << place
    guards = range(len(rows.guarded))
    if count == 1 or (patterns == patterns[0]).all():
        only = chart.selected(rows, [bool(patterns[0] >> place & 1) for place in guards])
        return Selected([only], np.zeros(count, dtype=np.intp))
    kinds = distinct(patterns)
    found = [chart.selected(rows, [bool(kind >> place & 1) for place in guards]) for kind in kinds.tolist()]
    return Selected(found, np.searchsorted(kinds, patterns))

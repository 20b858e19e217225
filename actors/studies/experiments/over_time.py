"""The cells of an experiment over time, and the sizes of their cascades: a median and a band for each condition.

It reads `summary.json` and `rounds.csv` of each cell, not its journal, and keeps a few hundred numbers of it: so an
experiment of thousands of cells takes seconds and little memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from actors.core.errors import JournalError
from actors.core.state import RoundsTable
from actors.results.beside import LEVELS
from actors.store.manifest import read_summary
from actors.store.rounds import read_rounds
from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.record import CellLine, CellState, ExperimentRecord
from prism.columns import Floats
from prism.distribution import share_of_at_least

LOW, HIGH = 0.05, 0.95  # the quantiles of a band: nine of ten cells are within it
POINTS_MAX = 120  # the most points of a line over time
SEEDS_MAX = 200  # the most cells of a condition that are read; of more, the first ones
LINES_MAX = 20  # the most cells of a condition whose own lines are kept
COUNTED = ("likes", "replies", "reshares", "posts")
"""Columns of `rounds.csv` that are totals from the start of the run: the growth in a round is their difference."""
CURVES_MAX = 4  # the most columns that are drawn over time


class Band(NamedTuple):
    """A median over cells, with the band that holds nine of ten cells."""

    x: Floats  # places; the others have as many values
    low: Floats
    middle: Floats
    high: Floats
    cells: int  # the cells that it is made of
    each: Floats  # the values of the first `LINES_MAX` of them, a row for each


class OverTime(NamedTuple):
    """The courses of the chosen conditions, and the sizes of their cascades."""

    # `{condition: the share of its cascades that have at least x posts}`; empty for other domains
    sizes: dict[str, Band]
    over_time: dict[str, dict[str, Band]]  # `{column: {condition: its values over the rounds}}`
    columns: frozenset[str]  # all columns of their rounds, also those that are not in `over_time`
    # `{condition: the rounds of the interventions in its first cell}`, ascending, from 1 on
    interventions: dict[str, list[int]]
    left_out: int  # cells that were not read, because there are so many


def read_over_time(record: ExperimentRecord, conditions: Sequence[str]) -> OverTime:
    by_condition: dict[str, list[CellLine]] = {name: [] for name in conditions}
    for cell in record.cells:
        if cell.state is CellState.DONE and cell.condition in by_condition:
            by_condition[cell.condition].append(cell)
    left_out = sum(max(0, len(cells) - SEEDS_MAX) for cells in by_condition.values())
    places = list(record.plan.experiment.measures.values())
    wanted = list(dict.fromkeys([*(place.removeprefix("rounds.") for place in places), *COUNTED, *LEVELS]))
    sizes: dict[str, list[dict[int, int]]] = {}
    rounds: dict[str, list[dict[str, Floats]]] = {}
    interventions: dict[str, list[int]] = {}
    columns = set[str]()
    for cell in (cell for cells in by_condition.values() for cell in cells[:SEEDS_MAX]):
        summary = read_summary(cell_path(record.path, cell))
        interventions.setdefault(cell.condition, sorted({each["round"] for each in summary.get("interventions", ())}))
        if found := {int(size): count for size, count in summary.get("cascade_sizes", {}).items() if count > 0}:
            sizes.setdefault(cell.condition, []).append(found)
        table: RoundsTable = {}
        with suppress(JournalError):
            table = read_rounds(cell_path(record.path, cell))
        columns.update(table)
        if kept := _columns(table, wanted):
            rounds.setdefault(cell.condition, []).append(kept)
    names = list(dict.fromkeys(name for tables in rounds.values() for table in tables for name in table))
    over_time = {}
    for name in names[:CURVES_MAX]:
        over_time[name] = {
            condition: _over_time([table[name] for table in tables if name in table])
            for condition, tables in rounds.items()
            if any(name in table for table in tables)
        }
    tails: dict[str, Band] = {}
    for condition, counts in sizes.items():  # the share of cascades of at least x posts, at sizes even on a log scale
        largest = max(max(each) for each in counts)
        x: Floats = np.unique(np.geomspace(1, largest, 40).round()).astype(np.float64)
        shares = [[share_of_at_least(each, int(least)) for least in x] for each in counts]
        tails[condition] = _band(x, np.array(shares))
    return OverTime(tails, over_time, frozenset(columns), interventions, left_out)


def _columns(table: RoundsTable, wanted: Sequence[str]) -> dict[str, Floats]:
    """Return the wanted columns of a cell's rounds: the growth in each round, or the level after it."""
    found: dict[str, Floats] = {}
    for name in wanted:
        values = np.array(table.get(name, ()), dtype=np.float64)
        if len(values) > 1:
            found[name] = values if name not in COUNTED else np.diff(values, prepend=0.0)
        if len(found) == CURVES_MAX:
            break
    return found


def _over_time(tables: Sequence[Floats]) -> Band:
    """Return the band of several series over rounds, up to the shortest; long series as means of several rounds."""
    length = min(len(table) for table in tables)
    each = -(-length // POINTS_MAX)
    whole = length // each
    grid = np.array([table[: whole * each].reshape(whole, each).mean(axis=1) for table in tables])
    return _band(np.arange(1, whole + 1, dtype=np.float64) * each, grid)


def _band(x: Floats, grid: Floats) -> Band:
    low, middle, high = np.quantile(grid, (LOW, 0.5, HIGH), axis=0)
    return Band(x, low, middle, high, len(grid), grid[:LINES_MAX])

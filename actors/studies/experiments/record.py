"""The record of an experiment for a report: its plan, the states and values of its cells, the outcome, and its course.

Everything is read from the experiment's directory, and nothing is executed or changed: no configuration is built, and
no user's own measure is called. So an experiment can be read while it is under way, and on another machine.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum, unique
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from actors.core.errors import JournalError, RunDirectoryError
from actors.core.files import read_json, read_regular
from actors.core.state import RoundsTable
from actors.results.measures import BY, LEVELS
from actors.store.lock import holder_of
from actors.store.manifest import read_summary
from actors.store.rounds import read_rounds
from actors.studies.experiments.cells import CELLS, cell_path, is_done
from actors.studies.experiments.outcome import OUTCOME, RESULTS, Key, Outcome, Values, outcome_of
from actors.studies.experiments.plan import PLANS, Plan, PlanFile, promised, read_plans
from actors.studies.experiments.run_measures import measured
from prism.columns import Floats
from prism.distribution import share_of_at_least
from prism.errors import PrismError

BYTES_MAX = 1 << 30  # the most bytes of a plan, a table or a summary that is read
APOSTROPHE = "'"


@unique
class CellState(StrEnum):
    """The state of a cell: it has all its ticks; a process works on it; it was interrupted; it has not been begun."""

    DONE = "done"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    WAITING = "waiting"


class CellLine(NamedTuple):
    condition: str
    seed: int
    key: str  # the name of its directory in `cells`
    state: CellState


class ExperimentRecord(msgspec.Struct, frozen=True, kw_only=True):
    path: Path  # its directory
    plan: PlanFile  # the plan that its outcome follows, or else the last one
    plans: int  # how many were made
    cells: list[CellLine]  # every cell of the plan
    values: Values  # of the cells that have some
    outcome: Outcome  # as it was written at the end, or else worked out here
    is_final: bool  # whether it was written at the end

    @property
    def conditions(self) -> list[str]:
        return [each.name for each in self.plan.experiment.conditions]


def is_experiment(path: Path) -> bool:
    return (path / PLANS).is_dir()


def read_experiment_record(path: Path, on_cell: Callable[[int, int], None] = lambda _, __: None) -> ExperimentRecord:
    """Return the record of the experiment in a directory, also of one that is going on or was interrupted."""
    plans, plan, outcome = _chosen(path)
    cells = []
    for number, each in enumerate(plan.cells, start=1):
        cells.append(CellLine(each.condition, each.seed, each.key, cell_state(path, each.key)))
        on_cell(number, len(plan.cells))
    is_final = outcome is not None
    values = _table(path / RESULTS) if is_final else _measured(path, plan, cells)
    return ExperimentRecord(
        path=path,
        plan=plan,
        plans=len(plans),
        cells=cells,
        values=values,
        outcome=outcome or outcome_of(plan, values, promised(plans, plan), path, is_final=False),
        is_final=is_final,
    )


def has_results_of(record: ExperimentRecord, plan: Plan) -> bool:
    """Return whether an experiment's results are those of a plan, perhaps with other code of PRISM."""

    def decides(each: Plan | PlanFile) -> tuple[object, ...]:
        cells = {(cell.condition, cell.seed) for cell in each.cells}
        return each.meanings, each.experiment.measures, each.own_code, cells

    return decides(record.plan) == decides(plan)


def current_plan(path: Path) -> PlanFile:
    """Return the plan that an experiment follows: that of its outcome, or else the last one."""
    return _chosen(path)[1]


def _chosen(path: Path) -> tuple[list[PlanFile], PlanFile, Outcome | None]:
    """Return all plans, the plan that is followed, and its outcome; None without an outcome."""
    try:
        plans = read_plans(path)
    except OSError as error:
        raise RunDirectoryError(f"{path / PLANS}: holds a file that is no plan: {error.strerror or error}") from None
    if not plans:
        raise RunDirectoryError(f"{path}: holds no plan yet; `prism experiment FILE --out {path}` makes one")
    try:
        outcome = read_json(path / OUTCOME, Outcome)
        plan = next((each for each in plans if each.hash == outcome.plan), None)
        is_older = (path / OUTCOME).stat().st_mtime <= (path / PLANS).stat().st_mtime
    except FileNotFoundError:
        return plans, plans[-1], None
    except OSError as error:
        problem = f"is no outcome of this version: {error.strerror or error}; run the experiment again"
        raise RunDirectoryError(f"{path / OUTCOME}: {problem}") from None
    if plan is None or (plan is not plans[-1] and is_older):
        return plans, plans[-1], None
    return plans, plan, outcome


def cell_state(out: Path, key: str) -> CellState:
    """Return the state of a cell of the experiment in a directory."""
    path = out / CELLS / key
    if is_done(path):
        return CellState.DONE
    if not path.exists():
        return CellState.WAITING
    return CellState.INTERRUPTED if holder_of(path) is None else CellState.RUNNING


def _table(path: Path) -> Values:
    values: dict[Key, dict[str, float]] = {}
    try:
        rows = csv.DictReader(io.StringIO(read_regular(path, BYTES_MAX).decode("utf-8"), newline=""))
        for row in rows:
            place = row["condition"].removeprefix(APOSTROPHE), int(row["seed"])
            values.setdefault(place, {})[row["measure"].removeprefix(APOSTROPHE)] = float(row["value"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, AttributeError, csv.Error) as error:
        raise RunDirectoryError(f"{path}: is no table of results: {error}; run the experiment again") from None
    return values


def _measured(path: Path, plan: PlanFile, cells: Sequence[CellLine]) -> Values:
    """Return the values of cells that are done, for measures that need no user's own code.

    Totals by attribute are left out, too: the people of a run are made again by its chart, which may have code.
    """
    wanted = {
        name: place for name, place in plan.experiment.measures.items() if ":" not in place and not place.startswith(BY)
    }
    found: dict[Key, Mapping[str, float]] = {}
    for cell in cells:
        if cell.state is CellState.DONE:
            try:
                found[cell.condition, cell.seed] = measured(path / CELLS / cell.key, wanted, {})
            except PrismError:
                continue
    return found


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
    """Return the courses of conditions, from `summary.json` and `rounds.csv` of each cell.

    No journal is read, and a few hundred numbers of a cell are kept: thousands of cells take seconds and little memory.
    """
    done = [cell for cell in record.cells if cell.state is CellState.DONE]
    by_condition = {name: [cell for cell in done if cell.condition == name] for name in conditions}
    left_out = sum(max(0, len(cells) - SEEDS_MAX) for cells in by_condition.values())
    places = record.plan.experiment.measures.values()
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
    over_time = {
        name: {
            condition: _over_time([table[name] for table in tables if name in table])
            for condition, tables in rounds.items()
            if any(name in table for table in tables)
        }
        for name in names[:CURVES_MAX]
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

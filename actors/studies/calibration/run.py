"""The run of a calibration: its steps, whose runs are cells of an experiment, and the numbers that it compares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from actors.core.errors import RunDirectoryError
from actors.results.observed import observed_feed
from actors.studies.calibration.calibration_plan import FEED, CalibrationPlan, cell_of
from actors.studies.experiments.cells import CELLS, cell_path, is_done
from actors.studies.experiments.plan import Cell
from actors.studies.experiments.processes import Executor
from actors.studies.experiments.run_measures import measured
from prism.calibration.calibration_file import SHAPES, Point
from prism.calibration.comparison import Observed, rows_in, table_of
from prism.calibration.procedure import Result, calibrated
from prism.scorecard.social import month_share, rank_correlation

OnRuns = Callable[[str, int], None]
"""It is called with the number of runs of a step that are done."""


def run_calibration(plan: CalibrationPlan, out: Path, executor: Executor, on_runs: OnRuns) -> Result:
    """Run a calibration, whose runs are cells: each is done once, even after interruptions."""

    def run(step: str, points: Sequence[Point]) -> list[Observed]:
        cells = [cell_of(plan, step, point) for point in points]
        once = {cell.key: cell for cell in cells}
        left = [cell for cell in once.values() if not is_done(cell_path(out, cell))]
        on_runs(step, len(cells) - len(left))
        problems = executor.run(left, out, lambda _, __: on_runs(step, 1)) if left else {}
        for key, problem in problems.items():
            more = f" and {len(problems) - 1:,} more" if len(problems) > 1 else ""
            told = f"{problem}; mend it, and run it again: what is done is kept"
            raise RunDirectoryError(f"{out / CELLS / key}{more}: {told}")
        return [observed_of(plan, out, cell) for cell in cells]

    return calibrated(plan.calibration, plan.values, plan.real, run)


SMALLER = 0.9  # Cascades smaller than this part of the smallest real one have no real counterpart


def observed_of(plan: CalibrationPlan, out: Path, cell: Cell) -> Observed:
    path, compared = cell_path(out, cell), plan.calibration.compared.values()
    places = {str(each.measure): str(each.measure) for each in compared if each.measure is not None}
    plain = {name: place for name, place in places.items() if not name.startswith(FEED)}
    numbers = measured(path, plain, plan.own)
    if len(plain) == len(places) and all(each.shape is None for each in compared):
        return Observed(numbers=numbers)
    feed = observed_feed(path, cell.config)
    table = table_of(feed.shapes)
    least = min((row[0] for row in (*plan.real.fitted, *plan.real.holdout)), default=2.0)  # the smallest real one
    rows = table[table[:, 0] >= SMALLER * least]
    found = {
        "feed.posts_without_reaction": float((table[:, 0] == 1.0).mean()) if len(table) else 1.0,
        "feed.posts_of_top_tenth": month_share(feed.posts_by_person.astype(np.float64), feed.days),
        "feed.size_and_virality": (
            rank_correlation(rows[:, 0], rows[:, SHAPES.index("virality")]) if len(rows) > 1 else 0.0
        ),
    }
    numbers |= {name: found[name] for name in places if name.startswith(FEED)}
    return Observed(numbers=numbers, cascades=rows_in(rows))

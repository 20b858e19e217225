"""The run of a calibration: its steps, whose runs are cells of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from actors.core.errors import RunDirectoryError
from actors.studies.calibration.observe import observed_of
from actors.studies.calibration.plan import CalibrationPlan, cell_of
from actors.studies.experiments.cells import CELLS, Done, cell_path, is_done
from actors.studies.experiments.driver import Executor
from actors.studies.experiments.plan import Cell
from prism.calibration import Observed, Point, Result, calibrated


class Told(NamedTuple):
    """Functions that are told of progress.

    Args:
        on_runs: of so many runs of a step that are done; True if they were done before.
        on_best: of the smallest distance so far.
    """

    on_runs: Callable[[str, int, bool], None]
    on_best: Callable[[float], None]


class CellRunner:
    """Makes the runs of a calibration as cells, which are done once whatever interrupts them."""

    def __init__(self, plan: CalibrationPlan, out: Path, executor: Executor, told: Told) -> None:
        self._plan, self._out, self._executor, self._told = plan, out, executor, told

    def tell(self, best: float) -> None:
        """Take note of the smallest distance so far."""
        self._told.on_best(best)

    def run(self, step: str, points: Sequence[Point]) -> list[Observed]:
        """Return what is compared of each run, in the order of the points.

        Raises:
            RunDirectoryError: a cell has no result.
        """
        cells = [cell_of(self._plan, step, point) for point in points]
        once = {cell.key: cell for cell in cells}
        left = [cell for cell in once.values() if not is_done(cell_path(self._out, cell))]
        self._told.on_runs(step, len(cells) - len(left), True)

        def on_done(cell: Cell, done: Done) -> None:  # noqa: ARG001  # a failed run is named below
            self._told.on_runs(step, 1, False)

        problems = self._executor.run(left, self._out, on_done) if left else {}
        if problems:
            key, problem = next(iter(problems.items()))
            more = f" and {len(problems) - 1:,} more" if len(problems) > 1 else ""
            raise RunDirectoryError(
                f"{self._out / CELLS / key}{more}: {problem}; mend it, and run it again: what is done is kept"
            )
        return [observed_of(self._plan, self._out, cell) for cell in cells]


def run_calibration(plan: CalibrationPlan, out: Path, executor: Executor, told: Told) -> Result:
    """Run all steps of a calibration, or go on with them, and return the result.

    Raises:
        RunDirectoryError: a run has no result.
    """
    return calibrated(plan.calibration, plan.values, plan.real, CellRunner(plan, out, executor, told))

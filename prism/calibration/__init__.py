"""Calibration: its file, the design, the comparison of runs with data, the posterior, and the tests of a fit."""

from prism.calibration.calibration_file import SHAPES, Budget, Calibration, Point, Target, point_at, read_calibration
from prism.calibration.comparison import Observed, Real, parted, rows_in, table_of
from prism.calibration.procedure import Result, calibrated, planned_runs, reasons, required_steps

__all__ = [
    "SHAPES",
    "Budget",
    "Calibration",
    "Observed",
    "Point",
    "Real",
    "Result",
    "Target",
    "calibrated",
    "parted",
    "planned_runs",
    "point_at",
    "read_calibration",
    "reasons",
    "required_steps",
    "rows_in",
    "table_of",
]

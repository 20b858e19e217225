"""Calibration: its file, the comparison of runs with data, the search, the posterior, and the checks of a fit."""

from prism.calibration.comparison import Observed, Real, parted, rows_of
from prism.calibration.document import Budget, Calibration, Target, read_calibration
from prism.calibration.parameters import Parameter, Point, point_at
from prism.calibration.procedure import Result, Runner, calibrated, planned_runs, reasons

__all__ = [
    "Budget",
    "Calibration",
    "Observed",
    "Parameter",
    "Point",
    "Real",
    "Result",
    "Runner",
    "Target",
    "calibrated",
    "parted",
    "planned_runs",
    "point_at",
    "read_calibration",
    "reasons",
    "rows_of",
]

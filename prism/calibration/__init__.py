"""Calibration: its file, the design, the comparison of runs with data, the posterior, and the tests of a fit."""

from prism.calibration.comparison import Observed, Real, parted, rows_of
from prism.calibration.document import SHAPES, Budget, Calibration, Target, read_calibration
from prism.calibration.parameters import Parameter, Point, point_at
from prism.calibration.procedure import Result, Runner, calibrated, planned_runs, reasons, short_design

__all__ = [
    "SHAPES",
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
    "short_design",
]

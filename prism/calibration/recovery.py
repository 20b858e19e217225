"""The recovery of known truths: runs that are taken for the data, and refitted with the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from prism.calibration.parameters import Floats
from prism.calibration.posterior import INTERVAL, RUNS_PER_PARAMETER, Inference

PARTS: Final = 10
"""A truth is refitted with the runs of the other parts."""
COVERED: Final = INTERVAL[1] - INTERVAL[0]
IDENTIFIED: Final = 0.7
"""The widest interval of a parameter that counts as identified, as a share of the interval that the range alone has."""
CORRELATED: Final = 0.9
"""The correlation from which two parameters are known in combination alone."""


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """The recovery of one parameter.

    Args:
        coverage: the share of the truths that are in their 90% intervals.
        coverage_error: its standard error, if the intervals are right.
        bias: the mean of estimate minus truth, as a share of the range.
        bias_error: its standard error.
        width: the mean width of the intervals, as a share of that of the range alone.
    """

    parameter: str
    truths: int
    coverage: float
    coverage_error: float
    bias: float
    bias_error: float
    width: float


def recovered(names: Sequence[str], places: Floats, statistics: Floats) -> list[Recovery]:
    """Return the recovery of each parameter over all runs, each taken for the data once.

    Args:
        places: of the parameters of each run; (runs, parameters), 0 to 1.
        statistics: of each run; (runs, statistics).
    """
    part_of = np.arange(len(places)) * PARTS // len(places)
    inside, errors, widths = (np.zeros_like(places) for _ in range(3))
    for part in range(PARTS):
        own = part_of == part
        inference = Inference(places[~own], statistics[~own])
        for run in np.flatnonzero(own):
            posterior = inference.posterior(statistics[run])
            low, high = posterior.quantiles(INTERVAL).T
            inside[run] = (low <= places[run]) & (places[run] <= high)
            errors[run] = posterior.mean() - places[run]
            widths[run] = (high - low) / COVERED
    count = len(places)
    return [
        Recovery(
            parameter=name,
            truths=count,
            coverage=float(inside[:, place].mean()),
            coverage_error=math.sqrt(COVERED * (1 - COVERED) / count),
            bias=float(errors[:, place].mean()),
            bias_error=float(errors[:, place].std() / math.sqrt(count)),
            width=float(widths[:, place].mean()),
        )
        for place, name in enumerate(names)
    ]


def runs_needed(parameters: int) -> int:
    """Return the fewest comparable runs from which a posterior is made and checked."""
    return max(2 * PARTS, RUNS_PER_PARAMETER * parameters)

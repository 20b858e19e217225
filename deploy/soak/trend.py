"""The trend of a series of measurements in which neighbours are alike.

Memory and latency drift slowly, so neighbouring samples are almost equal, and the usual standard error of a slope would
call every random movement a trend. Here the samples are first averaged over blocks, then the slope is estimated by
least squares and its variance by Newey & West (1987) with Andrews' (1991) bandwidth, after prewhitening the scores as
Andrews & Monahan (1992) do. The remaining error is measured in tests/deploy/test_trend.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCKS_MAX = 240
BLOCKS_MIN = 20
"""The fewest blocks: with fewer, the likeness of neighbours cannot be estimated."""
RHO_MAX = 0.97
"""The largest correlation: beyond it a series is taken for a random walk, and the interval is nearly as wide as it
gets."""

ROUNDING = 1e-9
"""Slopes up to this come from rounding: the numbers of a soak are not so small."""

Floats = NDArray[np.float64]


class Trend(NamedTuple):
    """A slope, in units a second, and the interval that holds the true one with 95% probability."""

    slope: float
    low: float
    high: float


def signed(slope: float) -> str:
    """Return a slope in three digits, with its sign; what is only rounding is 0."""
    return f"{slope:+.3g}" if abs(slope) > ROUNDING else "0"


def trend(times_s: Sequence[float] | Floats, values: Sequence[float] | Floats, confidence: float = 0.95) -> Trend:
    """Return the slope of values over times.

    Raises:
        ValueError: there are fewer than 20 samples.
    """
    if len(values) < BLOCKS_MIN:
        raise ValueError(f"a trend needs {BLOCKS_MIN} samples or more, got {len(values)}")
    count = min(BLOCKS_MAX, len(values))
    moments = _blocks(times_s, count)
    series = _blocks(values, count)
    centred = moments - moments.mean()
    spread = float(centred @ centred)
    slope = float(centred @ series) / spread
    residuals = series - series.mean() - slope * centred
    # The variance of the scores' sum over their number.
    scores = centred * residuals
    rho = _autocorrelation(scores)
    whitened = scores[1:] - rho * scores[:-1]
    left = _autocorrelation(whitened)
    alpha = 4 * left**2 / (1 - left**2) ** 2
    bandwidth = min(math.floor(1.1447 * (alpha * len(whitened)) ** (1 / 3)), len(whitened) - 1)
    variance = float(whitened @ whitened)
    for lag in range(1, bandwidth + 1):
        variance += 2 * (1 - lag / (bandwidth + 1)) * float(whitened[lag:] @ whitened[:-lag])
    freedom = len(scores) - 2
    error = math.sqrt((variance / freedom / (1 - rho) ** 2) * count) / spread
    reach = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    return Trend(slope, slope - reach, slope + reach)


def _blocks(values: Sequence[float] | Floats, count: int) -> Floats:
    """Return the means of this many blocks of neighbours, as equal in size as possible."""
    return np.array([block.mean() for block in np.array_split(np.asarray(values, dtype=np.float64), count)])


def _autocorrelation(values: Floats) -> float:
    """Return the autocorrelation of each value with the next, by least squares, kept away from one."""
    power = float(values[:-1] @ values[:-1])
    if power == 0:
        return 0.0
    return min(max(float(values[1:] @ values[:-1]) / power, -RHO_MAX), RHO_MAX)

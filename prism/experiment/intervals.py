"""Means and other numbers over seeds, with bootstrapped intervals, by scipy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
RESAMPLES = 9999
SEED = 20_080_607
"""The seed of all resampling, so that the same values give the same table."""
ROUNDING = 1e-12
"""Values that are closer than this, relative to the largest, differ by the rounding of floating-point numbers alone."""
BATCH_VALUES = 2_000_000
"""The most values that are resampled at once, so that many seeds take no more memory than few."""
INTERVAL_LEAST = 3
"""The fewest values with an interval."""

Array = NDArray[np.float64]


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A mean with its interval; no interval where all values are equal or there are fewer than three."""

    mean: float
    low: float | None
    high: float | None
    sd: float
    count: int


def described(values: Sequence[float], *, with_interval: bool = True) -> Interval:
    """Return the mean of a measure over seeds, with its interval."""
    array = np.asarray(values, dtype=np.float64)
    sd = spread(array)
    low, high = None, None
    if with_interval and len(array) >= INTERVAL_LEAST and sd > 0.0:
        low, high = bca((array,), np.mean)
    return Interval(mean=float(array.mean()), low=low, high=high, sd=sd, count=len(array))


def spread(values: Array) -> float:
    """Return the standard deviation; 0 for one value, and for values that are equal but for rounding."""
    if len(values) < 2 or np.ptp(values) <= ROUNDING * np.abs(values).max():
        return 0.0
    return float(values.std(ddof=1))


def without_rounding(differences: Array, *, of: Array) -> Array:
    """Return differences in which those that differ by rounding alone are equal, and those that are 0 but for it are 0.

    Args:
        of: the values, whose size tells how large rounding is.
    """
    rounding = ROUNDING * float(np.abs(of).max())
    if np.ptp(differences) <= rounding:
        differences = np.full_like(differences, differences[0])
    return np.where(np.abs(differences) <= rounding, 0.0, differences)


def batch_of(values: int) -> int:
    """Return how many resamples are made at once if each takes so many values."""
    return max(1, BATCH_VALUES // max(1, values))


def bca(
    samples: tuple[Array, ...],
    statistic: Callable[..., Any],
    *,
    resamples: int | None = None,
    values: int | None = None,
) -> tuple[float | None, float | None]:
    """Return the bias-corrected and accelerated interval of a number; none where the resamples are all equal.

    Args:
        samples: each is resampled by itself.
        statistic: takes the samples and an axis.
        resamples: `RESAMPLES` if None.
        values: that one resample takes; the number of all samples if None.
    """
    size = sum(len(each) for each in samples) if values is None else values
    low, high = bca_of_several(samples, statistic, resamples=RESAMPLES if resamples is None else resamples, values=size)
    return (float(low), float(high)) if np.isfinite(low) and np.isfinite(high) else (None, None)


def bca_of_several(
    samples: tuple[Array, ...], statistic: Callable[..., Any], *, resamples: int, values: int
) -> tuple[Any, Any]:
    """Return the ends of the intervals of numbers that one statistic gives together; nan where there is none."""
    from scipy.stats import bootstrap  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of resamples that are all equal: their interval is nan
        found: Any = bootstrap(
            samples,
            statistic,
            n_resamples=resamples,
            confidence_level=CONFIDENCE,
            batch=batch_of(values),
            method="BCa",
            vectorized=True,
            rng=np.random.default_rng(SEED),
        )
    return found.confidence_interval.low, found.confidence_interval.high

"""Means and other numbers over seeds, with intervals by Student's t.

The error of a number is that of the jackknife: how much it moves when one value is left out. Of a mean this is the
usual standard error, so its interval is Student's, and that of a difference of means is Welch's. Numbers between -1 and
1 have their interval on the scale of Fisher's z, so it stays between them.

Source: Student (1908), Welch (1947), Tukey (1958), Fisher (1921). docs/experiments.md has the coverage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from prism.columns import Floats

CONFIDENCE = 0.95
ROUNDING = 1e-12
"""Values that are closer than this, relative to the largest, differ by the rounding of floating-point numbers alone."""
GROUPS_MAX = 256  # the most groups of values that are left out in turn: of more values than that, several at once
INTERVAL_LEAST = 3  # the fewest values with an interval


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A mean with its interval; no interval where all values are equal or there are fewer than three."""

    mean: float
    low: float | None
    high: float | None
    sd: float
    count: int


def described(values: Sequence[float]) -> Interval:
    """Return the mean of a measure over seeds, with its interval."""
    array = np.asarray(values, dtype=np.float64)
    sd = spread(array)
    low, high = None, None
    if len(array) >= INTERVAL_LEAST and sd > 0.0:
        low, high = t_interval((array,), np.mean)
    return Interval(mean=float(array.mean()), low=low, high=high, sd=sd, count=len(array))


def spread(values: Floats) -> float:
    """Return the standard deviation; 0 for one value, and for values that are equal but for rounding."""
    if len(values) < 2 or np.ptp(values) <= ROUNDING * np.abs(values).max():
        return 0.0
    return float(values.std(ddof=1))


def without_rounding(differences: Floats, *, of: Floats) -> Floats:
    """Return differences without rounding errors: those that differ only by rounding become equal, or 0.

    Args:
        of: the values, whose size tells how large rounding is.
    """
    rounding = ROUNDING * float(np.abs(of).max())
    if np.ptp(differences) <= rounding:
        differences = np.full_like(differences, differences[0])
    return np.where(np.abs(differences) <= rounding, 0.0, differences)


def t_interval(
    samples: tuple[Floats, ...], statistic: Callable[..., float], *, is_bounded: bool = False
) -> tuple[float | None, float | None]:
    """Return the interval of a number; no interval if leaving out values never changes the number.

    Args:
        samples: independent of each other, each of two values or more.
        statistic: takes the samples and returns the number.
        is_bounded: whether the number is from -1 to 1.
    """
    from scipy.stats import t  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    most = 1.0 - 1.0 / sum(map(len, samples)) ** 2  # near the bound, but not at it, where the scale has no end

    def scaled(*parts: Floats) -> Any:
        found = np.float64(statistic(*parts))
        return np.arctanh(np.clip(found, -most, most)) if is_bounded else found

    with np.errstate(all="ignore"):  # where the number is at its bound, or nothing varies, there is no interval
        found, variance, weight = scaled(*samples), 0.0, 0.0
        for place, sample in enumerate(samples):
            groups = np.array_split(np.arange(len(sample)), min(len(sample), GROUPS_MAX))
            lefts = (np.delete(sample, group) for group in groups)
            rest = [scaled(*samples[:place], left, *samples[place + 1 :]) for left in lefts]
            part = (len(groups) - 1) * np.var(rest)
            variance, weight = variance + part, weight + part**2 / (len(groups) - 1)
        if not variance > (ROUNDING * found) ** 2:
            return None, None
        reach = np.sqrt(variance) * t.ppf((1 + CONFIDENCE) / 2, variance**2 / weight)
    low, high = (np.tanh(end) if is_bounded else end for end in (found - reach, found + reach))
    return (float(low), float(high)) if np.isfinite(low) and np.isfinite(high) else (None, None)

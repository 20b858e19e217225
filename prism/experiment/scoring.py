"""Forecasts of a number as distributions, and their scores once the number is known.

A lower score is better. The scores are proper: on average the distribution from which the number is drawn has the
lowest score, so nobody gains by stating another one than the believed one (Gneiting & Raftery 2007). The log score is
the surprise, -log2 of the density, in bits (Good 1952). The continuous ranked probability score is the integral of the
squared difference between the distribution function and a step at the number, in the unit of the number (Matheson &
Winkler 1976). Between quantiles the density is constant. Beyond the outermost ones it falls off exponentially, from the
height beside them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.experiment.intervals import spread

SHARES: Final = (0.5, 0.9)  # the shares of the central intervals whose coverage is counted
_NAIVE: Final = tuple(each / 100 for each in range(1, 100))  # the levels of the quantiles of a naive forecast

Array = NDArray[np.float64]


class Forecast(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A distribution of one number, as it is written in a file: a normal distribution, or quantiles.

    Args:
        mean, sd: the mean and the standard deviation of a normal distribution; with an sd of 0 it is a single number.
        quantiles: instead, `{level: value}` with levels such as `q05`; two or more, with values that rise with levels.
    """

    mean: float | None = None
    sd: float | None = None
    quantiles: dict[str, float] = {}

    @property
    def problem(self) -> str:
        """The reason why the fields make no distribution; empty if they make one."""
        given = {name for name in ("mean", "sd") if getattr(self, name) is not None}
        if given != (set() if self.quantiles else {"mean", "sd"}):
            return "expected mean and sd, or quantiles"
        if not all(map(math.isfinite, (*self.quantiles.values(), self.mean or 0.0, self.sd or 0.0))):
            return "expected finite numbers"
        if self.sd is not None:
            return "" if self.sd > 0.0 else f"expected an sd above 0, got {self.sd:g}"
        if wrong := [name for name in self.quantiles if level_of(name) is None]:
            return f"expected quantiles from q01 to q99, got {wrong[0]}"
        levels, values = self._knots
        if len(levels) < 2 or min(np.diff(levels)) <= 0 or min(np.diff(values)) <= 0:
            return "expected two quantiles or more, and a larger value at each higher level"
        return ""

    @property
    def law(self) -> Law:
        """The normal distribution, or the one through the quantiles."""
        return Piecewise(*self._knots) if self.mean is None or self.sd is None else Normal(self.mean, self.sd)

    @property
    def _knots(self) -> tuple[Array, Array]:
        levels, values = np.array(sorted((level_of(name) or 0.0, self.quantiles[name]) for name in self.quantiles)).T
        return levels, values


class Normal(NamedTuple):
    """A normal distribution; a single number if its standard deviation is 0."""

    mean: float
    sd: float

    def cdf(self, value: float) -> float:
        return NormalDist(*self).cdf(value) if self.sd else float(value >= self.mean)

    def quantile(self, level: float) -> float:
        return NormalDist(*self).inv_cdf(level) if self.sd else self.mean

    def log_score(self, value: float) -> float | None:
        if not self.sd:
            return None
        z = (value - self.mean) / self.sd
        return (z * z / 2 + math.log(self.sd * math.sqrt(2 * math.pi))) / math.log(2)

    def crps(self, value: float) -> float:
        if not self.sd:
            return abs(value - self.mean)
        z, unit = (value - self.mean) / self.sd, NormalDist()
        return self.sd * (z * (2 * unit.cdf(z) - 1) + 2 * unit.pdf(z) - 1 / math.sqrt(math.pi))


class Piecewise(NamedTuple):
    """A distribution with constant densities between quantiles, and exponential ones beyond the outermost."""

    levels: Array
    values: Array

    @property
    def _densities(self) -> Array:
        return np.diff(self.levels) / np.diff(self.values)

    @property
    def _tails(self) -> tuple[float, float]:
        """The mean distances of the values in the lower and in the upper tail from the outermost quantile."""
        densities = self._densities
        return float(self.levels[0] / densities[0]), float((1.0 - self.levels[-1]) / densities[-1])

    def cdf(self, value: float) -> float:
        (levels, values), (low, high) = self, self._tails
        if value < values[0]:
            return float(levels[0] * math.exp((value - values[0]) / low))
        if value > values[-1]:
            return float(1.0 - (1.0 - levels[-1]) * math.exp((values[-1] - value) / high))
        return float(np.interp(value, values, levels))

    def quantile(self, level: float) -> float:
        (levels, values), (low, high) = self, self._tails
        if level < levels[0]:
            return float(values[0] + low * math.log(level / levels[0]))
        if level > levels[-1]:
            return float(values[-1] - high * math.log((1.0 - level) / (1.0 - levels[-1])))
        return float(np.interp(level, levels, values))

    def log_score(self, value: float) -> float:
        (_, values), (low, high), densities = self, self._tails, self._densities
        place = min(max(int(np.searchsorted(values, value, side="right")) - 1, 0), len(densities) - 1)
        beyond = max(0.0, float(values[0] - value) / low, float(value - values[-1]) / high)
        return beyond / math.log(2) - math.log2(float(densities[place]))

    def crps(self, value: float) -> float:
        (levels, values), (low, high) = self, self._tails
        inside = float(np.clip(value, values[0], values[-1]))
        at = np.unique(np.append(values, inside))
        ends = np.stack([np.interp(at[:-1], values, levels), np.interp(at[1:], values, levels)])
        left, right = np.where(at[1:] <= inside, ends, 1.0 - ends)
        between = float((np.diff(at) * (left * left + left * right + right * right) / 3).sum())
        below, above = _tail(levels[0], low, values[0] - value), _tail(1.0 - levels[-1], high, value - values[-1])
        return between + below + above


def _tail(mass: float, scale: float, beyond: float) -> float:
    """Return the part of the ranked probability score that comes from beyond an outermost quantile.

    Args:
        mass: the probability there; `scale`: the mean distance from the quantile.
        beyond: how far the number lies beyond it; below 0 if it does not.
    """
    beyond = max(0.0, float(beyond))
    return float(mass * mass * scale / 2 + beyond - 2 * scale * mass * -math.expm1(-beyond / scale))


def level_of(name: str) -> float | None:
    """Return the level of a quantile such as `q05`; None if the name is none from `q01` to `q99`."""
    is_level = len(name) == 3 and name[0] == "q" and name[1:].isascii() and name[1:].isdigit() and name != "q00"
    return int(name[1:]) / 100 if is_level else None


Law = Normal | Piecewise


class Score(msgspec.Struct, frozen=True, kw_only=True):
    intervals: tuple[tuple[float, float], ...]  # the central intervals, with the shares in `SHARES`
    holds: tuple[bool, ...]  # whether each of them holds the number
    position: float  # the probability that the forecast gave to smaller numbers, from 0 to 1
    log_score: float | None  # in bits; None for a forecast that is a single number
    crps: float  # in the unit of the number


def scored(forecast: Forecast, value: float) -> Score:
    law = forecast.law
    intervals = tuple((law.quantile((1.0 - share) / 2), law.quantile((1.0 + share) / 2)) for share in SHARES)
    return Score(
        intervals=intervals,
        holds=tuple(low <= value <= high for low, high in intervals),
        position=law.cdf(value),
        log_score=law.log_score(value),
        crps=law.crps(value),
    )


def naive(values: Sequence[float], around: float | None = None) -> Forecast:
    """Return the forecast that the mean of as many other values is like these: Student's t, as quantiles.

    Args:
        around: its centre, if that is not the mean of the values.
    """
    centre, count = fmean(values) if around is None else around, len(values)
    sd = spread(np.asarray(values, dtype=np.float64))
    if not sd:
        return Forecast(mean=centre, sd=0.0)
    from scipy.stats import t  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    found = centre + sd * math.sqrt(2 / count) * t.ppf(_NAIVE, count - 1)
    return Forecast(quantiles={f"q{place:02d}": float(value) for place, value in enumerate(found, start=1)})

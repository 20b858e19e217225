"""Forecasts of a number as distributions, and their scores once the number is known.

A lower score is better. The scores are proper: on average the distribution from which the number is drawn has the
lowest score, so nobody gains by stating another one than the believed one (Gneiting & Raftery 2007). The log score is
the surprise, -log2 of the density, in bits (Good 1952). The continuous ranked probability score is the integral of the
squared difference between the distribution function and a step at the number, in the unit of the number (Matheson &
Winkler 1976). Between quantiles the normal score of a number rises in a straight line, and beyond the outermost ones it
goes on in the same line: two quantiles make a normal distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any, Final, NamedTuple

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
        from scipy.special import ndtri  # noqa: PLC0415  # scipy takes a while to import, and is an extra

        if self.mean is not None and self.sd is not None:
            return Law(np.array([-1.0, 1.0]), np.array([self.mean - self.sd, self.mean + self.sd]))
        levels, values = self._knots
        return Law(ndtri(levels), values)

    @property
    def _knots(self) -> tuple[Array, Array]:
        levels, values = np.array(sorted((level_of(name) or 0.0, self.quantiles[name]) for name in self.quantiles)).T
        return levels, values


class Law(NamedTuple):
    """A distribution, by the normal scores of some numbers: both ascend, and lines join them and go on beyond them."""

    scores: Array
    values: Array

    def quantile(self, level: float) -> float:
        from scipy.special import ndtri  # noqa: PLC0415

        return _on_lines(float(ndtri(level)), self.scores, self.values)[0]

    def cdf(self, value: float) -> float:
        from scipy.special import ndtr  # noqa: PLC0415

        return float(ndtr(_on_lines(value, self.values, self.scores)[0]))

    def log_score(self, value: float) -> float:
        z, slope = _on_lines(value, self.values, self.scores)
        return (z * z / 2 + math.log(math.sqrt(2 * math.pi) / slope)) / math.log(2)

    def crps(self, value: float) -> float:
        """Return the score: with F = Phi(z), the integrals of Phi(z)^2 below the number and of Phi(-z)^2 above it."""
        slopes = np.diff(self.scores) / np.diff(self.values)
        ends = np.concatenate(([-np.inf], self.values[1:-1], [np.inf]))  # of the lines

        def z(at: Array) -> Array:
            return self.scores[:-1] + (at - self.values[:-1]) * slopes

        low, high = ends[:-1], ends[1:]
        below = _integral(z(np.minimum(high, value))) - _integral(z(np.minimum(low, value)))
        above = _integral(-z(np.maximum(low, value))) - _integral(-z(np.maximum(high, value)))
        return float(((below + above) / slopes).sum())


def _on_lines(at: float, xs: Array, ys: Array) -> tuple[float, float]:
    """Return the height of lines at a place, and their slope there."""
    place = min(max(int(np.searchsorted(xs, at, side="right")) - 1, 0), len(xs) - 2)
    slope = float((ys[place + 1] - ys[place]) / (xs[place + 1] - xs[place]))
    return float(ys[place]) + (at - float(xs[place])) * slope, slope


def _integral(z: Array) -> Any:
    """Return the integral of Phi^2 up to z: z Phi^2 + 2 Phi phi - Phi(z sqrt 2) / sqrt pi."""
    from scipy.special import ndtr  # noqa: PLC0415

    inside = np.maximum(z, -40.0)  # below, it is 0
    whole, density = ndtr(inside), np.exp(-inside * inside / 2) / math.sqrt(2 * math.pi)
    return inside * whole**2 + 2 * whole * density - ndtr(inside * math.sqrt(2)) / math.sqrt(math.pi)


def level_of(name: str) -> float | None:
    """Return the level of a quantile such as `q05`; None if the name is none from `q01` to `q99`."""
    is_level = len(name) == 3 and name[0] == "q" and name[1:].isascii() and name[1:].isdigit() and name != "q00"
    return int(name[1:]) / 100 if is_level else None


class Score(msgspec.Struct, frozen=True, kw_only=True):
    intervals: tuple[tuple[float, float], ...]  # the central intervals, with the shares in `SHARES`
    holds: tuple[bool, ...]  # whether each of them holds the number
    position: float  # the probability that the forecast gave to smaller numbers, from 0 to 1
    log_score: float | None  # in bits; None for a forecast that is a single number
    crps: float  # in the unit of the number


def scored(forecast: Forecast, value: float) -> Score:
    if forecast.sd == 0.0 and forecast.mean is not None:  # a single number
        mean, apart = forecast.mean, abs(value - forecast.mean)
        intervals, position, bits = ((mean, mean),) * len(SHARES), float(value >= mean), None
        return Score(
            intervals=intervals, holds=(not apart,) * len(SHARES), position=position, log_score=bits, crps=apart
        )
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

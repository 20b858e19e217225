"""Forecasts of a number as normal distributions, and their scores once the number is known.

A lower score is better. The scores are proper: on average the distribution from which the number is drawn has the
lowest score, so nobody gains by stating another one than the believed one (Gneiting & Raftery 2007). The log score is
the surprise, -log2 of the density, in bits (Good 1952). The continuous ranked probability score is the integral of the
squared difference between the distribution function and a step at the number, in the unit of the number (Matheson &
Winkler 1976); for a normal distribution its formula is that of Gneiting et al. (2005).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Final

import msgspec
import numpy as np

from prism.experiment.intervals import spread

SHARES: Final = (0.5, 0.9)  # the shares of the central intervals whose coverage is counted


class Forecast(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A normal distribution of one number; with an sd of 0 it is a single number."""

    mean: float
    sd: float


class Score(msgspec.Struct, frozen=True, kw_only=True):
    intervals: tuple[tuple[float, float], ...]  # the central intervals, with the shares in `SHARES`
    holds: tuple[bool, ...]  # whether each of them holds the number
    position: float  # the probability that the forecast gave to smaller numbers, from 0 to 1
    log_score: float | None  # in bits; None for a forecast that is a single number
    crps: float  # in the unit of the number


def scored(forecast: Forecast, value: float) -> Score:
    from scipy.stats import norm  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    mean, sd, apart = forecast.mean, forecast.sd, abs(value - forecast.mean)
    if not sd:
        intervals, position = ((mean, mean),) * len(SHARES), float(value >= mean)
        holds = (not apart,) * len(SHARES)
        return Score(intervals=intervals, holds=holds, position=position, log_score=None, crps=apart)
    z = (value - mean) / sd
    position, density = float(norm.cdf(z)), float(norm.pdf(z))
    ends = [float(norm.ppf((1.0 + share) / 2)) * sd for share in SHARES]
    return Score(
        intervals=tuple((mean - end, mean + end) for end in ends),
        holds=tuple(apart <= end for end in ends),
        position=position,
        log_score=(z * z / 2 + math.log(math.sqrt(2 * math.pi) * sd)) / math.log(2),
        crps=sd * (z * (2 * position - 1) + 2 * density - 1 / math.sqrt(math.pi)),
    )


def naive(values: Sequence[float], around: float | None = None) -> Forecast:
    """Return the forecast that the mean of as many other values is like these.

    It is as wide as Student's t in the middle: both give the same probability to one standard deviation.

    Args:
        around: its centre, if that is not the mean of the values.
    """
    centre, count = fmean(values) if around is None else around, len(values)
    sd = spread(np.asarray(values, dtype=np.float64))
    if not sd:
        return Forecast(mean=centre, sd=0.0)
    from scipy.stats import norm, t  # noqa: PLC0415

    return Forecast(mean=centre, sd=sd * math.sqrt(2 / count) * float(t.ppf(norm.cdf(1.0), count - 1)))

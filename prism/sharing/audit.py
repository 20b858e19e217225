"""The error of sharing, from audits: shared questions that a draw picked, and that were asked by themselves as well.

The draw does not look at a question, so the audits are a random sample of all that shared, and their mean is the mean
of all. The interval of a mean is that of Student's t after Hall's transformation, which removes most of the effect of
a skewed distribution: divergences are never negative, and most are near 0. Source: Hall, "On the removal of skewness
by transformation" (1992). Equal values say nothing about a spread: their interval is that of the rule of three.
Source: Hanley & Lippman-Hand, "If nothing goes wrong, is everything all right?" (1983).

The shares of options are corrected by the audits. Source: Angelopoulos et al., "Prediction-powered inference" (2023).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.distribution import jensen_shannon_rows, student
from prism.sharing.archetype import Judged

FEWEST: Final = 8  # the fewest values whose mean gets an interval

BITS: Final = (0.0, 1.0)  # the least and the most divergence of two distributions
ERRORS: Final = (-1.0, 1.0)  # the least and the most error of a share

_THREE: Final = -math.log(0.05)  # the three of the rule of three
_EQUAL: Final = 1e-9  # values that differ by no more are equal: 0.6 - 0.5 and 0.7 - 0.6 are not the same number


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A mean with the ends of its 95% interval; the ends are None where the values do not allow for one."""

    mean: float
    low: float | None = None
    high: float | None = None


class Audited(NamedTuple):
    """A shared question that was asked by itself."""

    own: Sequence[float]  # the distribution that it got
    shared: Sequence[float]  # the one that its archetype shares
    samples: int = 0  # the answers that `own` was counted from; 0 for probabilities
    chance: float = 1.0  # the probability with which it was drawn

    @classmethod
    def of(cls, judged: Judged) -> Audited:
        return cls(judged.probabilities, judged.shared, judged.samples, judged.chance)

    @property
    def weight(self) -> float:
        return 1.0 / self.chance


def divergences(audits: Sequence[Audited]) -> NDArray[np.float64]:
    """Return the Jensen-Shannon divergence of each audit in bits; all have the same number of options.

    A distribution that was counted from samples is further from any other than the true one is. The expected excess,
    to second order, is taken off: three quarters of it with 8 samples, nearly all with 50. So single values can be
    below 0. Source: Miller, "Note on the bias of information estimates" (1955).
    """
    if not audits:
        return np.empty(0)
    rows = jensen_shannon_rows(
        np.array([audit.own for audit in audits], dtype=np.float64),
        np.array([audit.shared for audit in audits], dtype=np.float64),
    )
    # The divergence that samples are expected to have too much: 0 for probabilities. To second order,
    # JS = sum (p - q)^2 / (8 ln2 m) around m = (p + q) / 2; the variance of a share is q (1 - q) / n. So each option
    # with a share adds 1 - q, and all of them together their number less 1.
    freedom = np.array([sum(q > 0.0 for q in audit.shared) - 1 for audit in audits], dtype=np.float64)
    samples = np.array([audit.samples or math.inf for audit in audits])
    return np.asarray(rows - freedom / (8.0 * math.log(2.0) * samples))


def divergence_from(judged: Judged, said: Sequence[float]) -> float:
    """Return the divergence of a judgement from other probabilities for its question, in bits: see `divergences`."""
    return float(divergences([Audited(judged.probabilities, said, judged.samples)])[0])


def mean_with_interval(
    values: Sequence[float] | NDArray[np.float64],
    weights: Sequence[float] | None = None,
    bounds: tuple[float, float] | None = None,
) -> Estimate:
    """Return the mean of a random sample with its interval.

    Too few values have no interval; nor have equal values without bounds.

    Args:
        weights: of the values, where they were drawn with different probabilities: the inverse of each. The mean is
            then that of Hajek, and its interval that of its linear form. Source: Sarndal et al. (1992).
        bounds: the least and the most that a value can be.

    Raises:
        ValueError: there is no value.
    """
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        raise ValueError("expected at least one value, got none")
    count = len(array)
    each = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    mean = math.fsum(array * each) / math.fsum(each)
    if count < FEWEST:
        return Estimate(mean=mean)
    if np.ptp(array) <= _EQUAL:
        if bounds is None:
            return Estimate(mean=mean)
        # Some values may differ, up to the bounds, though no drawn one does. If 3 of n values differ, or, with unequal
        # chances, a weight of 3 times the largest, the probability to draw none of these is 5%.
        others = min(1.0, _THREE * float(each.max()) / math.fsum(each))
        low, high = mean - others * max(0.0, mean - bounds[0]), mean + others * max(0.0, bounds[1] - mean)
        return Estimate(mean=mean, low=low, high=high)
    array = mean + each * (array - mean) * (count / math.fsum(each))
    spread = math.sqrt(math.fsum((array - mean) ** 2) / (count - 1))
    skewness = math.fsum(((array - mean) / spread) ** 3) / count
    limit = student(count - 1) / math.sqrt(count)
    below, above = (_inverse(side * limit, skewness, count) for side in (1.0, -1.0))
    return Estimate(mean=mean, low=mean - spread * below, high=mean - spread * above)


def _inverse(target: float, skewness: float, count: int) -> float:
    """Return the x of which Hall's transformation x + g x^2 / 3 + g^2 x^3 / 27 + g / 6n is `target`."""
    if abs(skewness) < 1e-9:
        return target
    inner = 1.0 + skewness * (target - skewness / (6.0 * count))
    return 3.0 / skewness * (math.copysign(abs(inner) ** (1.0 / 3.0), inner) - 1.0)


def corrected_shares(shared: Sequence[float], audits: Sequence[Audited]) -> list[Estimate]:
    """Return the share that each option would have if all questions were asked by themselves."""
    estimates = []
    for option, share in enumerate(shared):
        errors = [audit.own[option] - audit.shared[option] for audit in audits]
        error = mean_with_interval(errors, [audit.weight for audit in audits], ERRORS)
        ends = (None if end is None else share + end for end in (error.low, error.high))
        low, high = (None if end is None else min(1.0, max(0.0, end)) for end in ends)
        estimates.append(Estimate(mean=min(1.0, max(0.0, share + error.mean)), low=low, high=high))
    return estimates

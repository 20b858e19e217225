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
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.distribution import jensen_shannon_rows, student
from prism.sharing.archetypes import Archetypes, Judged, Role

FEWEST: Final = 8  # the fewest values whose mean gets an interval
BITS: Final = (0.0, 1.0)  # the least and the most divergence of two distributions
ERRORS: Final = (-1.0, 1.0)  # the least and the most error of a share
UNIT: Final = 1 << 40
"""Probabilities are counted in whole units of its inverse, so that their sums do not depend on an order."""
_DIGITS: Final = 6
_THREE: Final = -math.log(0.05)  # the three of the rule of three
_EQUAL: Final = 1e-9  # values that differ by no more are equal: 0.6 - 0.5 and 0.7 - 0.6 are not the same number


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A mean with the ends of its 95% interval; the ends are None where the values do not allow for one."""

    mean: float
    low: float | None = None
    high: float | None = None


class SharedShares(msgspec.Struct, frozen=True, kw_only=True):
    # trigger, state: of the questions
    trigger: str
    state: str
    questions: int  # those with a shared judgement, audited ones included
    audits: int  # those that were audited
    shared: dict[str, float]  # `{option: its mean probability, as shared}`
    # `{option: the share that it would have had by individual answers}`; empty without audits
    corrected: dict[str, Estimate] = {}


class SharingSummary(msgspec.Struct, frozen=True, kw_only=True):
    fields: list[str]  # the fields of an archetype, with their groups
    archetypes: int  # those with a judgement
    asked_for_all: int  # questions that were asked for an archetype
    shared: int  # those that drew from its judgement
    audited: int  # those that were asked by themselves although they could have shared
    # that all judgements took. A server without probabilities is called `oracle.sharing.samples` times for each of
    # them.
    calls: int
    questions_per_call: float  # questions with an answer for each of these calls
    # Jensen-Shannon divergence of the shared judgement from the individual one, in bits, in the mean of all questions
    # that shared; None without audits
    divergence: Estimate | None
    # for each kind of question, the shares of its options as shared, and corrected by the audits
    shares: list[SharedShares]


class SharedCounts(NamedTuple):
    archetypes: int  # those with a judgement
    roles: Mapping[str, int]  # `{role: questions}`
    # `{(trigger, state, *options): the sums of the shared distributions in units}`
    shared: Mapping[tuple[str, ...], Sequence[int]]
    calls: int  # that all judgements took


def sharing_summary(archetypes: Archetypes, counts: SharedCounts, audits: Sequence[Judged]) -> SharingSummary:
    ordered = sorted(audits, key=lambda each: (each.asked, each.agent, each.trigger))
    owners, drawn, audited = (counts.roles.get(role, 0) for role in Role)
    by_options: dict[int, list[Judged]] = defaultdict(list)
    for each in ordered:
        by_options[len(each.probabilities)].append(each)
    groups = [each for _, each in sorted(by_options.items())]
    bits = [bit for each in groups for bit in divergences(each).tolist()]
    weights = [each.weight for group in groups for each in group]
    return SharingSummary(
        fields=[f"{each.name}: {each.text}" for each in archetypes.groupings],
        archetypes=counts.archetypes,
        asked_for_all=owners,
        shared=drawn,
        audited=audited,
        calls=counts.calls,
        questions_per_call=round((owners + drawn + audited) / counts.calls, 1) if counts.calls else 0.0,
        divergence=_rounded(mean_with_interval(bits, BITS, weights)) if bits else None,
        shares=[_shares(group, sums, ordered) for group, sums in sorted(counts.shared.items())],
    )


def _shares(group: tuple[str, ...], sums: Sequence[int], audits: Sequence[Judged]) -> SharedShares:
    trigger, state, *options = group
    total = sum(sums)
    shares = [units / total if total else 0.0 for units in sums]
    own = [each for each in audits if each.kind == (state, trigger, *options)]
    corrected = map(_rounded, corrected_shares(shares, own)) if own else ()
    return SharedShares(
        trigger=trigger,
        state=state,
        questions=round(total / UNIT),
        audits=len(own),
        shared={option: round(share, _DIGITS) for option, share in zip(options, shares, strict=True)},
        corrected=dict(zip(options, corrected, strict=False)),
    )


def _rounded(estimate: Estimate) -> Estimate:
    """Return an estimate with the digits that mean something, and no part of it below 0."""
    ends = (estimate.mean, estimate.low, estimate.high)
    mean, low, high = (None if each is None else round(max(0.0, each), _DIGITS) for each in ends)
    return Estimate(mean=mean or 0.0, low=low, high=high)


def divergences(audits: Sequence[Judged]) -> NDArray[np.float64]:
    """Return the Jensen-Shannon divergence of each audit from what was shared, in bits; all have as many options.

    A distribution that was counted from samples is further from any other than the true one is. The expected excess,
    to second order, is taken off: three quarters of it with 8 samples, nearly all with 50. So single values can be
    below 0. Source: Miller, "Note on the bias of information estimates" (1955).
    """
    pairs = zip(*((each.probabilities, each.shared) for each in audits), strict=True)
    sides = (np.array(each, dtype=np.float64) for each in pairs)
    # The divergence that samples are expected to have too much: 0 for probabilities. To second order,
    # JS = sum (p - q)^2 / (8 ln2 m) around m = (p + q) / 2; the variance of a share is q (1 - q) / n. So each option
    # with a share adds 1 - q, and all of them together their number less 1.
    freedom = np.array([sum(q > 0.0 for q in audit.shared) - 1 for audit in audits], dtype=np.float64)
    samples = np.array([audit.samples or math.inf for audit in audits])
    return np.asarray(jensen_shannon_rows(*sides) - freedom / (8.0 * math.log(2.0) * samples))


def mean_with_interval(
    values: Sequence[float] | NDArray[np.float64],
    bounds: tuple[float, float],
    weights: Sequence[float] | None = None,
) -> Estimate:
    """Return the mean of a random sample of one value or more, with its interval; too few values have none.

    Args:
        bounds: the least and the most that a value can be.
        weights: of the values, where they were drawn with different probabilities: the inverse of each. The mean is
            then that of Hajek, and its interval that of its linear form. Source: Sarndal et al. (1992).
    """
    array = np.asarray(values, dtype=np.float64)
    count = len(array)
    each = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    mean = math.fsum(array * each) / math.fsum(each)
    if count < FEWEST:
        return Estimate(mean=mean)
    if np.ptp(array) <= _EQUAL:
        # Some values may differ, up to the bounds, though no drawn one does. If 3 of n values differ, or, with unequal
        # chances, a weight of 3 times the largest, the probability to draw none of these is 5%.
        others = min(1.0, _THREE * float(each.max()) / math.fsum(each))
        low, high = mean - others * max(0.0, mean - bounds[0]), mean + others * max(0.0, bounds[1] - mean)
        return Estimate(mean=mean, low=low, high=high)
    array = mean + each * (array - mean) * (count / math.fsum(each))
    spread = math.sqrt(math.fsum((array - mean) ** 2) / (count - 1))
    skewness = math.fsum(((array - mean) / spread) ** 3) / count
    limit = student(count - 1) / math.sqrt(count)

    def inverse(target: float) -> float:  # the x of which Hall's x + g x^2 / 3 + g^2 x^3 / 27 + g / 6n is the target
        if abs(skewness) < 1e-9:
            return target
        inner = 1.0 + skewness * (target - skewness / (6.0 * count))
        return 3.0 / skewness * (math.copysign(abs(inner) ** (1.0 / 3.0), inner) - 1.0)

    return Estimate(mean=mean, low=mean - spread * inverse(limit), high=mean - spread * inverse(-limit))


def corrected_shares(shared: Sequence[float], audits: Sequence[Judged]) -> list[Estimate]:
    """Return the share that each option would have if all questions were asked by themselves."""
    estimates = []
    for option, share in enumerate(shared):
        errors = [audit.probabilities[option] - audit.shared[option] for audit in audits]
        error = mean_with_interval(errors, ERRORS, [audit.weight for audit in audits])
        ends = (None if end is None else share + end for end in (error.low, error.high))
        low, high = (None if end is None else min(1.0, max(0.0, end)) for end in ends)
        estimates.append(Estimate(mean=min(1.0, max(0.0, share + error.mean)), low=low, high=high))
    return estimates

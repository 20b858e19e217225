"""A sample of candidates, for a budget that is too small for all, and estimates for all of them.

A candidate is in the sample with a chance in proportion to its weight, and those that weigh most are in for certain.

Sources: Madow (1949), systematic sampling with unequal chances; Horvitz & Thompson (1952), the estimate; Deville
(1999), its variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from prism.columns import Floats, Ints
from prism.experiment.intervals import CONFIDENCE
from prism.rng import WORLD, Draw, uniform, uniforms


class Sample(NamedTuple):
    """The candidates that are undone, by number, ascending, and the chance of each to be among them."""

    chosen: Ints
    chances: Floats


class Total(NamedTuple):
    """The sum of the effects of all candidates, and its interval; None for both ends if there is none."""

    total: float
    low: float | None
    high: float | None


def shares(counts: Sequence[int], budget: int) -> list[int]:
    """Return how many candidates of each kind are undone: equal shares, and what one kind leaves goes to the others."""
    found = [0] * len(counts)
    for left, kind in enumerate(sorted(range(len(counts)), key=lambda kind: counts[kind])):
        found[kind] = min(counts[kind], (budget - sum(found)) // (len(counts) - left))
    return found


def sample(weights: Floats, number: int, seed: int, purpose: int) -> Sample:
    """Return a sample of exactly so many candidates.

    Args:
        weights: above zero.
        purpose: a number that tells this sample from others of the same seed.
    """
    chances = inclusion(weights, number)
    certain = chances >= 1.0
    others = np.flatnonzero(~certain)
    size = number - int(certain.sum())
    if not len(others) or not size:
        return Sample(np.flatnonzero(certain), chances[certain])
    order = others[np.argsort(uniforms(seed, others, 0, Draw.CAUSE_SAMPLE, purpose), kind="stable")]
    ends = np.cumsum(chances[order])
    ends[-1] = size
    marks = np.floor(ends - uniform(seed, WORLD, 0, Draw.CAUSE_SAMPLE, purpose))
    is_taken = np.diff(marks, prepend=-1.0) > 0
    chosen = np.sort(np.concatenate((np.flatnonzero(certain), order[is_taken])))
    return Sample(chosen, chances[chosen])


def inclusion(weights: Floats, number: int) -> Floats:
    """Return the chance of each candidate to be in a sample of this size: in proportion to its weight, at most 1."""
    if number >= len(weights):
        return np.ones(len(weights))
    certain = np.zeros(len(weights), dtype=np.bool_)
    while True:
        rest = number - int(certain.sum())
        chances = np.where(certain, 1.0, rest * weights / weights[~certain].sum())
        if not (now := (chances >= 1.0) & ~certain).any():
            return chances
        certain |= now


def total(effects: Floats, chances: Floats) -> Total:
    """Return the sum of the effects of all candidates, from those of a sample.

    The interval is Student's. Where most effects are 0 a few candidates make nearly all of the variance, so the degrees
    of freedom are the effective number of those that make it, less one; there is no interval with fewer than three
    drawn candidates with an effect. docs/decisions/011-causes.md has the coverage.

    Source: Kish (1965), the effective number.
    """
    estimate = float((effects / chances).sum())
    is_drawn = chances < 1.0
    each, number = effects[is_drawn] / chances[is_drawn], int(is_drawn.sum())
    if np.count_nonzero(each) < 3:
        return Total(estimate, None, None)
    from scipy.stats import t  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    weights = (1.0 - chances[is_drawn]) * number / (number - 1)
    parts = weights * (each - np.average(each, weights=weights)) ** 2
    variance = float(parts.sum())
    if not variance:
        return Total(estimate, estimate, estimate)
    freedom = max(1.0, variance**2 / float((parts**2).sum()) - 1.0)
    reach = float(t.ppf((1 + CONFIDENCE) / 2, freedom)) * variance**0.5
    return Total(estimate, estimate - reach, estimate + reach)

"""Measures of people and their ties: segregation, inequality of attention, and the spread of what people think.

Ties are follows, each counted once, from the follower to the followee; a friendship is two. Where a measure is not
defined, such as a correlation with a number that is the same for all, it is 0.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints, places_in_lists
from prism.social.tables import Lists

Floats = NDArray[np.float64]
ROUNDING: Final = 1e-12
"""The share of the largest value up to which values are the same: sums in another order differ by less."""


def ends_of(followers: Lists) -> tuple[Ints, Ints]:
    """Return the follower and the followee of each tie, each of shape (ties,)."""
    lengths = followers.ends - followers.starts
    places = np.repeat(followers.starts, lengths) + places_in_lists(lengths)
    return followers.values[places].astype(np.int64), np.repeat(np.arange(len(lengths)), lengths)


def ei_index(tails: Ints, heads: Ints, groups: Ints) -> float:
    """Return the ties between groups less those within, divided by all: -1, all within, to 1, all between.

    Args:
        tails, heads: the follower and the followee of each tie.
        groups: the number of each person's group, from 0 on.

    Source: Krackhardt & Stern (1988), here over directed ties.
    """
    return 1.0 - 2.0 * float(np.mean(groups[tails] == groups[heads])) if len(tails) else 0.0


def modularity(tails: Ints, heads: Ints, groups: Ints) -> float:
    """Return the share of ties within groups less the share expected if ties were drawn by degrees alone: -1 to 1.

    Args:
        tails, heads, groups: as in `ei_index`.

    Source: Leicht & Newman (2008) for directed ties; if all are mutual it is the modularity of Newman & Girvan (2004).
    """
    within, expected = _within(tails, heads, groups)
    return within - expected


def nominal_assortativity(tails: Ints, heads: Ints, groups: Ints) -> float:
    """Return the assortativity of groups: 1 if all ties are within them, 0 if they are as by chance.

    Args:
        tails, heads, groups: as in `ei_index`.

    Source: Newman (2003), equation 2.
    """
    within, expected = _within(tails, heads, groups)
    return (within - expected) / (1.0 - expected) if expected < 1.0 else 0.0


def _within(tails: Ints, heads: Ints, groups: Ints) -> tuple[float, float]:
    """Return the share of ties within groups, and the one expected from how many leave and reach each group."""
    if not len(tails):
        return 0.0, 0.0
    count = int(groups.max()) + 1
    leave, reach = (np.bincount(groups[ends], minlength=count) / len(tails) for ends in (tails, heads))
    return float(np.mean(groups[tails] == groups[heads])), float(leave @ reach)


def assortativity(tails: Ints, heads: Ints, values: Floats) -> float:
    """Return the assortativity of a number: Pearson's correlation over ties of the follower's and the followee's.

    Args:
        tails, heads: as in `ei_index`.
        values: the number of each person.

    Source: Newman (2003), equation 21.
    """
    return correlation(values[tails], values[heads])


def correlation(one: Floats, other: Floats) -> float:
    """Return Pearson's correlation of two numbers of each person, or of each tie: -1 to 1."""
    if len(one) < 2 or is_constant(one) or is_constant(other):
        return 0.0
    one, other = one - one.mean(), other - other.mean()
    return float(np.clip((one @ other) / np.sqrt((one @ one) * (other @ other)), -1.0, 1.0))


def gini(counts: NDArray[np.int64]) -> float:
    """Return Gini's coefficient of what people have, those with nothing included: 0, all alike, to 1 - 1 / people.

    Args:
        counts: what each person has; 0 or more.

    Source: Gini (1912), in the form for sorted values.
    """
    total, size = float(counts.sum()), len(counts)
    if not total:
        return 0.0
    ranks = np.arange(1, size + 1, dtype=np.float64)
    return float(2.0 * (ranks @ np.sort(counts)) / (size * total) - (size + 1) / size)


def variance(values: Floats) -> float:
    """Return the mean squared distance from the mean, over all people."""
    return 0.0 if is_constant(values) else float(np.var(values))


def bimodality(values: Floats) -> float:
    """Return Sarle's bimodality coefficient: 5/9 of a uniform distribution, more of two peaks; 0 to 1.

    Skewness and kurtosis are corrected for the number of people. It is 0 of fewer than four people.

    Source: SAS Institute (1990); Pfister, Schwarz, Janczyk, Dale & Freeman (2013) for the corrections.
    """
    size = len(values)
    if size < 4 or is_constant(values):
        return 0.0
    apart = values - values.mean()
    apart /= np.sqrt(np.mean(apart**2))  # before powers of it, which could be too small for a float
    skew, excess = float(np.mean(apart**3)), float(np.mean(apart**4)) - 3.0
    skew *= np.sqrt(size * (size - 1)) / (size - 2)
    excess = (size - 1) / ((size - 2) * (size - 3)) * ((size + 1) * excess + 6.0)
    return float((skew**2 + 1.0) / (excess + 3.0 * (size - 1) ** 2 / ((size - 2) * (size - 3))))


def is_constant(values: Floats) -> bool:
    """Return whether all values are the same but for rounding, as after a consensus, or there are none."""
    return not len(values) or bool(np.ptp(values) <= ROUNDING * np.abs(values).max())

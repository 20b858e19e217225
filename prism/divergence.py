"""The distance between two distributions of choices, and the embedded view of a question beside an oracle's.

The distance is the Jensen-Shannon divergence in bits, from 0 (the same shares of every option) to 1 (no option in
common). Source: Lin, "Divergence measures based on the Shannon entropy" (1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_TAIL: Final = 0.025


class Reference(NamedTuple):
    """The embedded view of a question that an oracle answers.

    Args:
        relevance: of the post, or whatever the choice is about, to the agent: 0 to 1; None if there is none.
        probabilities: of the options, in their order, by the embedded choice; None if it has none.
    """

    relevance: float | None = None
    probabilities: Sequence[float] | None = None


NO_REFERENCE: Final = Reference()


def moved_interval(resampled: NDArray[np.float64], found: float, widening: float = 1.0) -> tuple[float, float]:
    """Return the ends of the 95% interval of a distance from 0 to 1: the percentiles, moved by the bootstrap's bias.

    The distance of two samples is above 0 even if nothing differs, and that of two resamples is larger still.

    Args:
        resampled: the distance in each resample; found: that of the samples themselves, which the interval holds.
        widening: the factor by which both ends are moved away from the distance.
    """
    mean = float(resampled.mean())
    low, high = (found + widening * (float(end) - mean) for end in np.quantile(resampled, [_TAIL, 1.0 - _TAIL]))
    return max(0.0, min(low, found)), min(1.0, max(high, found))


def jensen_shannon_rows(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the divergence of each pair of rows in bits; each row is of weights, with a positive sum."""
    p, q = (side / side.sum(axis=1, keepdims=True) for side in (first, second))
    mean = (p + q) / 2.0
    total = np.zeros(len(p))
    for side in (p, q):
        ratio = np.divide(side, mean, out=np.ones_like(side), where=side > 0.0)
        total += (side * np.log2(ratio)).sum(axis=1)
    clipped: NDArray[np.float64] = np.clip(total / 2.0, 0.0, 1.0)
    return clipped

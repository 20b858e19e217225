"""A comparison of simulated and real cascades of equal sizes.

Nearly everything about a cascade's shape depends on its size, so only cascades of equal sizes say whether the shape is
right: Juul & Ugander, "Comparing information diffusion mechanisms by matching on cascade size" (2021). Here every
simulated cascade stands beside all real ones whose size is within a tenth of its own, which share its weight. One with
fewer than ten of them is left out: a single real tree would carry the weight of all that have its size.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import Floats
from prism.distribution import effective_number

SIZE_TOLERANCE: Final = 0.1  # the largest difference of the logarithms of two sizes that count as equal
NEIGHBOURS: Final = 10  # the fewest real cascades that a simulated one is compared with


class Comparison(NamedTuple):
    """One number of simulated cascades beside that of real ones of equal sizes."""

    matched: int  # simulated cascades that have enough real ones of their size
    effective: float  # as many real cascades of equal weights would tell as much (Kish 1965)
    # simulated, real: medians
    simulated: float
    real: float
    distance: float  # the Kolmogorov-Smirnov distance, 0 to 1


class Matching:
    """The real cascades that each simulated one is compared with.

    Args:
        simulated: sizes of the simulated cascades, above 0.
        real: sizes of the real ones, above 0.
        tolerance: the largest difference of the logarithms of two sizes that count as equal.
    """

    def __init__(self, simulated: Floats, real: Floats, tolerance: float = SIZE_TOLERANCE) -> None:
        order = np.argsort(real, kind="stable")
        logs = np.log(real[order])
        low = np.searchsorted(logs, np.log(simulated) - tolerance, side="left")
        high = np.searchsorted(logs, np.log(simulated) + tolerance, side="right")
        self.kept = np.flatnonzero(high - low >= NEIGHBOURS)
        """The simulated cascades that have enough real ones of their size."""
        self._order, self._low, self._high = order, low[self.kept], high[self.kept]

    def __len__(self) -> int:
        return len(self.kept)

    def real_weights(self) -> Floats:
        """Return the weight of each real cascade, if each kept simulated one has the weight 1."""
        found = np.empty(len(self._order))
        found[self._order] = _spread(self._low, self._high, len(self._order))
        return found

    def distance(self, simulated: Floats, real: Floats) -> float:
        """Return the Kolmogorov-Smirnov distance of one number of the cascades, 0 to 1; arguments as in `compare`."""
        return distance(simulated[self.kept], np.ones(len(self)), real, self.real_weights())

    def ranks(self, simulated: Floats, real: Floats) -> Floats:
        """Return the rank of each kept cascade among the real ones of its size, 0 to 1; arguments as in `compare`.

        A rank is the share of the real ones that are less, and half of those that are equal.
        """
        ordered, kept = real[self._order], simulated[self.kept]
        found = [
            (np.mean(ordered[low:high] < own) + np.mean(ordered[low:high] <= own)) / 2.0
            for own, low, high in zip(kept, self._low, self._high, strict=True)
        ]
        return np.array(found, dtype=np.float64)

    def compare(self, simulated: Floats, real: Floats) -> Comparison:
        """Compare one number of the cascades.

        Args:
            simulated: the number of every simulated cascade; `real`: of every real one.

        Raises:
            ValueError: no simulated cascade has enough real ones of its size.
        """
        if not len(self):
            raise ValueError("no simulated cascade has enough real ones of its size")
        values, whole, weights = simulated[self.kept], np.ones(len(self)), self.real_weights()
        return Comparison(
            matched=len(self),
            effective=effective_number(weights),
            simulated=weighted_median(values, whole),
            real=weighted_median(real, weights),
            distance=distance(values, whole, real, weights),
        )


def _spread(low: NDArray[np.int64], high: NDArray[np.int64], count: int) -> Floats:
    """Return the sum at each of `count` places of weights of 1 that are spread evenly over the places low to high."""
    share = 1.0 / (high - low)
    steps = np.zeros(count + 1)
    np.add.at(steps, low, share)
    np.add.at(steps, high, -share)
    found: Floats = np.maximum(np.cumsum(steps[:-1]), 0.0)
    found[found < 1e-12 * found.max(initial=0.0)] = 0.0  # rounding leaves tiny values at places without weight
    return found


def distance(one: Floats, one_weights: Floats, other: Floats, other_weights: Floats) -> float:
    """Return the Kolmogorov-Smirnov distance of two weighted samples, 0 to 1."""
    points = np.unique(np.concatenate((one, other)))
    return float(np.abs(_shares(one, one_weights, points) - _shares(other, other_weights, points)).max())


def weighted_median(values: Floats, weights: Floats) -> float:
    """Return the smallest value at which half of the weight is reached."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2.0 * (1.0 - 1e-12))])


def _shares(values: Floats, weights: Floats, points: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    reached = np.concatenate(([0.0], np.cumsum(weights[order])))
    shares: Floats = reached[np.searchsorted(values[order], points, side="right")] / reached[-1]
    return shares

"""A comparison of simulated and real cascades of equal sizes.

Nearly everything about a cascade's shape depends on its size, so only cascades of equal sizes say whether the shape is
right: Juul & Ugander, "Comparing information diffusion mechanisms by matching on cascade size" (2021). Here every
simulated cascade stands beside all real ones whose size is within a tenth of its own, which share its weight. One with
fewer than ten of them is left out: a single real tree would carry the weight of all that have its size.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import Floats
from prism.distribution import NORMAL, effective_number, moved_interval, student

SIZE_TOLERANCE: Final = 0.1  # the largest difference of the logarithms of two sizes that count as equal
NEIGHBOURS: Final = 10  # the fewest real cascades that a simulated one is compared with
RESAMPLES: Final = 400  # resamples behind an interval
INTERVAL: Final = (2.5, 97.5)  # the percentiles of an interval of 95%
FEWEST: Final = 2.0
"""Intervals assume at least this many authors of equal weights, though one may have nearly all cascades."""


class Comparison(NamedTuple):
    """One number of simulated cascades beside that of real ones of equal sizes."""

    matched: int  # simulated cascades that have enough real ones of their size
    authors: int  # people who wrote their originals
    effective: float  # as many real cascades of equal weights would tell as much (Kish 1965)
    # simulated, real: medians
    simulated: float
    # simulated_low, simulated_high: 95% interval of the simulated median over resampled authors
    simulated_low: float
    simulated_high: float
    real: float
    distance: float  # the Kolmogorov-Smirnov distance, 0 to 1
    # distance_low, distance_high: its 95% interval, moved by the bias of the resamples, and wider for few authors
    distance_low: float
    distance_high: float


class Matching:
    """The real cascades that each simulated one is compared with.

    Args:
        simulated: sizes of the simulated cascades, above 0.
        real: sizes of the real ones, above 0.
        authors: the author of each simulated one, in any numbering; None if each has one of its own.
        tolerance: the largest difference of the logarithms of two sizes that count as equal.
        seed: of the resamples.
    """

    def __init__(
        self,
        simulated: Floats,
        real: Floats,
        authors: NDArray[np.int64] | None = None,
        *,
        tolerance: float = SIZE_TOLERANCE,
        seed: int = 0,
    ) -> None:
        order = np.argsort(real, kind="stable")
        logs = np.log(real[order])
        low = np.searchsorted(logs, np.log(simulated) - tolerance, side="left")
        high = np.searchsorted(logs, np.log(simulated) + tolerance, side="right")
        self.kept = np.flatnonzero(high - low >= NEIGHBOURS)
        """The simulated cascades that have enough real ones of their size."""
        of = np.arange(len(simulated)) if authors is None else authors
        names, self._authors = np.unique(of[self.kept], return_inverse=True)
        self.authors = len(names)  # the people who wrote the originals of those
        self._order, self._low, self._high = order, low[self.kept], high[self.kept]
        self._random = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self.kept)

    def real_weights(self, weights: Floats) -> Floats:
        """Return the weight of each real cascade, if the kept simulated ones have these."""
        found = np.empty(len(self._order))
        found[self._order] = _spread(weights, self._low, self._high, len(self._order))
        return found

    def distance(self, simulated: Floats, real: Floats) -> float:
        """Return the Kolmogorov-Smirnov distance of one number of the cascades, 0 to 1; arguments as in `compare`."""
        whole = np.ones(len(self))
        return distance(simulated[self.kept], whole, real, self.real_weights(whole))

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

    def drawn(self) -> Floats:
        """Return how often each kept cascade is in a resample of the authors, whose cascades come and go together."""
        times = np.bincount(self._random.integers(self.authors, size=self.authors), minlength=self.authors)
        counts: Floats = times[self._authors].astype(np.float64)
        return counts

    def compare(self, simulated: Floats, real: Floats) -> Comparison:
        """Compare one number of the cascades.

        Args:
            simulated: the number of every simulated cascade; `real`: of every real one.

        Raises:
            ValueError: no simulated cascade has enough real ones of its size.
        """
        if not len(self):
            raise ValueError("no simulated cascade has enough real ones of its size")
        values, whole = simulated[self.kept], np.ones(len(self))
        weights = self.real_weights(whole)
        medians, distances = [], []
        for _ in range(RESAMPLES):
            drawn = self.drawn()
            medians.append(weighted_median(values, drawn))
            distances.append(distance(values, drawn, real, self.real_weights(drawn)))
        low, high = np.percentile(medians, INTERVAL)
        found = distance(values, whole, real, weights)
        # An interval from few resampled authors is too narrow: widen it as Student's is wider than the normal curve.
        count = max(FEWEST, effective_number(np.bincount(self._authors).astype(np.float64)))
        widening = student(count - 1.0) / NORMAL * math.sqrt(count / (count - 1.0))
        distance_low, distance_high = moved_interval(np.array(distances), found, widening)
        return Comparison(
            matched=len(self),
            authors=self.authors,
            effective=effective_number(weights),
            simulated=weighted_median(values, whole),
            simulated_low=float(low),
            simulated_high=float(high),
            real=weighted_median(real, weights),
            distance=found,
            distance_low=distance_low,
            distance_high=distance_high,
        )


def _spread(weights: Floats, low: NDArray[np.int64], high: NDArray[np.int64], count: int) -> Floats:
    """Return the sum at each of `count` places of weights that are spread evenly over the places from low to high."""
    share = weights / (high - low)
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

"""A comparison of simulated and real cascades of equal sizes.

Nearly everything about a cascade's shape depends on its size, so only cascades of equal sizes say whether the shape is
right: Juul & Ugander, "Comparing information diffusion mechanisms by matching on cascade size" (2021). Here every
simulated cascade stands beside all real ones whose size is within a tenth of its own, which share its weight.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.divergence import moved_interval

Floats = NDArray[np.float64]

SIZE_TOLERANCE: Final = 0.1
"""The largest difference of the logarithms of two sizes that count as equal."""
RESAMPLES: Final = 400
"""Resamples behind an interval."""
INTERVAL: Final = (2.5, 97.5)
"""The percentiles of an interval of 95%."""


class Comparison(NamedTuple):
    """One number of simulated cascades beside that of real ones of equal sizes.

    Args:
        matched: simulated cascades that have real ones of their size.
        simulated, real: medians.
        simulated_low, simulated_high: 95% interval of the simulated median over resampled cascades.
        distance: the Kolmogorov-Smirnov distance, 0 to 1.
        distance_low, distance_high: its 95% interval, moved by the bias of the resamples.
        between_samples: the median distance of two samples of the real cascades, each as large as the simulated one.
    """

    matched: int
    simulated: float
    simulated_low: float
    simulated_high: float
    real: float
    distance: float
    distance_low: float
    distance_high: float
    between_samples: float


class Matching:
    """The real cascades that each simulated one is compared with.

    Args:
        simulated: sizes of the simulated cascades, above 0.
        real: sizes of the real ones, above 0.
        seed: of the resamples.
    """

    def __init__(self, simulated: Floats, real: Floats, seed: int = 0) -> None:
        order = np.argsort(real, kind="stable")
        logs = np.log(real[order])
        low = np.searchsorted(logs, np.log(simulated) - SIZE_TOLERANCE, side="left")
        high = np.searchsorted(logs, np.log(simulated) + SIZE_TOLERANCE, side="right")
        self.kept = np.flatnonzero(high > low)
        """The simulated cascades that have real ones of their size."""
        self._order, self._low, self._high = order, low[self.kept], high[self.kept]
        self._random = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self.kept)

    def real_weights(self, weights: Floats) -> Floats:
        """Return the weight of each real cascade, if the kept simulated ones have these."""
        share = weights / (self._high - self._low)
        steps = np.zeros(len(self._order) + 1)
        np.add.at(steps, self._low, share)
        np.add.at(steps, self._high, -share)
        found = np.empty(len(self._order))
        found[self._order] = np.maximum(np.cumsum(steps[:-1]), 0.0)
        return found

    def compare(self, simulated: Floats, real: Floats) -> Comparison:
        """Compare one number of the cascades.

        Args:
            simulated: the number of every simulated cascade; `real`: of every real one.

        Raises:
            ValueError: no simulated cascade has a real one of its size.
        """
        if not len(self):
            raise ValueError("no simulated cascade has a real one of its size")
        values, count = simulated[self.kept], len(self)
        whole = np.ones(count)
        weights = self.real_weights(whole)
        medians, distances, floors = [], [], []
        for _ in range(RESAMPLES):
            drawn = np.bincount(self._random.integers(count, size=count), minlength=count).astype(np.float64)
            medians.append(weighted_median(values, drawn))
            distances.append(distance(values, drawn, real, self.real_weights(drawn)))
            one, other = (self._random.choice(real, size=count, p=weights / weights.sum()) for _ in range(2))
            floors.append(distance(one, whole, other, whole))
        low, high = np.percentile(medians, INTERVAL)
        found = distance(values, whole, real, weights)
        distance_low, distance_high = moved_interval(np.array(distances), found)
        return Comparison(
            matched=count,
            simulated=weighted_median(values, whole),
            simulated_low=float(low),
            simulated_high=float(high),
            real=weighted_median(real, weights),
            distance=found,
            distance_low=distance_low,
            distance_high=distance_high,
            between_samples=float(np.median(floors)),
        )


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
    """Return the share of the weight at or below each point."""
    order = np.argsort(values, kind="stable")
    reached = np.concatenate(([0.0], np.cumsum(weights[order])))
    shares: Floats = reached[np.searchsorted(values[order], points, side="right")] / reached[-1]
    return shares

"""The posterior of parameters by regression-adjusted approximate Bayesian computation.

Runs are spread over the ranges. A first regression turns their statistics into guesses of the parameters (Fearnhead &
Prangle 2012), the runs whose guesses are near those of the data are accepted, and a second regression, local and
weighted, moves them to the data (Beaumont, Zhang & Balding 2002). What is moved out of a range is put on its end.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec
import numpy as np

from prism.calibration.parameters import Floats

ACCEPTED_SHARE: Final = 0.35
ACCEPTED_LEAST: Final = 40
RUNS_PER_PARAMETER: Final = 6
"""The fewest runs for each parameter from which a posterior is made."""
FOLDS: Final = 10
VARIES: Final = 0.05
"""The spread of guesses, as a share of the range, from which they tell of a parameter."""
INTERVAL: Final = (0.05, 0.95)


class Posterior(msgspec.Struct, frozen=True, kw_only=True):
    """Weighted draws of a posterior.

    Args:
        places: of the parameters in their ranges, 0 to 1; (draws, parameters).
        weights: of the draws; they add up to 1.
    """

    places: Floats
    weights: Floats

    def quantiles(self, shares: tuple[float, ...]) -> Floats:
        """Return the quantiles of each parameter; (parameters, shares)."""
        return np.array([_quantiles(column, self.weights, shares) for column in self.places.T])

    def mean(self) -> Floats:
        """Return the mean of each parameter."""
        found: Floats = self.weights @ self.places
        return found

    def correlations(self) -> Floats:
        """Return the correlations of the parameters; 0 where one does not vary."""
        apart = self.places - self.mean()
        covariance = (apart * self.weights[:, None]).T @ apart
        spread = np.sqrt(np.maximum(np.diag(covariance), 1e-18))
        found: Floats = covariance / np.outer(spread, spread)
        return found

    def draws(self, count: int, seed: int) -> Floats:
        """Return draws of equal weight; (count, parameters)."""
        chosen = np.random.default_rng(seed).choice(len(self.places), size=count, p=self.weights)
        found: Floats = self.places[chosen]
        return found


class Inference:
    """A regression of parameters on the statistics of runs over the ranges.

    Args:
        places: of the parameters of each run; (runs, parameters), 0 to 1.
        statistics: of each run; (runs, statistics).
    """

    def __init__(self, places: Floats, statistics: Floats) -> None:
        self._middle, spread = statistics.mean(axis=0), statistics.std(axis=0)
        self._spread = np.where(spread > 0.0, spread, 1.0)
        self._places = places
        from sklearn.linear_model import RidgeCV  # noqa: PLC0415  # half a second, which other commands do without

        self._is_curved = statistics.shape[1] * (statistics.shape[1] + 3) // 2 <= len(places) // 3
        self._ridge = RidgeCV(alphas=np.logspace(-3, 4, 15)).fit(self._features(statistics), places)
        self._guesses = self._honest_guesses(statistics, places)

    def _honest_guesses(self, statistics: Floats, places: Floats) -> Floats:
        """Return the guess of each run by a regression that has not seen it: else the intervals would be too narrow."""
        from sklearn.linear_model import Ridge  # noqa: PLC0415  # half a second

        features, found = self._features(statistics), np.empty_like(places)
        middle, part_of = features.mean(axis=0), np.arange(len(places)) % FOLDS
        for fold in range(FOLDS):
            own = part_of == fold
            fitted = Ridge(alpha=self._ridge.alpha_).fit(features[~own], places[~own])
            # Without the mean of the others, which is low where a run is high: that alone would tell of the run.
            found[own] = (features[own] - middle) @ np.atleast_2d(fitted.coef_).T + places.mean(axis=0)
        return found

    def _features(self, statistics: Floats) -> Floats:
        """Return the statistics in standard units, with their products where there are runs enough."""
        units: Floats = np.clip((statistics - self._middle) / self._spread, -6.0, 6.0)
        if not self._is_curved:
            return units
        one, other = np.triu_indices(units.shape[1])
        found: Floats = np.hstack((units, units[:, one] * units[:, other]))
        return found

    def _guess(self, statistics: Floats) -> Floats:
        guesses: Floats = np.asarray(self._ridge.predict(self._features(statistics))).reshape(len(statistics), -1)
        return guesses

    def posterior(self, wanted: Floats) -> Posterior:
        """Return the posterior given the statistics of the data."""
        from sklearn.linear_model import Ridge  # noqa: PLC0415  # half a second

        away = self._guesses - self._guess(wanted[None, :])
        distances = np.sqrt((away**2).sum(axis=1))
        count = min(len(away), max(ACCEPTED_LEAST, round(ACCEPTED_SHARE * len(away))))
        near = np.argsort(distances, kind="stable")[:count]
        width = distances[near[-1]] * (1 + 1e-9) or 1.0
        weights = 1.0 - (distances[near] / width) ** 2 + 1e-6
        # A guess is the mean of the parameter already, so the regression is of what is left, and of guesses that vary.
        rest = self._places[near] - away[near]
        local = Ridge(alpha=weights.sum() * VARIES**2).fit(away[near], rest, sample_weight=weights)
        left = rest - np.reshape(local.predict(away[near]), rest.shape)  # of one parameter it predicts a row
        effective = weights.sum() ** 2 / (weights**2).sum()
        inflated = math.sqrt(
            effective / max(1.0, effective - away.shape[1] - 1)
        )  # for the coefficients that were fitted
        moved = local.intercept_ + left * inflated
        return Posterior(places=np.clip(moved, 0.0, 1.0), weights=weights / weights.sum())


def _quantiles(values: Floats, weights: Floats, shares: tuple[float, ...]) -> Floats:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) - weights[order] / 2.0
    found: Floats = np.interp(shares, reached / weights.sum(), values[order])
    return found

"""The posterior of parameters, given the statistics of the data, with emulators of the runs in between, and its test.

Runs are spread over the ranges, and an emulator learns each of their statistics. The likelihood of the data at some
values of the parameters is a normal law around the predictions of the emulators. Its variance is the sum of the
variance between seeds, that of the emulators, and that of the data. Draws first come from the ranges, weighted by the
likelihood, and then from around the best draws, until enough of them count (importance sampling with a defensive part:
Owen & Zhou 2000). In the test runs serve as data, and their true parameters get ranks in the posteriors.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.calibration.calibration_file import Parameters, snapped
from prism.columns import Floats
from prism.distribution import effective_number

INTERVAL: Final = (0.05, 0.95)
SPREAD_LOG2: Final = 12  # the logarithm of the number of draws over all ranges
DRAWS: Final = 2048  # draws from around the first ones
ENOUGH: Final = 0.2  # drawing stops when the effective number reaches this share of the draws
ROUNDS: Final = 5
BISECTIONS: Final = 30
TEMPERED: Final = 40  # the effective number of draws that the tempered weights must keep
CENTRES: Final = 200
DEFENSIVE: Final = 0.1  # the part of later draws that comes from all ranges
TINY: Final = 1e-8


class Datum(msgspec.Struct, frozen=True, kw_only=True):
    value: float  # the number; NaN if it is not known
    error: float = 0.0  # its standard error

    def of_run(self, statistic: float, random: np.random.Generator) -> Datum:
        """Return the datum if the data had the statistic of a run, with the errors that the data have."""
        return msgspec.structs.replace(self, value=statistic + self.error * random.normal())


class Posterior(msgspec.Struct, frozen=True, kw_only=True):
    """Weighted draws of a posterior."""

    places: Floats  # of the parameters in their ranges, 0 to 1; (draws, parameters)
    weights: Floats  # of the draws; they add up to 1

    @property
    def effective(self) -> float:
        """The effective number of draws: as many draws of equal weight tell as much."""
        return effective_number(self.weights)

    def quantiles(self, shares: tuple[float, ...]) -> Floats:
        """Return the quantiles of each parameter; (parameters, shares)."""
        found = []
        for values in self.places.T:
            order = np.argsort(values, kind="stable")
            reached = np.cumsum(self.weights[order]) - self.weights[order] / 2.0
            found.append(np.interp(shares, reached / self.weights.sum(), values[order]))
        return np.array(found)

    def mean(self) -> Floats:
        return np.asarray(self.weights @ self.places)

    def correlations(self) -> Floats:
        covariance = _covariance(self.places, self.weights)
        spread = np.sqrt(np.maximum(np.diag(covariance), 1e-18))
        return np.asarray(covariance / np.outer(spread, spread))

    def draws(self, count: int, seed: int) -> Floats:
        """Return draws of equal weight; (count, parameters)."""
        return self.places[np.random.default_rng(seed).choice(len(self.places), size=count, p=self.weights)]


class Inference:
    """Emulators of the statistics of runs over the ranges.

    Args:
        parameters: what is fitted.
        places: of the parameters of each run; (runs, parameters), 0 to 1.
        statistics: of each run; (runs, statistics), NaN where a run has none.
        kernels: `{statistic: its kernel}` of emulators of the same statistics; those that it lacks are learned.
    """

    def __init__(
        self,
        parameters: Parameters,
        places: Floats,
        statistics: Floats,
        kernels: Mapping[int, Any] | None = None,
    ) -> None:
        from scipy.stats import qmc  # noqa: PLC0415  # half a second, which other commands do without
        from sklearn.covariance import ledoit_wolf  # noqa: PLC0415

        self._parameters, self._places, self._statistics = parameters, places, statistics
        is_there = np.isfinite(statistics)
        self._used = [place for place, column in enumerate(statistics.T) if np.nanstd(column) > 0.0]
        """The statistics that vary between runs: a constant one tells nothing."""
        self._emulators = [
            Emulator(places[is_there[:, each]], statistics[is_there[:, each], each], (kernels or {}).get(each))
            for each in self._used
        ]
        errors = np.zeros((len(places), len(self._used)))
        for place, emulator in enumerate(self._emulators):
            errors[is_there[:, self._used[place]], place] = emulator.errors
        # The statistics of a run are correlated: taken as independent, they would tell too much.
        whole = errors[is_there[:, self._used].all(axis=1)]
        self._together = ledoit_wolf(whole, assume_centered=True)[0] if self._used else np.empty((0, 0))
        sobol = qmc.Sobol(len(parameters), scramble=True, seed=0)
        self._spread = snapped(parameters, sobol.random_base2(SPREAD_LOG2))
        self._predicted = self._predict(self._spread)

    def without(self, runs: NDArray[np.bool_]) -> Inference:
        """Return an inference with the same kernels that has not seen some runs; (runs,), true for a left-out run."""
        # By statistic and not by place: one that varies only in the left-out runs has no emulator in the copy.
        kernels = {each: emulator.kernel for each, emulator in zip(self._used, self._emulators, strict=True)}
        return Inference(self._parameters, self._places[~runs], self._statistics[~runs], kernels)

    def posterior(self, data: Sequence[Datum], draws: int = DRAWS, seed: int = 0) -> Posterior:
        """Return the posterior given the statistics of the data."""
        random, places = np.random.default_rng(seed), self._spread
        likelihoods = self._log_likelihoods(self._predicted, data)
        densities = np.zeros(len(places))
        weights = _weights(likelihoods)
        for _ in range(ROUNDS):
            if effective_number(weights) >= ENOUGH * draws:
                break
            # The weights under the largest power of the likelihood, at most 1, with which enough draws count.
            low, high = 0.0, 1.0
            for _ in range(BISECTIONS):
                power = (low + high) / 2.0
                is_enough = effective_number(_weights(power * likelihoods - densities)) >= TEMPERED
                low, high = (power, high) if is_enough else (low, power)
            places, densities = _drawn_near(places, _weights(low * likelihoods - densities), draws, random)
            places = snapped(self._parameters, places)
            likelihoods = self._log_likelihoods(self._predict(places), data)
            weights = _weights(likelihoods - densities)
        return Posterior(places=places, weights=weights)

    def reach(self, posterior: Posterior, data: Sequence[Datum]) -> float:
        """Return how likely data as far from the runs as these are, at the mean of their posterior (chi-squared)."""
        from scipy.stats import chi2  # noqa: PLC0415  # half a second

        scaled, _ = self._scaled(self._predict(posterior.mean()[None]), data)
        return float(chi2.sf((scaled**2).sum(), scaled.shape[1]))

    def _predict(self, places: Floats) -> tuple[Floats, Floats, Floats]:
        """Return means, variances of the means and variances between seeds; (places, statistics) each."""
        found = np.array([each.predict(places) for each in self._emulators])
        whole = found if len(found) else np.empty((0, 3, len(places)))
        return whole[:, 0].T, whole[:, 1].T, whole[:, 2].T

    def _scaled(self, predicted: tuple[Floats, Floats, Floats], data: Sequence[Datum]) -> tuple[Floats, Floats]:
        """Return how far the numbers of the data are from those predicted at each place.

        They are in standard deviations, and independent; (places, numbers). The other array has the logarithm of the
        volume of one standard deviation; (places,).
        """
        means, unsure, noise = predicted
        asked = [data[each] for each in self._used]
        numbers = [at for at, each in enumerate(asked) if math.isfinite(each.value)]
        apart = np.array([asked[at].value for at in numbers]) - means[:, numbers]
        errors = np.array([asked[at].error ** 2 for at in numbers])
        deviations = np.sqrt(noise[:, numbers])
        covariance = self._together[np.ix_(numbers, numbers)] * deviations[:, :, None] * deviations[:, None, :]
        diagonal = np.arange(len(numbers))
        covariance[:, diagonal, diagonal] += unsure[:, numbers] + errors
        roots = np.linalg.cholesky(covariance)
        volumes = np.log(roots[:, diagonal, diagonal]).sum(axis=1)
        return np.asarray(np.linalg.solve(roots, apart[:, :, None])[:, :, 0], dtype=np.float64), volumes

    def _log_likelihoods(self, predicted: tuple[Floats, Floats, Floats], data: Sequence[Datum]) -> Floats:
        """Return the logarithm of the likelihood of the data at each place, but for a constant."""
        scaled, volumes = self._scaled(predicted, data)
        return np.asarray(-0.5 * (scaled**2).sum(axis=1) - volumes)


def _weights(logarithms: Floats) -> Floats:
    raw = np.exp(logarithms - logarithms.max())
    return np.asarray(raw / raw.sum())


def _drawn_near(places: Floats, weights: Floats, count: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return draws around weighted places, and some from all ranges, with the logarithms of their densities.

    The normal laws are as wide as all the places. With narrower ones, a few draws in a far tail could weigh more than
    all others. Draws outside of the ranges are left out.
    """
    from scipy.spatial.distance import cdist  # noqa: PLC0415  # half a second

    parameters = places.shape[1]
    centres = places[random.choice(len(places), size=CENTRES, p=weights)]
    root = np.linalg.cholesky(_covariance(places, weights) + TINY * np.eye(parameters))
    near = centres[random.integers(CENTRES, size=count)] + random.normal(size=(count, parameters)) @ root.T
    anywhere = random.random((count, parameters))
    drawn = np.where(random.random(count)[:, None] < DEFENSIVE, anywhere, near)
    drawn = drawn[((drawn >= 0.0) & (drawn <= 1.0)).all(axis=1)]
    scaled, around = (np.linalg.solve(root, each.T).T for each in (drawn, centres))
    law = np.exp(-0.5 * cdist(scaled, around, "sqeuclidean")).mean(axis=1)
    law /= (2.0 * math.pi) ** (parameters / 2.0) * np.prod(np.diag(root))
    return drawn, np.log(DEFENSIVE + (1.0 - DEFENSIVE) * law)


def _covariance(places: Floats, weights: Floats) -> Floats:
    apart = places - weights @ places
    return np.asarray((apart * weights[:, None]).T @ apart)


LEARNED_FROM: Final = 300
"""The most runs from which a kernel is learned: the time grows with their cube. All runs count for the predictions."""
DIGITS: Final = 2  # Kernels are rounded to these digits, because optimisers differ in later ones between processors
NOISE_PENALTY: Final = 0.01
NOISE_LEAST: Final = 1e-9


class Emulator:
    """A Gaussian process for one statistic, whose noise changes over the ranges.

    A first process has the same noise everywhere. A gamma regression on its squared leave-one-out errors gives the
    noise at each place, and a second process takes that noise as given.

    Args:
        places: of the parameters of each run; (runs, parameters), 0 to 1.
        values: of the statistic, which vary; (runs,).
        kernel: the kernel that another emulator learned for this statistic; None to learn one.

    Source: Rasmussen & Williams (2006), section 5.4.2 for the errors; Goldberg, Williams & Bishop (1997) for the noise.
    """

    def __init__(self, places: Floats, values: Floats, kernel: Any = None) -> None:
        from scipy.linalg import cho_solve  # noqa: PLC0415  # half a second, which other commands do without
        from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: PLC0415
        from sklearn.linear_model import GammaRegressor  # noqa: PLC0415

        self._middle, self._spread = float(values.mean()), float(values.std())
        units = (values - self._middle) / self._spread
        self.kernel = _learned(places[:LEARNED_FROM], units[:LEARNED_FROM]) if kernel is None else kernel
        alike = GaussianProcessRegressor(self.kernel, optimizer=None).fit(places, units)
        precisions = np.diag(cho_solve((alike.L_, True), np.eye(len(units))))
        errors = alike.alpha_.ravel() / np.sqrt(precisions)
        self._noise = GammaRegressor(alpha=NOISE_PENALTY).fit(places - 0.5, errors**2 + NOISE_LEAST)
        times = self._noise.predict(places - 0.5)
        self.errors: Floats = errors / np.sqrt(times)  # the leave-one-out error of each run, in its standard deviations
        self._process = GaussianProcessRegressor(
            self.kernel.k1, alpha=NOISE_LEAST + self.kernel.k2.noise_level * times, optimizer=None
        ).fit(places, units)

    def predict(self, places: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the mean of the statistic at places, the variance of that mean, and the variance between seeds."""
        means, deviations = self._process.predict(places, return_std=True)
        noise = NOISE_LEAST + self.kernel.k2.noise_level * self._noise.predict(places - 0.5)
        return self._middle + self._spread * means, (self._spread * deviations) ** 2, self._spread**2 * noise


def _learned(places: Floats, units: Floats) -> Any:
    """Return the kernel under which the values are likeliest: a smooth part, and noise."""
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415  # half a second
    from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: PLC0415
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel  # noqa: PLC0415

    smooth = ConstantKernel(1.0, (1e-3, 1e3)) * Matern(np.ones(places.shape[1]), (0.1, 30.0), nu=2.5)
    with warnings.catch_warnings():  # a parameter without a trace is at its bound, as it should be
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = GaussianProcessRegressor(smooth + WhiteKernel(0.5, (1e-5, 2.0))).fit(places, units).kernel_
    return found.clone_with_theta(np.round(found.theta, DIGITS))


PARTS: Final = 10  # the parts of the runs: emulators that are tested on one part learn from the other parts
TRUTHS: Final = 300  # the most runs that are taken for the data: more would tell little more
TRUTH_DRAWS: Final = 512
BINS: Final = 10
COVERED: Final = INTERVAL[1] - INTERVAL[0]
UNLIKELY: Final = 0.01
"""Ranks are not uniform if such ones are less likely than this, in all parameters together (Bonferroni)."""


class TruthRanks(msgspec.Struct, frozen=True, kw_only=True):
    """The ranks of the known truths of one parameter among the draws of their posteriors."""

    parameter: str
    truths: int
    coverage: float  # the share of the truths that are in their 90% intervals
    coverage_error: float  # its standard error, if the intervals are right
    likelihood: float  # how likely ranks as far from uniform are, if the posteriors are right; of a chi-squared test
    is_uniform: bool  # whether they can be taken for uniform, as those of right posteriors are


def ranked(
    parameters: Parameters, places: Floats, statistics: Floats, inference: Inference, data: Sequence[Datum]
) -> list[TruthRanks]:
    """Return the ranks of each parameter's truths, over runs that are taken for the data once each.

    Args:
        places: of the parameters of each run; (runs, parameters), 0 to 1.
        statistics: of each run; (runs, statistics).
        inference: from all these runs. Emulators take its kernels, and learn nothing else from the runs they are
            tested on.
        data: statistics of the data, for their limits and errors.

    Source: Talts, Betancourt, Simpson, Vehtari & Gelman (2018).
    """
    random, part_of = np.random.default_rng(0), np.arange(len(places)) * PARTS // len(places)
    ranks = list[Floats]()
    for part in range(part_of[min(TRUTHS, len(places)) - 1] + 1):
        others = inference.without(part_of == part)
        for run in np.flatnonzero(part_of[:TRUTHS] == part):
            known = [each.of_run(float(value), random) for each, value in zip(data, statistics[run], strict=True)]
            posterior = others.posterior(known, draws=TRUTH_DRAWS, seed=int(run))
            own, weights = places[run], posterior.weights
            below, same = weights @ (posterior.places < own), weights @ (posterior.places == own)
            ranks.append(below + random.random(len(parameters)) * same)
    return [_judged(name, each, len(parameters)) for name, each in zip(parameters, np.array(ranks).T, strict=True)]


def _judged(name: str, ranks: Floats, parameters: int) -> TruthRanks:
    from scipy.stats import chisquare  # noqa: PLC0415  # half a second

    counts, _ = np.histogram(ranks, bins=BINS, range=(0.0, 1.0))
    likelihood = float(chisquare(counts).pvalue)
    return TruthRanks(
        parameter=name,
        truths=len(ranks),
        coverage=float(((INTERVAL[0] <= ranks) & (ranks <= INTERVAL[1])).mean()),
        coverage_error=math.sqrt(COVERED * (1 - COVERED) / len(ranks)),
        likelihood=likelihood,
        is_uniform=likelihood >= UNLIKELY / parameters,
    )

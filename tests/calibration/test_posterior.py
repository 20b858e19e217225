"""Posteriors beside exact ones, and the ranks of known truths."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from prism.calibration.calibration_file import design_places
from prism.calibration.posterior import Datum, Inference, Posterior
from prism.columns import Floats
from prism.experiment.design import Range

threadpoolctl = pytest.importorskip("threadpoolctl")

PARAMETERS = {"x": Range(low=0.0, high=1.0), "y": Range(low=0.0, high=1.0)}
EFFECTS = np.array([[1.0, 0.0], [1.0, 1.0]])
NOISE = np.array([[0.0025, 0.002], [0.002, 0.0025]])
"""What moves one statistic of a run moves the other."""
RUNS = 110


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Work as a calibration does: several threads take longer on matrices of this size."""
    with threadpoolctl.threadpool_limits(1):
        yield


def runs(seed: int = 3) -> tuple[Floats, Floats]:
    """Return places and statistics of a linear model with normal noise."""
    places = design_places(PARAMETERS, RUNS, seed)
    noise = np.random.default_rng(seed).multivariate_normal([0.0, 0.0], NOISE, size=RUNS)
    return places, places @ EFFECTS.T + noise


def spread(posterior: Posterior) -> Floats:
    found: Floats = np.sqrt(posterior.weights @ (posterior.places - posterior.mean()) ** 2)
    return found


def exact(noise: Floats) -> tuple[Floats, float]:
    """Return the standard deviations and the correlation of the posterior of the linear model."""
    covariance = np.linalg.inv(EFFECTS.T @ np.linalg.inv(noise) @ EFFECTS)
    deviations = np.sqrt(np.diag(covariance))
    return deviations, float(covariance[0, 1] / np.prod(deviations))


def test_the_posterior_of_a_linear_model_is_the_exact_one() -> None:
    error = 0.08
    data = [Datum(value=0.5, error=error), Datum(value=0.9, error=error)]
    posterior = Inference(PARAMETERS, *runs()).posterior(data)
    deviations, correlation = exact(NOISE + error**2 * np.eye(2))
    assert posterior.mean() == pytest.approx([0.5, 0.4], abs=0.02)
    assert spread(posterior) == pytest.approx(deviations, rel=0.15)
    assert posterior.correlations()[0, 1] == pytest.approx(correlation, abs=0.12)


def test_a_statistic_that_never_varies_or_that_the_data_lack_tells_nothing() -> None:
    places, statistics = runs()
    inference = Inference(PARAMETERS, places, np.column_stack((statistics[:, 0], np.ones(RUNS))))
    nothing = inference.posterior([Datum(value=math.nan), Datum(value=5.0)])
    assert spread(nothing) == pytest.approx([math.sqrt(1 / 12)] * 2, rel=0.02)


def test_a_posterior_much_narrower_than_the_ranges_has_draws_that_count() -> None:
    places = design_places(PARAMETERS, RUNS, 5)
    posterior = Inference(PARAMETERS, places, places @ EFFECTS.T + 0.001 * np.sin(1e6 * places)).posterior(
        [Datum(value=0.5), Datum(value=0.9)]
    )
    assert 1.0 / (posterior.weights**2).sum() > 300
    assert posterior.mean() == pytest.approx([0.5, 0.4], abs=0.001)

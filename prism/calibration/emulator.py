"""Emulators: what a run's statistics would be at any values of the parameters, and how far seeds move them."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np

from prism.calibration.parameters import Floats

LEARNED_FROM: Final = 300
"""The most runs from which a kernel is learned: the time grows with their cube. All runs count for the predictions."""
DIGITS: Final = 2
"""Kernels are rounded to these digits, because optimisers differ in later ones between processors."""
NOISE_PENALTY: Final = 0.01
TINY: Final = 1e-9


class Emulator:
    """A Gaussian process for one statistic, whose noise changes over the ranges.

    A first process has the same noise everywhere. The squares of its leave-one-out errors tell where there is more of
    it and where less, by a gamma regression; a second process takes that noise as given.

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
        self._noise = GammaRegressor(alpha=NOISE_PENALTY).fit(places - 0.5, errors**2 + TINY)
        times = self._noise.predict(places - 0.5)
        self.errors: Floats = errors / np.sqrt(times)
        """The leave-one-out error of each run, in its standard deviations."""
        self._process = GaussianProcessRegressor(
            self.kernel.k1, alpha=TINY + self.kernel.k2.noise_level * times, optimizer=None
        ).fit(places, units)

    def predict(self, places: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the mean of the statistic at places, the variance of that mean, and the variance between seeds."""
        means, deviations = self._process.predict(places, return_std=True)
        noise = TINY + self.kernel.k2.noise_level * self._noise.predict(places - 0.5)
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

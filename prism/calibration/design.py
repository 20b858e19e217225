"""Screening by Morris, and the design over the ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np

from prism.calibration.parameters import Floats, Parameter

LEVELS: Final = 4
TRAJECTORIES_LEAST: Final = 2


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """The elementary effects of a parameter on the fitted distance. Source: Morris (1991), Campolongo et al. (2007).

    Args:
        mean: the mean size of the effects of a step through two thirds of the range.
        spread: their standard deviation: large where the effect depends on other parameters.
    """

    parameter: str
    mean: float
    spread: float


def _problem(parameters: Sequence[Parameter]) -> dict[str, Any]:
    names = [each.setting for each in parameters]
    return {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}


def trajectories_of(parameters: int, runs: int) -> int:
    """Return the number of Morris's trajectories that so many runs allow: two at least, or none."""
    trajectories = runs // (parameters + 1)
    return trajectories if trajectories >= TRAJECTORIES_LEAST else 0


def screening_places(parameters: Sequence[Parameter], runs: int, seed: int) -> Floats:
    """Return the places of Morris's trajectories: as many whole ones as the runs allow, two at least, or none."""
    trajectories = trajectories_of(len(parameters), runs)
    if not trajectories:
        return np.empty((0, len(parameters)))
    from SALib.sample import morris  # noqa: PLC0415  # a second, which other commands do without

    found: Floats = morris.sample(_problem(parameters), trajectories, num_levels=LEVELS, seed=seed)
    return found


def screened(parameters: Sequence[Parameter], places: Floats, distances: Sequence[float], seed: int) -> list[Effect]:
    """Return the effects, the largest first."""
    from SALib.analyze import morris  # noqa: PLC0415  # a second

    found = morris.analyze(_problem(parameters), places, np.array(distances), num_levels=LEVELS, seed=seed)
    effects = [
        Effect(parameter=each.setting, mean=float(found["mu_star"][place]), spread=float(found["sigma"][place]))
        for place, each in enumerate(parameters)
    ]
    return sorted(effects, key=lambda each: -each.mean)


def design_places(parameters: Sequence[Parameter], runs: int, seed: int) -> Floats:
    """Return places that fill the ranges evenly: a scrambled Sobol sequence, so that more runs keep the first ones."""
    if not runs:
        return np.empty((0, len(parameters)))
    from scipy.stats import qmc  # noqa: PLC0415  # half a second

    sobol = qmc.Sobol(len(parameters), scramble=True, seed=seed)
    found: Floats = sobol.random_base2(max(0, (runs - 1).bit_length()))[:runs]
    return found

"""The parameters of a calibration, the unit cube in which they are drawn, their screening, and the design of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec
import numpy as np

from prism.columns import Floats


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that is fitted. Before the data, all places in its range are equally likely."""

    setting: str  # its dotted path
    # low, high: its range
    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"  # `linear`, or `log` where ratios count
    whole: bool = False  # whether it is a whole number

    def value_at(self, place: float) -> float | int:
        """Return the value at a place in the range, 0 to 1, to six digits: later digits may differ between machines."""
        place = min(1.0, max(0.0, place))
        if self.whole and self.scale == "linear":
            return int(min(self.high, self.low + math.floor(place * (self.high - self.low + 1))))
        if self.scale == "log":
            value = math.exp(math.log(self.low) + place * (math.log(self.high) - math.log(self.low)))
        else:
            value = self.low + place * (self.high - self.low)
        bounded = min(self.high, max(self.low, value))
        return round(bounded) if self.whole else float(f"{bounded:.6g}")

    def place_of(self, value: float) -> float:
        """Return the place of a value in the range, 0 to 1; the nearer end for a value outside."""
        if self.whole and self.scale == "linear":
            place = (value - self.low + 0.5) / (self.high - self.low + 1)
        elif self.scale == "log":
            place = (math.log(max(value, self.low)) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            place = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, place))


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A run: values of the parameters, and a seed."""

    values: dict[str, Any]
    seed: int


def point_at(parameters: Sequence[Parameter], places: Sequence[float] | Floats, seed: int) -> Point:
    values = {each.setting: each.value_at(float(place)) for each, place in zip(parameters, places, strict=True)}
    return Point(values=values, seed=seed)


def snapped(parameters: Sequence[Parameter], places: Floats) -> Floats:
    """Return places, (draws, parameters); those of whole-number parameters are moved to whole numbers."""
    found = places.copy()
    for column, each in enumerate(parameters):
        if each.whole:
            found[:, column] = [each.place_of(each.value_at(float(place))) for place in places[:, column]]
    return found


LEVELS: Final = 4
TRAJECTORIES_LEAST: Final = 2


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    parameter: str
    mean: float  # the mean size of the effects of a step through two thirds of the range
    spread: float  # their standard deviation: large where the effect depends on other parameters


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

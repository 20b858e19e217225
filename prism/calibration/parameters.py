"""The parameters of a calibration, the unit cube in which they are drawn, and the design of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from prism.columns import Floats
from prism.experiment import Range

Parameters = Mapping[str, Range]  # `{dotted path of a setting that is fitted: its range}`


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A run: values of the parameters, and a seed."""

    values: dict[str, Any]
    seed: int


def point_at(parameters: Parameters, places: Sequence[float] | Floats, seed: int) -> Point:
    values = {name: parameters[name].value_at(float(place)) for name, place in zip(parameters, places, strict=True)}
    return Point(values=values, seed=seed)


def snapped(parameters: Parameters, places: Floats) -> Floats:
    """Return places, (draws, parameters); those of whole-number parameters are moved to whole numbers."""
    found = places.copy()
    for column, each in enumerate(parameters.values()):
        if each.whole:
            found[:, column] = [each.place_of(each.value_at(float(place))) for place in places[:, column]]
    return found


def design_places(parameters: Parameters, runs: int, seed: int) -> Floats:
    """Return places that fill the ranges evenly: a scrambled Sobol sequence, so that more runs keep the first ones."""
    if not runs:
        return np.empty((0, len(parameters)))
    from scipy.stats import qmc  # noqa: PLC0415  # half a second

    sobol = qmc.Sobol(len(parameters), scramble=True, seed=seed)
    found: Floats = sobol.random_base2(max(0, (runs - 1).bit_length()))[:runs]
    return found

"""The parameters of a calibration, and the unit cube in which they are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that is fitted. Before the data every place in its range is as likely.

    Args:
        setting: its dotted path.
        low, high: its range.
        scale: `linear`, or `log` where ratios count.
        whole: whether it is a whole number.
    """

    setting: str
    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"
    whole: bool = False

    def value_at(self, place: float) -> float | int:
        """Return the value at a place in the range, 0 to 1, to six digits: results of arithmetic may differ after."""
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
        """Return the place of a value in the range, 0 to 1; of one outside, the nearer end."""
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
    """Return the run at places in the ranges, one for each parameter."""
    values = {each.setting: each.value_at(float(place)) for each, place in zip(parameters, places, strict=True)}
    return Point(values=values, seed=seed)


def snapped(parameters: Sequence[Parameter], places: Floats) -> Floats:
    """Return places, (draws, parameters), of which those of whole numbers are moved to the numbers."""
    found = places.copy()
    for column, each in enumerate(parameters):
        if each.whole:
            found[:, column] = [each.place_of(each.value_at(float(place))) for place in places[:, column]]
    return found

"""The path of the interest rate over a run, in a few numbers whose count does not grow."""

from __future__ import annotations

import math
from typing import Final

import msgspec

DIGITS: Final = 4
"""Decimals in summaries: a ten-thousandth of a point."""


class RatePath(msgspec.Struct):
    """The interest rate at the start and at the end of each quarter, summarised.

    Args:
        last: the latest rate.
        lowest, highest: the extremes, the rate before the first quarter included.
        quarters: the quarters that have ended.
        changes: the quarters in which the rate moved.
        mean, squares: over the ends of quarters, the mean, and the sum of squared deviations from it.
            Source: Welford (1962).
    """

    last: float
    lowest: float
    highest: float
    quarters: int = 0
    changes: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def beginning(cls, rate: float) -> RatePath:
        """Return the path of a run that starts at this rate."""
        return cls(rate, rate, rate)

    def add(self, rate: float) -> None:
        """Add a quarter that ended at this rate."""
        self.quarters += 1
        self.changes += rate != self.last
        self.last = rate
        self.lowest, self.highest = min(self.lowest, rate), max(self.highest, rate)
        deviation = rate - self.mean
        self.mean += deviation / self.quarters
        self.squares += deviation * (rate - self.mean)

    def summary(self) -> dict[str, float]:
        """Return the path as JSON values, in percent; the standard deviation is over the quarters so far."""
        spread = math.sqrt(self.squares / self.quarters) if self.quarters else 0.0
        numbers = {
            "lowest": self.lowest,
            "mean": self.mean,
            "highest": self.highest,
            "standard_deviation": spread,
        }
        return {name: round(float(number), DIGITS) for name, number in numbers.items()} | {"changes": self.changes}

"""Quarterly figures of a real economy, and the rates of a year that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from prism.quarter import Quarter
from prism.wording import counted

YEAR_QUARTERS: Final = 4


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one quarter.

    Args:
        real_gdp: in any unit of constant prices.
        price_index: consumer prices, with any quarter as 100.
        interest_rate: the short-term rate, in percent.
        unemployment: in percent.
    """

    quarter: Quarter
    real_gdp: float
    price_index: float
    interest_rate: float
    unemployment: float


class Series(NamedTuple):
    """The quarters of a file, in order and without gaps.

    Args:
        left_out: the others, which stand at the ends of the file, each with the columns that lack a figure.
    """

    quarters: tuple[Figures, ...]
    left_out: tuple[tuple[Quarter, tuple[str, ...]], ...] = ()

    def understood(self, source: str) -> tuple[str, ...]:
        """Return a line with the quarters of the file, and one with those that are left out, if any are."""
        first, last = self.quarters[0].quarter, self.quarters[-1].quarter
        line = f"{source}: {counted(len(self.quarters), 'quarter')}, {first} to {last}"
        if not self.left_out:
            return (line,)
        return line, f"{source}: left out at the ends: {lacking_text(self.left_out)}"


def lacking_text(quarters: Iterable[tuple[Quarter, Sequence[str]]]) -> str:
    """Return quarters that lack figures, in words, each with the columns that have none."""
    return ", ".join(f"{quarter} (no {' and no '.join(missing)})" for quarter, missing in quarters)


def year_inflation(series: Sequence[Figures], index: int) -> float | None:
    """Return the rise of prices over the year up to `index`, in percent; None without four quarters before it."""
    if index < YEAR_QUARTERS:
        return None
    return 100.0 * (series[index].price_index / series[index - YEAR_QUARTERS].price_index - 1.0)


def quarter_inflation(series: Sequence[Figures], index: int) -> float:
    """Return the rise of prices from the quarter before `index`, which is 1 or more, in percent a year.

    It is four times the difference of logarithms, as in Rudebusch & Svensson (1999).
    """
    return 100.0 * YEAR_QUARTERS * math.log(series[index].price_index / series[index - 1].price_index)


def year_growth(series: Sequence[Figures], index: int) -> float | None:
    """Return the growth of real GDP over the year up to `index`, in percent; None without four quarters before it."""
    if index < YEAR_QUARTERS:
        return None
    return 100.0 * (series[index].real_gdp / series[index - YEAR_QUARTERS].real_gdp - 1.0)

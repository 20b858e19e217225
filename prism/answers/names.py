"""The names of numbers and settings as people say them, with units: for every page, table and sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

PERCENT_A_YEAR: Final = "% a year"


class NumberName(NamedTuple):
    """A number as people call it: `interest rate`, and its unit, `% a year`; a count has no unit."""

    name: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.name}, {self.unit}" if self.unit else self.name


INDICATORS: Final[Mapping[str, NumberName]] = {
    "interest_rate": NumberName("interest rate", PERCENT_A_YEAR),
    "inflation": NumberName("inflation", "% over the year"),
    "gdp_growth": NumberName("growth of output", PERCENT_A_YEAR),
    "unemployment": NumberName("unemployment", "% of the labour force"),
    "total_economic_value": NumberName("total economic value", "units of account"),
}
"""The indicators of an economy, by their columns of `rounds.csv`."""
RATES: Final = tuple(name for name, each in INDICATORS.items() if each.unit.startswith("%"))
"""The indicators in percent."""
_COUNTS: Final[Mapping[str, NumberName]] = {
    "proposed": NumberName("proposals"),
    "accepted": NumberName("accepted proposals"),
    "rejected": NumberName("rejected proposals"),
    "applied": NumberName("applied proposals"),
}
_MOMENTS: Final[Mapping[str, str]] = {
    "okun_correlation": "growth and change of unemployment, correlation",
    "okun_slope": "unemployment for a percent of growth, points",
    "rate_inflation_correlation": "interest rate and inflation, correlation",
    "rate_inflation_before_correlation": "interest rate and inflation a year before, correlation",
    "rate_inflation_after_correlation": "interest rate and inflation a year later, correlation",
    "rate_change_autocorrelation": "change of the interest rate, correlation with the quarter before",
    "gdp_growth_kurtosis": "growth of output, heaviness of the tails",
    "unemployment_skew": "unemployment, skewness",
    "big_move_share": "share of quarters in which the rate moves by a point or more",
    "zero_rate_share": "share of quarters with a rate near zero",
    "deflation_share": "share of quarters with falling prices",
    "deflation_trap": "deflation trap at the end, 1 or 0",
}
_STATISTICS: Final[Mapping[str, str]] = {
    "mean": "mean",
    "sd": "standard deviation",
    "autocorrelation": "correlation with the quarter before",
}


def named(column: str, among: Collection[str]) -> NumberName:
    """Return what people call a column of `rounds.csv` or a total; its own words if it has no other name.

    Args:
        among: all columns or totals beside it. Those of an economy are known by its rates: another world may have an
            `unemployment` that is no percentage.
    """
    of_economy = {**INDICATORS, **_COUNTS} if all(name in among for name in RATES) else {}
    return of_economy.get(column) or NumberName(column.replace("_", " "))


def moment_in_words(moment: str) -> str:
    """Return what people call a moment of `prism.economy.moments`."""
    column, _, statistic = moment.rpartition("_")
    if column in INDICATORS and statistic in _STATISTICS:
        return f"{INDICATORS[column].name}, {_STATISTICS[statistic]}"
    return _MOMENTS.get(moment, moment.replace("_", " "))


def setting_in_words(key: str) -> str:
    """Return what people call a setting: `inflation weight`; a single word with its section before it: `feed size`."""
    *before, last = key.split(".")
    return " ".join([*before[-1:], last] if "_" not in last else [last]).replace("_", " ")

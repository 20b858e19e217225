"""The backtest: the policy rule's interest rate against the actual short-term rate.

For each quarter the rule gets the figures of `lag_quarters` before and, for smoothing, the actual rate of the quarter
before: nothing later than it could have seen. It is compared with the forecast of no change, which is the actual rate
of the quarter before. Two kinds of hindsight remain: the figures are revised ones, where policy had first prints
(Orphanides 2001), and the natural rate of unemployment is one number, known from the start.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from prism.config.model import EconomyConfig
from prism.economy.macro import output_gap, policy_rate, taylor_rate
from prism.economy.moments import correlation
from prism.economy.series import Figures, year_change
from prism.quarter import Period, Quarter

QUARTERS_MIN: Final = 8  # the fewest quarters that get a score: two years


class Forecast(NamedTuple):
    """One quarter of a backtest; all in percent."""

    quarter: Quarter
    inflation: float  # of the year up to the quarter that the rule sees
    output_gap: float
    rule_rate: float
    no_change_rate: float  # the actual rate of the quarter before
    actual_rate: float


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """The errors of the rule over a period."""

    period: Period  # the first and last quarter judged
    quarters: int
    rmse: float  # root mean squared error of the rule, in points
    no_change_rmse: float
    bias: float  # mean of rule less actual, in points
    correlation: float | None  # of the rule with the actual rate; None if one of them does not vary
    # of the quarters in which the rate moved, the share in which the rule's rate lay on that side of the rate before;
    # None if it never moved. A forecast of no change has no direction.
    direction_share: float | None
    commoner_direction_share: float | None  # the share of a forecast that always names the more common direction


def backtest(series: Sequence[Figures], economy: EconomyConfig) -> tuple[Forecast, ...]:
    """Return the rule's rate for every quarter that has the figures it needs, in order."""
    rule, lag = economy.taylor, economy.backtest.lag_quarters
    forecasts = []
    for place in range(1, len(series)):
        now, previous = series[place], series[place - 1].interest_rate
        if (inflation := year_change(series, place - lag, "price_index")) is not None:
            gap = output_gap(series[place - lag].unemployment, economy.macro)
            rate = policy_rate(taylor_rate(inflation, gap, rule), previous, rule)
            forecasts.append(Forecast(now.quarter, inflation, gap, rate, previous, now.interest_rate))
    return tuple(forecasts)


def score(forecasts: Sequence[Forecast], period: Period | None = None) -> Score | None:
    """Return the errors of the rule over the forecasts of a period, or over all; None for fewer than `QUARTERS_MIN`."""
    judged = [forecast for forecast in forecasts if period is None or forecast.quarter in period]
    if len(judged) < QUARTERS_MIN:
        return None
    rule = [forecast.rule_rate for forecast in judged]
    actual = [forecast.actual_rate for forecast in judged]
    # By how much the rule's rate, and the actual rate, differ from the old one where that moved.
    pairs = ((each.rule_rate - each.no_change_rate, each.actual_rate - each.no_change_rate) for each in judged)
    moved = [(ours, actually) for ours, actually in pairs if actually]
    rises, together = sum(actually > 0.0 for _, actually in moved), correlation(rule, actual)
    return Score(
        period=Period(judged[0].quarter, judged[-1].quarter),
        quarters=len(judged),
        rmse=_rmse(rule, actual),
        no_change_rmse=_rmse([forecast.no_change_rate for forecast in judged], actual),
        bias=statistics.fmean(rule) - statistics.fmean(actual),
        correlation=None if math.isnan(together) else together,
        direction_share=sum(ours * actually > 0.0 for ours, actually in moved) / len(moved) if moved else None,
        commoner_direction_share=max(rises, len(moved) - rises) / len(moved) if moved else None,
    )


def _rmse(forecast: Sequence[float], actual: Sequence[float]) -> float:
    return math.sqrt(statistics.fmean((f - a) ** 2 for f, a in zip(forecast, actual, strict=True)))

"""The response of the economy to the interest rate, and the rule that sets it.

The response is a backward-looking model of three equations, one quarter a step.

    demand     y' = b1 y + b2 y(-1) - s (I - P - r) + e
    prices     p' = (1 - w) (a1 p + a2 p(-1) + a3 p(-2) + a4 p(-3)) + w q + k y + f
    work       u' - u = l (u - u(-1)) - c (y' - y) - d (u - n + y / b) + g

with the output gap y, the interest rate i, the quarter's inflation p at an annual rate, their means I and P over four
quarters, the neutral real rate r, the anchor q, unemployment u and its natural rate n. e and f are shocks that may
persist, g is noise. A prime marks the next quarter, (-1) the quarter before. The third equation is Okun's law with a
lag: in balance u = n - y / b. Output grows by its trend and the change of the gap.

The indicator `inflation` is P, the inflation of the year: the policy rule reacts to it, and people hear of it.

Source: Rudebusch & Svensson, "Policy rules for inflation targeting" (1999), US 1961-1996, for demand and prices, with
shocks of 0.819 and 1.009; Okun (1962). Estimates, with their errors: docs/economy.md and `benchmarks/macro.py`.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from prism.config.model import MacroConfig, TaylorConfig
from prism.models import RATE_PERCENT, GlobalState
from prism.rng import WORLD, Draw, normal

INFLATION_PERCENT: Final = (-50.0, 500.0)
"""The bounds of inflation: far outside the range of a linear model, but a run that gets there stays finite."""
VALUE_MAX: Final = 1e300


class Shocks(NamedTuple):
    """The new shocks of a quarter: `demand` in percent of output, `prices`, `work` and `rate` in points."""

    demand: float = 0.0
    prices: float = 0.0
    work: float = 0.0
    rate: float = 0.0


CALM: Final = Shocks()


class Lags(msgspec.Struct, frozen=True, kw_only=True):
    """The past that the equations look back on, beyond the indicators of a quarter."""

    gaps: tuple[float, float]  # the output gap of this quarter and of the one before, in percent
    # the inflation of each of the last four quarters at an annual rate, latest first, in percent
    inflations: tuple[float, float, float, float]
    rates: tuple[float, float, float]  # the interest rates of the last three quarters, latest first, in percent
    unemployment: float  # of this quarter, in percent, as the equations left it
    unemployment_change: float = 0.0  # from the quarter before to this one, in points
    demand_shock: float = 0.0  # demand_shock, price_shock: of this quarter, with what remains of older ones
    price_shock: float = 0.0

    @classmethod
    def beginning(cls, state: GlobalState, macro: MacroConfig) -> Lags:
        """Return the lags of an economy whose rate, inflation and unemployment have been those of `state` for a year.

        The gap of the quarter before differs if growth is not at its trend.
        """
        gap = output_gap(state.unemployment, macro)
        return cls(
            gaps=(gap, gap - (state.gdp_growth - macro.trend_growth) / 4.0),
            inflations=(_clamp(state.inflation, *INFLATION_PERCENT),) * 4,
            rates=(state.interest_rate,) * 3,
            unemployment=state.unemployment,
        )

    def moved_to(self, state: GlobalState, macro: MacroConfig) -> Lags:
        """Return the lags of `state` after something other than the equations has moved its indicators.

        Each quarter of the year moves by as much as inflation has, and the gaps as Okun's law has it.
        """
        prices, work = state.inflation - fmean(self.inflations), state.unemployment - self.unemployment
        if prices == work == 0.0:
            return self
        now, before = (gap - macro.okun * work for gap in self.gaps)
        p1, p2, p3, p4 = (_clamp(each + prices, *INFLATION_PERCENT) for each in self.inflations)
        return replace(self, gaps=(now, before), inflations=(p1, p2, p3, p4), unemployment=state.unemployment)


class Economy(NamedTuple):
    """The indicators of a quarter, and the past that the next quarter needs."""

    state: GlobalState
    lags: Lags


def draw_shocks(macro: MacroConfig, seed: int, tick: int) -> Shocks:
    """Return the new shocks of a quarter, normal around zero, drawn from the run's seed."""
    return Shocks(
        macro.gap_shock * normal(seed, WORLD, tick, Draw.DEMAND_SHOCK),
        macro.inflation_shock * normal(seed, WORLD, tick, Draw.PRICE_SHOCK),
        macro.unemployment_shock * normal(seed, WORLD, tick, Draw.UNEMPLOYMENT_SHOCK),
        macro.rate_shock * normal(seed, WORLD, tick, Draw.RATE_SHOCK),
    )


def rate_with_shock(rate: float, shock: float, floor: float) -> float:
    """Return the rate of a quarter, in percent, after a shock. The floor stops a fall, and raises no rate below it."""
    return min(max(rate + shock, min(rate, floor), RATE_PERCENT[0]), RATE_PERCENT[1])


def output_gap(unemployment: float, macro: MacroConfig) -> float:
    """Return output above potential, in percent, that Okun's law gives in balance. Source: Okun (1962).

    It is what policy can know of the gap; the gap itself is in `Lags`.
    """
    return macro.okun * (macro.natural_unemployment - unemployment)


def step(state: GlobalState, lags: Lags, macro: MacroConfig, shocks: Shocks = CALM) -> Economy:
    """Return the economy one quarter later, under the interest rate of `state`, which does not change."""
    lags = lags.moved_to(state, macro)
    gap, gap_before = lags.gaps
    r1, r2, _ = lags.rates
    p1, p2, p3, _ = lags.inflations
    demand_shock = macro.gap_shock_persistence * lags.demand_shock + shocks.demand
    price_shock = macro.inflation_shock_persistence * lags.price_shock + shocks.prices
    real_rate_gap = fmean((state.interest_rate, *lags.rates)) - fmean(lags.inflations) - macro.neutral_rate
    b1, b2 = macro.gap_lags
    # By Okun's law the gap cannot go beyond nobody or everybody in the labour force being at work.
    gap_after = _clamp(
        b1 * gap + b2 * gap_before - macro.rate_effect * real_rate_gap + demand_shock,
        output_gap(100.0, macro),
        output_gap(0.0, macro),
    )
    past = math.fsum(weight * each for weight, each in zip(macro.inflation_lags, lags.inflations, strict=True))
    expected = (1.0 - macro.anchoring) * past + macro.anchoring * macro.anchor
    inflation = _clamp(expected + macro.phillips_slope * gap + price_shock, *INFLATION_PERCENT)
    # The change of unemployment by Okun's law, in points, without its noise.
    distance = lags.unemployment - macro.natural_unemployment + gap / macro.okun
    work = (
        macro.okun_lag * lags.unemployment_change - macro.okun_impact * (gap_after - gap) - macro.okun_pull * distance
    )
    unemployment = _clamp(state.unemployment + work + shocks.work, 0.0, 100.0)
    year = (1.0 + macro.trend_growth / 100.0) * math.exp(4.0 * (gap_after - gap) / 100.0)
    after = Lags(
        gaps=(gap_after, gap),
        inflations=(inflation, p1, p2, p3),
        rates=(state.interest_rate, r1, r2),
        unemployment=unemployment,
        unemployment_change=unemployment - state.unemployment,
        demand_shock=demand_shock,
        price_shock=price_shock,
    )
    return Economy(
        replace(
            state,
            inflation=fmean(after.inflations),
            unemployment=unemployment,
            gdp_growth=100.0 * (year - 1.0),
            total_economic_value=min(state.total_economic_value * year**0.25, VALUE_MAX),
        ),
        after,
    )


def _clamp(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)


def taylor_rate(inflation: float, output_gap: float, rule: TaylorConfig) -> float:
    """Return the rule's rate, in percent; it may be below zero.

        i = r + p + a (p - p*) + b y

    with the neutral real rate r, inflation p, its target p* and the output gap y. With a > 0 the rate rises by more
    than inflation does, so the real rate leans against it (the Taylor principle); with a < 0 inflation runs away.

    Source: Taylor, "Discretion versus policy rules in practice" (1993), with r = p* = 2 and a = b = 0.5.
    """
    return (
        rule.neutral_rate
        + inflation
        + rule.inflation_weight * (inflation - rule.inflation_target)
        + rule.output_weight * output_gap
    )


def policy_rate(rule_rate: float, previous: float, rule: TaylorConfig) -> float:
    """Return the rate to set: between the rule's rate and the previous one by smoothing, and not below the floor.

    Smoothing is partial adjustment as in Clarida, Gali & Gertler (2000), who find 0.79 a quarter for 1979 to 1996.
    """
    return max(rule.rate_floor, rule.smoothing * previous + (1.0 - rule.smoothing) * rule_rate)

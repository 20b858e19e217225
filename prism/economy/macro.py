"""The response of the economy to the interest rate: a backward-looking model of three equations, one quarter a step.

    demand     y' = h y - s (i - p - r) + e        the gap fades, and a real rate above neutral narrows it
    prices     p' = (1 - w) p + w q + k y + f      inflation goes on as expected, faster where output is above potential
    work       u  = n - y / b                      Okun's law, which also gives the gap where only u is seen

with the output gap y, the interest rate i, inflation p, the neutral real rate r, the anchor q, unemployment u, its
natural rate n, and shocks e and f. A prime marks the next quarter. Output grows by its trend and the change of the gap.

Source: Rudebusch & Svensson, "Policy rules for inflation targeting" (1999), US 1961-1996: demand 1.16 y - 0.25 y(-1) -
0.10 (i - p), prices with lags that add up to 1 and 0.14 y, shocks of 0.819 and 1.009. Only the sum of the lags is kept
here (h = 0.91, one lag of inflation), so that the indicators of a quarter are the whole state; the response to a shock
comes sooner than in theirs. Okun (1962). Ball, "Efficient rules for monetary policy" (1999) has the same form.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from msgspec.structs import replace

from prism.config.model import MacroConfig
from prism.economy.state import GlobalState
from prism.rng import WORLD, Draw, normal

INFLATION_PERCENT: Final = (-50.0, 500.0)
"""The bounds of inflation: far outside the range of a linear model, but a run that gets there stays finite."""
VALUE_MAX: Final = 1e300


class Shocks(NamedTuple):
    """The shocks of a quarter: `demand` in percent of output, `prices` in points of inflation."""

    demand: float = 0.0
    prices: float = 0.0


CALM: Final = Shocks()


def draw_shocks(macro: MacroConfig, seed: int, tick: int) -> Shocks:
    """Return the shocks of a quarter, normal around zero, drawn from the run's seed."""
    return Shocks(
        macro.gap_shock * normal(seed, WORLD, tick, Draw.DEMAND_SHOCK),
        macro.inflation_shock * normal(seed, WORLD, tick, Draw.PRICE_SHOCK),
    )


def output_gap(unemployment: float, macro: MacroConfig) -> float:
    """Return output above potential, in percent, at a rate of unemployment. Source: Okun (1962)."""
    return macro.okun * (macro.natural_unemployment - unemployment)


def step(state: GlobalState, macro: MacroConfig, shocks: Shocks = CALM) -> GlobalState:
    """Return the indicators one quarter later, under the interest rate of `state`, which does not change."""
    gap = output_gap(state.unemployment, macro)
    real_rate_gap = state.interest_rate - state.inflation - macro.neutral_rate
    wanted_gap = macro.gap_persistence * gap - macro.rate_effect * real_rate_gap + shocks.demand
    # Unemployment stays between 0% and 100%: demand beyond these bounds is not produced.
    unemployment = _clamp(macro.natural_unemployment - wanted_gap / macro.okun, 0.0, 100.0)
    expected = (1.0 - macro.anchoring) * state.inflation + macro.anchoring * macro.anchor
    inflation = _clamp(expected + macro.phillips_slope * gap + shocks.prices, *INFLATION_PERCENT)
    year = (1.0 + macro.trend_growth / 100.0) * math.exp(4.0 * (output_gap(unemployment, macro) - gap) / 100.0)
    return replace(
        state,
        inflation=inflation,
        unemployment=unemployment,
        gdp_growth=100.0 * (year - 1.0),
        total_economic_value=min(state.total_economic_value * year**0.25, VALUE_MAX),
    )


def _clamp(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)

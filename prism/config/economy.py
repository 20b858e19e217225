"""The settings of an economy: its nations, the policy rule, the model of the economy, where it starts, the backtest.

Rates, inflation, growth and unemployment are in percent; a point is a percentage point.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from prism.config.section import Section

Share = Annotated[float, Meta(ge=0.0, le=1.0)]


class TaylorConfig(Section, frozen=True, kw_only=True):
    """The policy rule of the embedded adviser: Taylor (1993), who gave 2, 2, 0.5 and 0.5."""

    neutral_rate: Annotated[
        float, Meta(ge=-20.0, le=20.0, description="real interest rate in balance, percent (Taylor 1993: 2)")
    ] = 2.0
    inflation_target: Annotated[
        float, Meta(ge=-20.0, le=100.0, description="inflation aimed at, percent a year (Taylor 1993: 2)")
    ] = 2.0
    inflation_weight: Annotated[
        float,
        Meta(ge=-2.0, le=10.0, description="points for a point of excess inflation; unstable unless > 0 (Taylor: 0.5)"),
    ] = 0.5
    output_weight: Annotated[
        float, Meta(ge=0.0, le=10.0, description="points for a percent of output gap (Taylor 1993: 0.5)")
    ] = 0.5
    smoothing: Annotated[
        float,
        Meta(ge=0.0, lt=1.0, description="part of the old rate that is kept each quarter; Taylor's rule keeps none"),
    ] = 0.0
    rate_floor: Annotated[float, Meta(ge=-10.0, le=100.0, description="lowest interest rate, percent")] = 0.0
    rate_step: Annotated[
        float, Meta(ge=0.01, le=10.0, description="proposed changes are multiples of this many points")
    ] = 0.25
    rate_step_max: Annotated[
        float, Meta(ge=0.01, le=100.0, description="most points by which one proposal may change the rate")
    ] = 1.0
    rate_error: Annotated[
        float,
        Meta(ge=0.01, le=100.0, description="standard error of the rule's rate, in points: how unsure advisers are"),
    ] = 1.7


class MacroConfig(Section, frozen=True, kw_only=True):
    """How the economy answers the interest rate, a quarter a tick. Equations and limits: docs/economy.md."""

    neutral_rate: Annotated[
        float,
        Meta(ge=-20.0, le=20.0, description="real rate that moves no output, percent; the rule's own may be mistaken"),
    ] = 2.0
    natural_unemployment: Annotated[
        float, Meta(ge=0.1, le=50.0, description="unemployment at a zero output gap, percent (US mean 1959-2009: 5.9)")
    ] = 5.9
    okun: Annotated[
        float,
        Meta(ge=0.1, le=10.0, description="percent of output lost for a point of unemployment (Okun 1962: 3; today 2)"),
    ] = 2.0
    trend_growth: Annotated[
        float, Meta(ge=-20.0, le=20.0, description="growth in balance, percent a year (US 1959-2009: 3.15)")
    ] = 3.15
    gap_persistence: Annotated[
        float,
        Meta(ge=0.0, lt=1.0, description="part of the output gap left a quarter later (Rudebusch & Svensson 1999)"),
    ] = 0.91
    rate_effect: Annotated[
        float,
        Meta(ge=0.0, le=5.0, description="percent of gap for a point of real rate (Rudebusch & Svensson 1999: 0.10)"),
    ] = 0.1
    phillips_slope: Annotated[
        float,
        Meta(ge=0.0, le=5.0, description="points of inflation for a percent of gap (Rudebusch & Svensson 1999: 0.14)"),
    ] = 0.14
    anchoring: Annotated[
        Share,
        Meta(description="weight of the anchor in expected inflation; 0: the last quarter's goes on. UNCALIBRATED"),
    ] = 0.1
    anchor: Annotated[
        float, Meta(ge=-20.0, le=100.0, description="inflation that anchored people expect, percent a year")
    ] = 2.0
    gap_shock: Annotated[
        float,
        Meta(ge=0.0, le=10.0, description="standard deviation of demand shocks, percent (the 1999 estimate: 0.82)"),
    ] = 0.0
    inflation_shock: Annotated[
        float,
        Meta(ge=0.0, le=10.0, description="standard deviation of price shocks, points (the 1999 estimate: 1.01)"),
    ] = 0.0


class InitialConfig(Section, frozen=True, kw_only=True):
    """Where the economy starts: the indicators given here, or those of a quarter in a file."""

    interest_rate: Annotated[float, Meta(ge=-10.0, le=100.0, description="short-term rate, percent")] = 4.0
    inflation: Annotated[float, Meta(ge=-50.0, le=100.0, description="inflation, percent a year")] = 2.0
    gdp_growth: Annotated[float, Meta(ge=-50.0, le=50.0, description="growth of real GDP, percent a year")] = 3.15
    unemployment: Annotated[float, Meta(ge=0.0, le=100.0, description="unemployment, percent")] = 5.9
    total_economic_value: Annotated[float, Meta(gt=0.0, description="real GDP, in any unit")] = 1000.0
    path: Annotated[
        str | None,
        Meta(
            description="quarterly .csv (also .gz) with columns year, quarter, realgdp, cpi, tbilrate, unemp; "
            "it overrides the indicators above, and is what `prism backtest` reads"
        ),
    ] = None
    quarter: Annotated[
        str | None, Meta(description="the quarter of the file to start from, such as 1985q1; none is the last one")
    ] = None


class BacktestConfig(Section, frozen=True, kw_only=True):
    """How `prism backtest` compares the rule with history."""

    lag_quarters: Annotated[
        int,
        Meta(ge=0, le=8, description="age of the figures the rule sees; 0 sees the quarter it sets the rate for"),
    ] = 1
    periods: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(description="parts of the sample that are also judged by themselves, as FIRST-LAST"),
    ] = ("1960q1-1979q2", "1979q3-1986q4", "1987q1-1992q3", "1987q1-2009q3")


class EconomyConfig(Section, frozen=True, kw_only=True):
    """The nations of an economy, and how the embedded adviser, validator and engine judge it."""

    nations: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1, description="names of the nations")
    ] = ("Arvendia", "Borland", "Castellon", "Dravia", "Estmark")
    strengths: Annotated[
        tuple[Annotated[float, Meta(ge=0.001, le=1e12)], ...],
        Meta(min_length=1, description="economic strength of each nation: its weight in the common interest rate"),
    ] = (100.0, 80.0, 60.0, 40.0, 20.0)
    preference_spread: Annotated[
        float,
        Meta(ge=0.0, le=2.0, description="spread of the log of the rule's weights over nations; 0 makes all alike"),
    ] = 0.3
    taylor: TaylorConfig = TaylorConfig()
    macro: MacroConfig = MacroConfig()
    initial: InitialConfig = InitialConfig()
    backtest: BacktestConfig = BacktestConfig()

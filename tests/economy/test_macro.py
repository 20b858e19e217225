import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from prism.config import MacroConfig, TaylorConfig
from prism.economy import GlobalState
from prism.economy.macro import (
    CALM,
    INFLATION_PERCENT,
    Lags,
    Shocks,
    draw_shocks,
    output_gap,
    policy_rate,
    rate_with_shock,
    step,
    taylor_rate,
)
from prism.models import RATE_PERCENT
from tests.catalogue import catalogue
from tests.tiers import size

REST = GlobalState(interest_rate=4.0, inflation=2.0, gdp_growth=3.15, unemployment=5.9)


def test_one_quarter_is_the_three_equations() -> None:
    macro = MacroConfig(anchoring=0.25, anchor=2.0)
    state = GlobalState(interest_rate=9.0, inflation=4.0, unemployment=4.9, total_economic_value=1000.0)
    lags = Lags(
        gaps=(2.0, 1.0),
        inflations=(6.0, 5.0, 3.0, 2.0),
        rates=(8.0, 6.0, 5.0),
        unemployment=4.9,
        unemployment_change=-0.3,
    )
    after, left = step(state, lags, macro)
    # The mean rate is 7 and the inflation of the year 4: a real rate of 3 is 1 above neutral.
    gap = 1.16 * 2.0 - 0.25 * 1.0 - 0.10 * 1.0  # 1.97
    expected = 0.75 * (0.70 * 6.0 - 0.10 * 5.0 + 0.28 * 3.0 + 0.12 * 2.0) + 0.25 * 2.0  # 0.75 x 4.78 + 0.5 = 4.085
    inflation = expected + 0.14 * 2.0  # 4.365
    # Unemployment is where Okun's law has it in balance, 5.9 - 2 / 2, so nothing pulls.
    unemployment = 4.9 + 0.47 * -0.3 - 0.19 * (1.97 - 2.0)  # 4.7647
    assert left.gaps == pytest.approx((gap, 2.0))
    assert left.inflations == pytest.approx((inflation, 6.0, 5.0, 3.0))
    assert left.rates == (9.0, 8.0, 6.0)
    assert after.inflation == pytest.approx((4.365 + 6.0 + 5.0 + 3.0) / 4.0)
    assert after.unemployment == pytest.approx(unemployment) == pytest.approx(4.7647)
    assert left.unemployment_change == pytest.approx(4.7647 - 4.9)
    assert after.interest_rate == 9.0
    assert after.gdp_growth == pytest.approx(100.0 * (1.0315 * math.exp(4.0 * -0.03 / 100.0) - 1.0))


def test_shocks_persist_as_configured() -> None:
    macro = MacroConfig(gap_shock_persistence=0.5, inflation_shock_persistence=0.8)
    lags = step(REST, Lags.beginning(REST, macro), macro, Shocks(demand=1.0, prices=2.0)).lags
    assert (lags.demand_shock, lags.price_shock) == (1.0, 2.0)
    later = step(REST, lags, macro, Shocks(demand=0.25)).lags
    assert (later.demand_shock, later.price_shock) == pytest.approx((0.75, 1.6))
    forgetful = step(REST, lags, MacroConfig(), CALM).lags
    assert (forgetful.demand_shock, forgetful.price_shock) == (0.0, 0.0)


def test_indicators_that_something_else_has_moved_take_their_lags_with_them() -> None:
    macro = MacroConfig()
    lags = Lags(
        gaps=(1.0, 0.5), inflations=(3.0, 1.0, 2.0, 2.0), rates=(4.0, 4.0, 4.0), unemployment=5.5, demand_shock=0.3
    )
    same = replace(REST, inflation=2.0, unemployment=5.5)
    assert lags.moved_to(same, macro) is lags
    moved = lags.moved_to(replace(same, inflation=4.0, unemployment=6.5), macro)
    assert moved.inflations == pytest.approx((5.0, 3.0, 4.0, 4.0))
    assert moved.gaps == pytest.approx((-1.0, -1.5)), "a point of unemployment is two percent of output"
    assert (moved.unemployment, moved.rates, moved.demand_shock) == (6.5, lags.rates, 0.3)


def test_an_economy_that_grew_faster_than_its_trend_had_a_smaller_gap_before() -> None:
    assert Lags.beginning(REST, MacroConfig()).gaps == (0.0, 0.0)
    fast = Lags.beginning(replace(REST, gdp_growth=7.15, unemployment=4.9), MacroConfig())
    assert fast.gaps == pytest.approx((2.0, 1.0))


def test_unemployment_gives_the_gap_by_okuns_law() -> None:
    # Okun (1962): a point of unemployment above normal goes with about three percent of output lost.
    assert output_gap(7.0, MacroConfig(natural_unemployment=4.0, okun=3.0)) == -9.0
    assert output_gap(5.9, MacroConfig()) == 0.0


@settings(max_examples=size()(60, everyday=20))
@given(inflation=st.floats(-4.0, 25.0), unemployment=st.floats(1.0, 11.0), rate=st.floats(0.0, 20.0))
def test_the_rule_brings_an_economy_back_from_a_bad_start(inflation: float, unemployment: float, rate: float) -> None:
    start = GlobalState(interest_rate=rate, inflation=inflation, unemployment=unemployment)
    macro = MacroConfig()
    end, lags, rule = start, Lags.beginning(start, macro), TaylorConfig()
    for _ in range(400):
        wanted = taylor_rate(end.inflation, output_gap(end.unemployment, macro), rule)
        end, lags = step(replace(end, interest_rate=policy_rate(wanted, end.interest_rate, rule)), lags, macro)
    assert end.inflation == pytest.approx(2.0, abs=1e-6)
    assert end.unemployment == pytest.approx(5.9, abs=1e-6)
    assert end.interest_rate == pytest.approx(4.0, abs=1e-6)
    after = step(end, lags, macro).state
    assert after.gdp_growth == pytest.approx(3.15), "the trend"
    assert after.total_economic_value == pytest.approx(end.total_economic_value * 1.0315**0.25)


@given(
    rate=st.floats(-100.0, 1000.0),
    inflation=st.floats(-1e6, 1e6),
    unemployment=st.floats(0.0, 100.0),
    value=st.floats(0.0, 1e300),
    shocks=st.builds(Shocks, st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)),
)
def test_every_state_has_a_next_one_that_is_finite(
    rate: float, inflation: float, unemployment: float, value: float, shocks: Shocks
) -> None:
    start = GlobalState(interest_rate=rate, inflation=inflation, unemployment=unemployment, total_economic_value=value)
    macro = MacroConfig()
    once = step(start, Lags.beginning(start, macro), macro, shocks)
    after = step(once.state, once.lags, macro, shocks).state
    assert 0.0 <= after.unemployment <= 100.0
    assert INFLATION_PERCENT[0] <= after.inflation <= INFLATION_PERCENT[1]


def test_each_shock_moves_its_own_indicator() -> None:
    macro = MacroConfig()
    calm = step(REST, Lags.beginning(REST, macro), macro)
    hit = step(REST, Lags.beginning(REST, macro), macro, Shocks(demand=1.0, prices=0.5, work=0.25))
    assert hit.lags.gaps[0] - calm.lags.gaps[0] == pytest.approx(1.0)
    assert hit.lags.inflations[0] - calm.lags.inflations[0] == pytest.approx(0.5)
    assert hit.state.inflation - calm.state.inflation == pytest.approx(0.125), "the inflation of the year"
    assert hit.state.unemployment - calm.state.unemployment == pytest.approx(0.25 - 0.19 * 1.0)


def test_shocks_follow_from_the_seed_and_have_the_spread_asked_for() -> None:
    macro = MacroConfig(gap_shock=0.82, inflation_shock=1.01, unemployment_shock=0.24, rate_shock=0.5)
    drawn = [draw_shocks(macro, 7, tick) for tick in range(4000)]
    assert drawn[:20] == [draw_shocks(macro, 7, tick) for tick in range(20)]
    assert drawn[:20] != [draw_shocks(macro, 8, tick) for tick in range(20)]
    for column, deviation in zip(zip(*drawn, strict=True), (0.82, 1.01, 0.24, 0.5), strict=True):
        spread = (sum(value * value for value in column) / len(column)) ** 0.5
        assert spread == pytest.approx(deviation, rel=0.05)


@catalogue(
    ("rate", "shock", "after"),
    [
        (4.0, 0.5, 4.5),
        (4.0, -0.5, 3.5),
        (0.25, -0.5, 0.0),
        (-0.5, -1.0, -0.5),
        (-0.5, 1.0, 0.5),
        (RATE_PERCENT[1], 1.0, RATE_PERCENT[1]),
    ],
)
def test_a_policy_shock_moves_the_rate_and_the_floor_stops_its_fall(rate: float, shock: float, after: float) -> None:
    assert rate_with_shock(rate, shock, floor=0.0) == pytest.approx(after)


TAYLOR_1993 = TaylorConfig()


@catalogue(
    ("inflation", "gap", "rate"),
    [
        (2.0, 0.0, 4.0),  # Taylor (1993): on target in both, the rate is 4, or 2 in real terms
        (4.0, 0.0, 7.0),  # 2 + 4 + 0.5 x 2
        (2.0, -3.0, 2.5),  # 2 + 2 - 0.5 x 3
        (5.0, 1.0, 9.0),  # 2 + 5 + 1.5 + 0.5
        (-1.0, -4.0, -2.5),  # 2 - 1 - 1.5 - 2
    ],
)
def test_the_rule_is_the_formula_of_1993(inflation: float, gap: float, rate: float) -> None:
    assert taylor_rate(inflation, gap, TAYLOR_1993) == pytest.approx(rate)


def test_no_rate_is_set_below_the_floor_and_smoothing_keeps_part_of_the_old_one() -> None:
    assert policy_rate(5.0, 9.0, TaylorConfig(smoothing=0.75)) == pytest.approx(0.75 * 9.0 + 0.25 * 5.0)
    assert policy_rate(-2.5, 1.0, TAYLOR_1993) == 0.0
    assert policy_rate(-2.5, 1.0, TaylorConfig(rate_floor=-0.5)) == -0.5

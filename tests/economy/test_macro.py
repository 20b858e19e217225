from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from prism.config import MacroConfig, TaylorConfig
from prism.economy import GlobalState
from prism.economy.macro import INFLATION_PERCENT, Shocks, draw_shocks, output_gap, step
from prism.economy.taylor import policy_rate, taylor_rate
from tests.economy.history import us_series

ACCELERATING = MacroConfig(anchoring=0.0)
REST = GlobalState(interest_rate=4.0, inflation=2.0, gdp_growth=3.15, unemployment=5.9)
Policy = Callable[[GlobalState], float]


def follow(rule: TaylorConfig, macro: MacroConfig) -> Policy:
    return lambda state: policy_rate(
        taylor_rate(state.inflation, output_gap(state.unemployment, macro), rule), state.interest_rate, rule
    )


def run(start: GlobalState, macro: MacroConfig, policy: Policy, quarters: int) -> GlobalState:
    state = start
    for _ in range(quarters):
        state = step(replace(state, interest_rate=policy(state)), macro)
    return state


def test_an_economy_in_balance_stays_there_and_grows_by_its_trend() -> None:
    after = step(REST, MacroConfig())
    assert after.inflation == pytest.approx(2.0)
    assert after.unemployment == pytest.approx(5.9)
    assert after.gdp_growth == pytest.approx(3.15)
    assert after.total_economic_value == pytest.approx(1000.0 * 1.0315**0.25)


def test_one_quarter_is_the_three_equations() -> None:
    start = GlobalState(interest_rate=9.0, inflation=4.0, unemployment=4.9, total_economic_value=1000.0)
    after = step(start, ACCELERATING)
    # The gap is 2 x (5.9 - 4.9) = 2; a real rate of 5 is 3 above neutral: 0.91 x 2 - 0.10 x 3 = 1.52.
    assert after.unemployment == pytest.approx(5.9 - 1.52 / 2.0)
    assert after.inflation == pytest.approx(4.0 + 0.14 * 2.0)
    assert after.interest_rate == 9.0
    assert after.gdp_growth == pytest.approx(3.15 - 4 * 0.48, abs=0.05)  # but for compounding


def test_expected_inflation_is_drawn_to_the_anchor() -> None:
    after = step(replace(REST, inflation=6.0), MacroConfig(anchoring=0.25, anchor=2.0))
    assert after.inflation == pytest.approx(0.75 * 6.0 + 0.25 * 2.0)


def test_unemployment_gives_the_gap_by_okuns_law() -> None:
    # Okun (1962): a point of unemployment above normal goes with about three percent of output lost.
    assert output_gap(7.0, MacroConfig(natural_unemployment=4.0, okun=3.0)) == -9.0
    assert output_gap(5.9, MacroConfig()) == 0.0


def test_the_balance_is_that_of_the_united_states_from_1959_to_2009() -> None:
    series = us_series()
    years = (len(series) - 1) / 4.0
    growth = 100.0 * ((series[-1].real_gdp / series[0].real_gdp) ** (1.0 / years) - 1.0)
    unemployment = sum(figures.unemployment for figures in series) / len(series)
    assert MacroConfig().trend_growth == pytest.approx(growth, abs=0.005)
    assert MacroConfig().natural_unemployment == pytest.approx(unemployment, abs=0.05)


@settings(max_examples=60)
@given(inflation=st.floats(-4.0, 25.0), unemployment=st.floats(1.0, 11.0), rate=st.floats(0.0, 20.0))
def test_the_rule_brings_an_economy_back_from_a_bad_start(inflation: float, unemployment: float, rate: float) -> None:
    start = GlobalState(interest_rate=rate, inflation=inflation, unemployment=unemployment)
    macro = MacroConfig()
    end = run(start, macro, follow(TaylorConfig(), macro), 400)
    assert end.inflation == pytest.approx(2.0, abs=1e-6)
    assert end.unemployment == pytest.approx(5.9, abs=1e-6)
    assert end.interest_rate == pytest.approx(4.0, abs=1e-6)


@settings(max_examples=30)
@given(inflation=st.floats(2.0, 25.0), unemployment=st.floats(2.0, 6.0))
def test_the_rule_tames_inflation_even_where_nothing_anchors_it(inflation: float, unemployment: float) -> None:
    start = GlobalState(inflation=inflation, unemployment=unemployment)
    end = run(start, ACCELERATING, follow(TaylorConfig(), ACCELERATING), 400)
    assert end.inflation == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize("macro", [MacroConfig(), ACCELERATING], ids=["anchored", "accelerating"])
@pytest.mark.parametrize("rate", [0.0, 2.0, 3.5])
def test_inflation_drifts_away_under_a_constant_low_rate(rate: float, macro: MacroConfig) -> None:
    ends = [run(REST, macro, lambda _: rate, quarters).inflation for quarters in (0, 20, 40, 60, 80)]
    assert all(later > earlier for earlier, later in pairwise(ends))
    assert ends[-1] > 6.0


def test_inflation_drifts_away_under_a_rule_that_breaks_the_taylor_principle() -> None:
    passive = TaylorConfig(inflation_weight=-0.5)
    start = replace(REST, inflation=3.0)
    end = run(start, ACCELERATING, follow(passive, ACCELERATING), 200)
    assert end.inflation > 20.0
    assert run(start, ACCELERATING, follow(TaylorConfig(), ACCELERATING), 200).inflation < 2.1


def test_the_floor_turns_a_deep_slump_without_an_anchor_into_deflation_without_end() -> None:
    start = GlobalState(inflation=0.0, unemployment=11.0)
    end = run(start, ACCELERATING, follow(TaylorConfig(), ACCELERATING), 400)
    assert end.interest_rate == 0.0
    assert end.inflation == INFLATION_PERCENT[0]


@settings(max_examples=200)
@given(
    rate=st.floats(-100.0, 1000.0),
    inflation=st.floats(-1e6, 1e6),
    unemployment=st.floats(0.0, 100.0),
    value=st.floats(0.0, 1e300),
    shocks=st.builds(Shocks, st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)),
)
def test_every_state_has_a_next_one_that_is_finite(
    rate: float, inflation: float, unemployment: float, value: float, shocks: Shocks
) -> None:
    start = GlobalState(interest_rate=rate, inflation=inflation, unemployment=unemployment, total_economic_value=value)
    after = step(step(start, MacroConfig(), shocks), MacroConfig(), shocks)
    assert 0.0 <= after.unemployment <= 100.0
    assert INFLATION_PERCENT[0] <= after.inflation <= INFLATION_PERCENT[1]


def test_a_demand_shock_moves_the_gap_and_a_price_shock_inflation() -> None:
    calm, hit = step(REST, MacroConfig()), step(REST, MacroConfig(), Shocks(demand=1.0, prices=0.5))
    gaps = [output_gap(state.unemployment, MacroConfig()) for state in (calm, hit)]
    assert gaps[1] - gaps[0] == pytest.approx(1.0)
    assert hit.inflation - calm.inflation == pytest.approx(0.5)


def test_shocks_follow_from_the_seed_and_have_the_spread_asked_for() -> None:
    macro = MacroConfig(gap_shock=0.82, inflation_shock=1.01)
    drawn = [draw_shocks(macro, 7, tick) for tick in range(4000)]
    assert drawn[:20] == [draw_shocks(macro, 7, tick) for tick in range(20)]
    assert drawn[:20] != [draw_shocks(macro, 8, tick) for tick in range(20)]
    for column, deviation in zip(zip(*drawn, strict=True), (0.82, 1.01), strict=True):
        spread = (sum(value * value for value in column) / len(column)) ** 0.5
        assert spread == pytest.approx(deviation, rel=0.05)


def test_an_economy_without_shocks_is_calm() -> None:
    assert draw_shocks(MacroConfig(), 7, 3) == Shocks(0.0, 0.0)

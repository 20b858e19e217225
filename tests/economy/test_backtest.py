"""Backtests, and the defaults of the model against the figures of the United States."""

import pytest
from msgspec.structs import replace

from prism.config import BacktestConfig, EconomyConfig, TaylorConfig
from prism.economy.backtest import QUARTERS_MIN, Score, backtest, score
from prism.economy.series import Figures
from prism.quarter import Period, Quarter
from tests.catalogue import catalogue
from tests.economy.support import us_series

TAYLORS_SAMPLE = Period.parse("1987q1-1992q3")


def figures(count: int, rates: list[float] | None = None) -> list[Figures]:
    """Quarters from 2000q1 on, with prices that rise by 2% a year and unemployment at its natural rate."""
    quarters, quarter = [], Quarter(2000, 1)
    for number in range(count):
        quarters.append(
            Figures(
                quarter=quarter,
                real_gdp=100.0,
                price_index=100.0 * 1.02 ** (number / 4.0),
                interest_rate=(rates or [4.0] * count)[number],
                unemployment=5.9,
            )
        )
        quarter = quarter.following
    return quarters


def judged(economy: EconomyConfig, period: Period | None = None) -> Score:
    result = score(backtest(us_series(), economy), period)
    assert result is not None
    return result


def lagged(lag_quarters: int) -> EconomyConfig:
    return EconomyConfig(backtest=BacktestConfig(lag_quarters=lag_quarters))


@catalogue("lag", [0, 1, 3])
def test_the_rule_sees_nothing_younger_than_its_lag(lag: int) -> None:
    series = figures(16)
    before = backtest(series, lagged(lag))
    place = 12
    later = [*series]
    for index in range(place - lag + 1, len(series)):
        later[index] = replace(series[index], price_index=500.0, unemployment=20.0, interest_rate=30.0)
    for one in backtest(later, lagged(lag)):
        if one.quarter <= series[place - lag].quarter:
            continue
        if one.quarter <= series[place].quarter:
            (same,) = [old for old in before if old.quarter == one.quarter]
            assert (one.rule_rate, one.inflation, one.output_gap) == (same.rule_rate, same.inflation, same.output_gap)
        else:
            assert one.rule_rate != pytest.approx(4.0)


def test_an_economy_on_target_has_the_rate_of_the_rule_once_there_is_a_year_of_prices() -> None:
    for one in backtest(figures(12), EconomyConfig()):
        assert one.rule_rate == pytest.approx(4.0)
        assert one.no_change_rate == one.actual_rate == 4.0
    assert [one.quarter for one in backtest(figures(7), lagged(1))] == [Quarter(2001, 2), Quarter(2001, 3)]


def test_the_scores_are_those_of_the_definitions() -> None:
    # The rule says 4 throughout; from place 5 on the rate goes 5, 3, 3, 5 again and again.
    rates = [4.5] * 5 + [5.0, 3.0, 3.0, 5.0] * 2
    result = score(backtest(figures(13, rates), lagged(1)))
    assert result is not None
    assert result.quarters == 8
    assert result.rmse == pytest.approx(1.0)
    assert result.bias == pytest.approx(0.0)
    # Changes: +0.5, -2, 0, +2, 0, -2, 0, +2; five moves, three of them up.
    assert result.no_change_rmse == pytest.approx(((0.25 + 4 + 4 + 4 + 4) / 8) ** 0.5)
    # The first goes up from 4.5, where the rule points down; the other four go towards 4 and beyond.
    assert result.direction_share == pytest.approx(4 / 5)
    assert result.commoner_direction_share == pytest.approx(3 / 5)
    still = score(backtest(figures(20), EconomyConfig()))
    assert still is not None
    assert (still.direction_share, still.commoner_direction_share) == (None, None), "not defined"


def test_too_few_quarters_are_not_judged() -> None:
    forecasts = backtest(us_series(), EconomyConfig())
    assert score(forecasts[:QUARTERS_MIN]) is not None
    assert score(forecasts[: QUARTERS_MIN - 1]) is None
    assert score(forecasts, Period.parse("1950q1-1955q4")) is None


def test_the_rule_tells_the_rate_of_taylors_own_sample_better_than_that_of_all_time() -> None:
    own, all_time = judged(lagged(0), TAYLORS_SAMPLE), judged(lagged(0))
    assert own.quarters == 23
    assert 0.85 < (own.correlation or 0.0) < 0.95
    assert 0.55 < (all_time.correlation or 0.0) < 0.75
    assert own.rmse < 1.5
    assert all_time.rmse > 3.0


def test_the_error_that_advisers_assume_is_the_one_measured_on_taylors_own_sample() -> None:
    assert TaylorConfig().rate_error == pytest.approx(judged(EconomyConfig(), TAYLORS_SAMPLE).rmse, abs=0.05)

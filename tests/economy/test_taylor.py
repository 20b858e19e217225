from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.config import TaylorConfig
from prism.economy.macro import policy_rate, taylor_rate

TAYLOR_1993 = TaylorConfig()
PERCENT = st.floats(-50.0, 50.0)


def test_the_defaults_are_the_coefficients_of_1993() -> None:
    rule = TAYLOR_1993
    assert (rule.neutral_rate, rule.inflation_target, rule.inflation_weight, rule.output_weight) == (2, 2, 0.5, 0.5)


@pytest.mark.parametrize(
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


@given(inflation=PERCENT, gap=PERCENT)
def test_the_rate_rises_by_one_and_a_half_points_for_a_point_of_inflation(inflation: float, gap: float) -> None:
    rise = taylor_rate(inflation + 1.0, gap, TAYLOR_1993) - taylor_rate(inflation, gap, TAYLOR_1993)
    assert rise == pytest.approx(1.5)


def test_no_rate_is_set_below_the_floor() -> None:
    assert policy_rate(-2.5, 1.0, TAYLOR_1993) == 0.0
    assert policy_rate(-2.5, 1.0, TaylorConfig(rate_floor=-0.5)) == -0.5


def test_without_smoothing_the_old_rate_does_not_matter() -> None:
    assert policy_rate(5.0, 9.0, TAYLOR_1993) == policy_rate(5.0, 1.0, TAYLOR_1993) == 5.0


def test_smoothing_keeps_part_of_the_old_rate() -> None:
    assert policy_rate(5.0, 9.0, TaylorConfig(smoothing=0.75)) == pytest.approx(0.75 * 9.0 + 0.25 * 5.0)

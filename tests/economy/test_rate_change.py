from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.economy.rate_change import RateChange, read_rate_change

READ = {
    "Raise the interest rate by 0.50 percentage points": RateChange(direction=1, points=0.5),
    "Lower interest rates by 0.5%": RateChange(direction=-1, points=0.5),
    "Increase rates by 50 basis points": RateChange(direction=1, points=0.5),
    "Hike interest rates 25bp": RateChange(direction=1, points=0.25),
    "A 25 basis point rate cut": RateChange(direction=-1, points=0.25),
    "Interest rates should be raised by 0.25 percentage points": RateChange(direction=1, points=0.25),
    "Increase interest rates": RateChange(direction=1),
    "Set the interest rate to 3.25%": RateChange(direction=0, level=3.25),
    "Set interest rate at 2%": RateChange(direction=0, level=2.0),
    "Cut the policy rate from 4% to 3.5%": RateChange(direction=-1, level=3.5),
    "Raise interest rates from 2.5% by 0.5%": RateChange(direction=1, points=0.5),
    "Keep the interest rate at 4.00%": RateChange(direction=0),
    "Cut taxes by 5%, keep interest rates unchanged": RateChange(direction=0),
    "Lower interest rates by 0.5% and raise spending by 3%": RateChange(direction=-1, points=0.5),
    "Raise spending by 3% and lower interest rates": RateChange(direction=-1),
    "Lower the unemployment rate to 5% by cutting interest rates by 1 percent": RateChange(direction=-1, points=1.0),
    "Cut the tax rate by 2%": None,
    "Fix the exchange rate at 1.2": None,
    "Deploy military forces": None,
    "Strengthen the oversight of interest rate swaps": None,
}


@pytest.mark.parametrize(("action", "change"), READ.items(), ids=READ.keys())
def test_an_action_is_read_for_what_it_asks_of_the_interest_rate(action: str, change: RateChange | None) -> None:
    assert read_rate_change(action) == change


@given(st.text(max_size=500))
def test_any_text_can_be_read(text: str) -> None:
    change = read_rate_change(text)
    assert change is None or change.direction in (-1, 0, 1)

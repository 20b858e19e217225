from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from prism.economy.embedded import RateChange, read_rate_change
from tests.catalogue import catalogue

READ = {
    "Raise the interest rate by 0.50 percentage points": RateChange(direction=1, points=0.5),
    "Lower interest rates by 0.5%": RateChange(direction=-1, points=0.5),
    "Increase rates by 50 basis points": RateChange(direction=1, points=0.5),
    "Increase interest rates.": RateChange(direction=1),
    "Set the interest rate to 3.25%": RateChange(direction=0, level=3.25),
    "Set the policy rate at -0.5%": RateChange(direction=0, level=-0.5),
    "Cut the policy rate from 4% to 3.5%": RateChange(direction=-1, level=3.5),
    "Keep the interest rate at 4.00%": RateChange(direction=0),
    "Cut taxes by 5%, keep interest rates unchanged": RateChange(direction=0),
    "Lower interest rates by 0.5% and raise spending by 3%": RateChange(direction=-1, points=0.5),
    "Raise spending by 3%;\nlower the central bank policy rate": RateChange(direction=-1),
    "Do not keep rates unchanged: raise rates by 0.5 points": RateChange(direction=1, points=0.5),
}
NOT_UNDERSTOOD = (
    "Cut the tax rate by 2%",
    "Fix the exchange rate at 1.2",
    "Set the interest rate",
    "Raise rates by -0.5%",
    "Raise interest rates by 25 to 50 basis points",
    "Raise rates by between 0.25% and 0.5%",
    "Do not raise interest rates by 0.5%",
    "Refrain from cutting rates by 1%",
    "Interest rates should not be raised",
    "Raise taxes, not interest rates",
    "Strengthen the oversight of interest rate swaps",
    "Deploy military forces",
)


@catalogue(("action", "change"), [*READ.items(), *((action, None) for action in NOT_UNDERSTOOD)])
def test_an_action_is_read_for_what_it_asks_of_the_interest_rate(action: str, change: RateChange | None) -> None:
    assert read_rate_change(action) == change


@given(st.text(max_size=500))
def test_any_text_can_be_read(text: str) -> None:
    change = read_rate_change(text)
    assert change is None or change.direction in (-1, 0, 1)

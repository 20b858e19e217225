from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prism.economy.rate_change import RateChange, read_rate_change
from tests.catalogue import catalogue

TraceFunction = Callable[[FrameType, str, Any], Any]

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
    "Raise interest rates by 25 to 50 basis points": RateChange(direction=1, points=0.375),
    "Raise rates by between 0.25% and 0.5%": RateChange(direction=1, points=0.375),
    "Raise rates by 0.25\u20130.50 percentage points": RateChange(direction=1, points=0.375),
    "Raise rates by 0.5% to 3%": RateChange(direction=1, level=3.0),
    "Set the policy rate to between 2 and 2.5%": RateChange(direction=0, level=2.25),
    "Raise rates by up to 0.5%": RateChange(direction=1, points=0.5),
    "Raise rates up to 3%": RateChange(direction=1, level=3.0),
    "Slash interest rates by 1%": RateChange(direction=-1, points=1.0),
    "Trim the rate by a full percentage point": RateChange(direction=-1, points=1.0),
    "Bring down the policy rate by half a point": RateChange(direction=-1, points=0.5),
    "Bring interest rates down by three quarters of a point": RateChange(direction=-1, points=0.75),
    "Bring rates lower by twenty-five basis points": RateChange(direction=-1, points=0.25),
    "Push the rate up to 4%": RateChange(direction=1, level=4.0),
    "Move rates by -0.25%": RateChange(direction=-1, points=0.25),
    "Move on from the debate about rates": None,
    "A 25-basis-point hike in the interest rate": RateChange(direction=1, points=0.25),
    "Cut spending; interest rates should be raised by 0.5%": RateChange(direction=1, points=0.5),
    "Do not raise interest rates by 0.5%": RateChange(direction=0),
    "Don't cut rates": RateChange(direction=0),
    "Interest rates should not be raised": RateChange(direction=0),
    "Refrain from cutting rates by 1%": RateChange(direction=0),
    "Hold off on raising rates": RateChange(direction=0),
    "No rate cut": RateChange(direction=0),
    "Raise taxes, not interest rates": RateChange(direction=0),
    "Instead of raising rates, cut them by 25bp": RateChange(direction=-1, points=0.25),
    "Do not keep rates unchanged: raise them by 0.5%": RateChange(direction=1, points=0.5),
    "Do not hesitate to raise rates by 0.5%": RateChange(direction=1, points=0.5),
    "Not only cut rates by 0.5%, but spend more": RateChange(direction=-1, points=0.5),
    "As inflation is not high, cut rates by 0.5%": RateChange(direction=-1, points=0.5),
    "To stop inflation raise rates by 0.5%": RateChange(direction=1, points=0.5),
    "Deploy military forces": None,
    "Strengthen the oversight of interest rate swaps": None,
}


@catalogue(("action", "change"), READ.items())
def test_an_action_is_read_for_what_it_asks_of_the_interest_rate(action: str, change: RateChange | None) -> None:
    assert read_rate_change(action) == change


@given(st.text(max_size=500))
def test_any_text_can_be_read(text: str) -> None:
    change = read_rate_change(text)
    assert change is None or change.direction in (-1, 0, 1)


SLOW = (
    "rates ",
    "raise ",
    "not ",
    "do not raise rates them ",
    "1 to ",
    "1%",
    "twenty ",
    "no more ",
    "a",
    "from 1% ",
    " ",
)


@catalogue("part", SLOW)
def test_the_work_is_in_proportion_to_the_length_of_the_text(part: str) -> None:
    def work(length: int) -> int:
        """Return the number of lines of Python that reading takes, which no other process can change."""
        lines = 0

        def count(_: FrameType, event: str, __: object) -> TraceFunction:
            nonlocal lines
            lines += event == "line"
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            read_rate_change(part * (length // len(part)))
        finally:
            sys.settrace(before)
        return lines

    assert work(4000) < 6 * work(1000) + 200

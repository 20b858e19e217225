from __future__ import annotations

import pytest

from prism.quarter import Period, Quarter
from tests.catalogue import catalogue


@catalogue("text", ["1985q1", "1985Q1", " 1985q1 "])
def test_a_quarter_is_read_from_its_name(text: str) -> None:
    assert Quarter.parse(text) == Quarter(1985, 1)
    assert str(Quarter.parse(text)) == "1985q1"


@catalogue("text", ["", "1985", "1985q0", "1985q5", "85q1", "1985-1", "q1 1985", "1985q1x", "0985q1"])
def test_what_names_no_quarter_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a quarter such as 1985q1, got"):
        Quarter.parse(text)


def test_a_period_holds_both_its_ends() -> None:
    period = Period.parse("1987q1-1992q3")
    assert str(period) == "1987q1-1992q3"
    assert Quarter(1987, 1) in period
    assert Quarter(1992, 3) in period
    assert Quarter(1986, 4) not in period
    assert Quarter(1992, 4) not in period


@catalogue("text", ["1987q1", "1987-1992", "1987q1-1992q3-1993q1"])
def test_what_names_no_period_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a period such as 1987q1-1992q3, got"):
        Period.parse(text)

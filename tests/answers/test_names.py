"""The names of numbers and settings."""

from __future__ import annotations

from prism.answers import INDICATORS, named


def test_a_number_of_an_economy_has_its_name_and_unit_and_one_of_another_world_its_own_words() -> None:
    assert str(named("gdp_growth", INDICATORS)) == "growth of output, % a year"
    assert str(named("applied", [*INDICATORS, "applied"])) == "applied proposals"
    assert str(named("unemployment", ["unemployment", "rent_paid"])) == "unemployment"

"""The names of numbers and settings."""

from __future__ import annotations

from prism.answers import INDICATORS, moment_in_words, named, setting_in_words
from prism.economy.moments import moments
from tests.catalogue import catalogue


def test_a_number_of_an_economy_has_its_name_and_unit_and_one_of_another_world_its_own_words() -> None:
    assert str(named("gdp_growth", INDICATORS)) == "growth of output, % a year"
    assert str(named("applied", [*INDICATORS, "applied"])) == "applied proposals"
    assert str(named("unemployment", ["unemployment", "rent_paid"])) == "unemployment"


def test_no_moment_is_called_by_its_key() -> None:
    course = [float(place % 5) for place in range(20)]
    names = [moment_in_words(moment) for moment in moments(dict.fromkeys(INDICATORS, course))]
    assert len(set(names)) == len(names)
    assert not [name for name in names if name.split()[0] in ("gdp", "okun", "rate", "big", "zero") or "_" in name]


@catalogue(
    ("key", "said"),
    [
        ("economy.taylor.inflation_weight", "inflation weight"),
        ("population.size", "population size"),
        ("feed.algorithm", "feed algorithm"),
    ],
)
def test_a_setting_is_called_by_its_last_words(key: str, said: str) -> None:
    assert setting_in_words(key) == said

"""Values with which conditions hold, or the proof that there are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.expressions import EFFORT_MAX, Expression, Field, Search, find, parse
from tests.expressions.grid import VALUES, conditions, every_value, function

REAL = {name: Field(name=name, kind="float", low=0, high=1) for name in ("low", "middle", "high", "relevance")}
OPEN = {
    **{name: Field(name=name, kind="text") for name in ("city", "home", "work")},
    "places": Field(name="places", kind="texts"),
}


@pytest.mark.slow
@given(st.lists(conditions, max_size=3), st.lists(conditions, max_size=3))
def test_a_search_finds_values_exactly_where_a_grid_has_them(holds: list[Expression], fails: list[Expression]) -> None:
    names = tuple(dict.fromkeys(name for each in (*holds, *fails) for name in each.fields))
    found = find(holds, fails)
    true, false = [function(each) for each in holds], [function(each) for each in fails]

    def is_wanted(values: Mapping[str, Any]) -> bool:
        return all(each(dict(values)) for each in true) and not any(each(dict(values)) for each in false)

    assert found.is_decided
    assert (found.values is not None) == any(map(is_wanted, every_value(names)))
    if found.values is not None:
        assert found.values.keys() == set(names)
        assert all(found.values[name] in VALUES[name] for name in names)
        assert is_wanted(found.values)


def search(holds: str, fails: str = "", effort: int = EFFORT_MAX) -> Search:
    fields = {**REAL, **OPEN, "n": Field(name="n", kind="int", low=0, high=3), "x": Field(name="x", kind="float")}
    parsed = [[parse(text, fields) for text in texts.split("; ") if text] for texts in (holds, fails)]
    return find(*parsed, effort=effort)


@pytest.mark.parametrize(
    ("holds", "fails"),
    [
        ("", "relevance <= low; low < relevance < high; relevance >= high"),
        ("low <= middle; middle <= high; high < relevance", "relevance > low"),
        ("low < middle; middle < high; high < low", ""),
        ("low < middle; middle == high; high == low", ""),
        ("0.3 < low < 0.3000000000000001; middle == low; middle < 0.3", ""),
        ("relevance > 1", ""),
        ("0 < n; n < 1", ""),
        ("n > low; n <= 0", ""),
        ("n / n == 0; n < 0.5", ""),
        ("low + middle > 0.5", "low + middle >= 0.5"),
        ("low + middle > 3", ""),
        ("abs(x) < 0", ""),
        ("max(low, middle) < 0.5; middle * 1 > 0.5", ""),
        ("city == home; home == work; city != work", ""),
        ("city in places; city == 'rome'; 'rome' not in places", ""),
        ("city == 'rome' and city == 'oslo'", ""),
        ("if(city == home, low, 1) < 0.5; city == home; low > 0.5", ""),
        ("if('rome' in places, low / 4, high) > 0.5; 'rome' in places", ""),
    ],
)
def test_what_is_impossible_is_proved(holds: str, fails: str) -> None:
    assert search(holds, fails).is_impossible


@pytest.mark.parametrize(
    ("holds", "fails"),
    [
        ("low < relevance < high", ""),
        ("relevance > 0.3", "relevance > 0.31"),
        ("x > 7", ""),
        ("x < -7", ""),
        ("0 < x < 1e-300", ""),
        ("low < middle; middle < high; high < relevance", ""),
        ("low * middle == 0.25; low > 0.4", ""),
        ("n == low; low > 0", ""),
        ("n / low > 100", ""),
        ("city != 'rome'; home != 'rome'; city != home; work == home", ""),
        ("city not in places; 'rome' in places", ""),
        ("if(city == home, 0, 1) == 1; if(home == work, 0, 1) == 1; if('rome' in places, 1, 0) == 1", ""),
        ("if(city == 'rome', low, 2 * middle) > 1.5", ""),
    ],
)
def test_what_is_possible_is_shown_by_values(holds: str, fails: str) -> None:
    assert search(holds, fails).values is not None


@pytest.mark.parametrize(
    ("holds", "fails"),
    [("x * x * x + x == 7 * n * n + 0.3 and low * x > middle * x * x", ""), ("exp(x) < 1; x > 1", "")],
    ids=["beyond the limit", "a function of which too little is known"],
)
def test_a_search_that_decides_nothing_says_so(holds: str, fails: str) -> None:
    found = search(holds, fails, effort=1000)
    assert (found.values, found.is_decided, found.is_impossible) == (None, False, False)


def test_without_conditions_anything_will_do() -> None:
    assert find([]) == Search(values={}, is_decided=True)

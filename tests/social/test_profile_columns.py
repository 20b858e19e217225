"""The columns of a profile file that give attributes, thresholds and activity: read as declared, or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prism.config import PopulationConfig
from prism.errors import InputError
from prism.social.people.persona import Persona
from prism.social.people.profiles import Profile, parse_profiles, personas_from_profiles
from tests.catalogue import catalogue

HEADER = "user_id,name,following_agentid_list,user_char"


def settings(columns: dict[str, Any] | None = None, **attributes: dict[str, Any]) -> PopulationConfig:
    return PopulationConfig(attributes=attributes, columns=columns or {})  # type: ignore[arg-type]


def from_csv(config: PopulationConfig, columns: str, *rows: str) -> tuple[Profile, ...]:
    lines = [f"{HEADER},{columns}", *(f"{number},P{number},[],,{row}" for number, row in enumerate(rows))]
    return parse_profiles("\n".join(lines).encode(), "p.csv", config)


def from_json(config: PopulationConfig, *entries: dict[str, Any]) -> tuple[Profile, ...]:
    named = [{"realname": f"P{number}", **entry} for number, entry in enumerate(entries)]
    return parse_profiles(json.dumps(named).encode(), "p.json", config)


def people(config: PopulationConfig, profiles: tuple[Profile, ...]) -> tuple[Persona, ...]:
    return personas_from_profiles(profiles, 7, config)


EVERY: dict[str, dict[str, Any]] = {
    "age": {"type": "int", "min": 13, "max": 99},
    "ideology": {"type": "float", "column": "left right"},
    "region": {"type": "text", "values": ["north", "south"]},
    "verified": {"type": "bool", "probability": 1.0},
    "member": {"type": "bool"},
}


def test_a_table_gives_each_attribute_its_column_and_the_others_are_drawn() -> None:
    config = settings(**EVERY)
    (ada, bo) = people(
        config, from_csv(config, "member,age,left right,region", "yes,40,-0.5,north", "0,13.0,1e1, south ")
    )
    assert ada.attributes == {"age": 40, "ideology": -0.5, "region": "north", "verified": True, "member": True}
    assert bo.attributes == {"age": 13, "ideology": 10.0, "region": "south", "verified": True, "member": False}
    assert list(ada.attributes) == list(EVERY)
    assert [type(value) for value in ada.attributes.values()] == [int, float, str, bool, bool]


def test_a_list_of_objects_gives_each_attribute_its_key() -> None:
    config = settings(**EVERY)
    (ada,) = people(config, from_json(config, {"age": 40.0, "left right": 1, "region": "north", "member": True}))
    assert ada.attributes == {"age": 40, "ideology": 1.0, "region": "north", "verified": True, "member": True}
    assert [type(value) for value in ada.attributes.values()] == [int, float, str, bool, bool]


MISSING = "which stands for a missing value; population.attributes.own.default would stand for it"
WRONG_CELLS = [
    ({"type": "int", "min": 13, "max": 99}, "abc", "expected int 13 to 99, got 'abc'"),
    ({"type": "int"}, "40.5", "expected int, got '40.5'"),
    ({"type": "float"}, "nan", f"expected float, got 'nan', {MISSING}"),
    ({"type": "bool"}, "maybe", "expected true or false, got 'maybe'"),
    ({"type": "text", "values": ["n", "s"]}, "w", "expected one of: n, s, got 'w'"),
    ({"type": "int"}, "", "expected int, got nothing; population.attributes.own.default would stand for it"),
]


@catalogue(("declaration", "cell", "problem"), WRONG_CELLS)
def test_a_cell_that_does_not_fit_is_refused_with_its_line_and_column(
    declaration: dict[str, Any], cell: str, problem: str
) -> None:
    fits = {"int": "50", "float": "0.5", "bool": "true", "text": "n"}[declaration["type"]]
    with pytest.raises(InputError) as caught:
        from_csv(settings(own=declaration), "own", fits, cell)
    assert str(caught.value) == f"p.csv:3: own: {problem}"


@catalogue(
    ("declaration", "value", "problem"),
    [
        ({"type": "int"}, 10**400, f"expected int, got 1{'0' * 59}"),
        ({"type": "text"}, 3, "expected text, got 3"),
        ({"type": "text"}, None, "expected text, got nothing; population.attributes.own.default would stand for it"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_profile_and_key(
    declaration: dict[str, Any], value: object, problem: str
) -> None:
    fits = {"int": 50, "float": 0.5, "bool": True, "text": "n"}[declaration["type"]]
    with pytest.raises(InputError) as caught:
        from_json(settings(own=declaration), {"own": fits}, {"own": value})
    assert str(caught.value) == f"p.json: own: profile 2 (P1): {problem}"


def test_a_column_that_the_file_lacks_is_refused_with_those_there_are() -> None:
    has = f"the file has: {HEADER.replace(',', ', ')}, ideology"
    for config, problem in (
        (
            settings(own={"type": "int", "column": "Ideologie"}),
            "Ideologie, for population.attributes.own; did you mean",
        ),
        (settings(own={"type": "int"}), "own, for population.attributes.own;"),
        (
            settings(Ideology={"type": "float", "min": 0, "max": 1}),
            "Ideology, for population.attributes.Ideology; `column:",
        ),
        (settings({"activity": "share"}), "share, for population.columns.activity;"),
    ):
        with pytest.raises(InputError) as caught:
            from_csv(config, "ideology", "1")
        assert str(caught.value).startswith(f"p.csv:1: missing column: {problem}")
        assert str(caught.value).endswith(has)
    with pytest.raises(InputError, match=r"^p\.json: missing key: own, for .* the file has: realname, ideology$"):
        from_json(settings(own={"type": "int"}), {"ideology": 1})


def test_a_column_that_stands_twice_is_refused_only_if_it_is_read() -> None:
    assert len(from_csv(settings(), "own,own", "1,2")) == 1
    with pytest.raises(InputError, match=r"^p\.csv:1: own: stands twice, and population\.attributes\.own reads it$"):
        from_csv(settings(own={"type": "int"}), "own,own", "1,2")


def test_thresholds_and_activity_come_from_their_columns_and_a_blank_one_from_the_seed() -> None:
    config = settings({"engagement_threshold": "trust", "activity": "share"})
    plain = people(settings(), from_csv(settings(), "trust,share", "0.9,0", ",", "0.02,1"))
    ada, bo, cy = people(config, from_csv(config, "trust,share", "0.9,0", ",", "0.02,1"))
    assert (ada.engagement_threshold, ada.activity) == (0.9, 0.0)
    assert (ada.low_threshold, ada.high_threshold) == (0.9 - 0.1, 0.9 + 0.1)
    assert bo == plain[1]
    assert (cy.low_threshold, cy.high_threshold, cy.activity) == (0.0, 0.02 + 0.1, 1.0)


@catalogue(
    ("row", "problem"),
    [
        ("1.5,,", "mid: expected float 0 to 1, got '1.5'"),
        ("0.5,0.6,", "low: expected at most the engagement threshold of 0.5, got 0.6"),
        ("0.5,,0.4", "high: expected at least the engagement threshold of 0.5, got 0.4"),
        (",0.4,", "low: expected an engagement threshold in the same profile"),
    ],
)
def test_thresholds_out_of_range_or_order_are_refused(row: str, problem: str) -> None:
    config = settings({"engagement_threshold": "mid", "low_threshold": "low", "high_threshold": "high"})
    with pytest.raises(InputError) as caught:
        from_csv(config, "mid,low,high", "0.5,0.4,0.6", row)
    assert str(caught.value) == f"p.csv:3: {problem}"

"""Files of profiles: how they are read, the columns that the configuration names, and the people they make."""

import json
from functools import partial
from typing import Any

import pytest

from prism.config.model import GraphConfig, PopulationConfig
from prism.errors import ConfigError, InputError
from prism.social.people.people import SyntheticPeople
from prism.social.people.persona import Persona
from prism.social.people.population import Population, build_population
from prism.social.people.profiles import Profile, Profiles, parse_profiles, personas_from_profiles
from prism.social.ties.graph import FollowGraph
from tests.catalogue import catalogue
from tests.paths import real_path

HEADER = b"user_id,name,username,following_agentid_list,user_char,description\n"


def real_file(name: str) -> bytes:
    return real_path(name).read_bytes()


def test_a_json_profile_is_read_with_its_facts() -> None:
    facts = {"age": 40, "gender": "female", "mbti": "INTJ", "country": "Chile", "profession": "Rail"}
    entry = {
        "realname": "Ada Novak",
        "username": "ada",
        "bio": "Trains.",
        "persona": "Ada loves night trains.",
        **facts,
    }
    found = parse_profiles(json.dumps([{**entry, "interested_topics": ["Rail", "Tea", "Rail"]}]).encode(), "p.json")
    told = "Ada loves night trains. (INTJ, 40, female, Chile, Rail)"
    assert found == (Profile(name="Ada Novak", interests=("Rail", "Tea"), personality=told),)


@catalogue(
    ("name", "data", "message"),
    [
        ("p.json", b"[]", "p.json: holds no profiles: expected at least one"),
        (
            "p.json",
            b"[\n\xff]",
            "p.json:2: expected UTF-8 text, got byte 0xff: save it as UTF-8, or set population.enc",
        ),
        (
            "p.json",
            b'[{"realname": "Ada", "interested_topics": ["tea", 3]}]',
            'p.json: interested_topics: profile 1: expected a list of texts, got ["tea", 3]',
        ),
        (  # half a character would end a run
            "p.json",
            b'[{"realname": "Ada", "username": "ada"}, {"realname": "B\\ud800", "username": "b"}]',
            "p.json: profile 2 holds half a character (\\ud800 to \\udfff alone): expected text",
        ),
        ("p.csv", b"", "p.csv: holds no profiles: expected at least one"),
        ("p.csv", b"0,Ada,ada,[],,\n1,Bo\n", "p.csv:3: expected 6 columns, got 2"),
        (
            "p.csv",
            b'0,Ada,ada,"[]","two\nlines",\n1,Bo,bo,[1.31E+18],,\n',
            "p.csv:4: following_agentid_list: 1.31e+18 has lost its last digits, so it names nobody: expected whole",
        ),
        ("p.csv", b'0,Ada,ada,[],"open,\n1,Bo,bo,[],,\n', "p.csv:2: bad CSV: unexpected end of data"),
        ("p.csv", b"0,Ada,ada,[],,\n0,Bo,bo,[],,\n", "p.csv:3: user_id: '0' is used on lines 2 and 3"),
    ],
)
def test_a_bad_file_is_one_clear_line(name: str, data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_profiles((HEADER if name == "p.csv" else b"") + data, name)
    assert str(caught.value).startswith(message)


@catalogue("unit", ["[", '{"a":', '{"a":[', '"', '["\\', "[{"])
def test_hostile_json_is_refused(unit: str) -> None:
    with pytest.raises(InputError, match=r"^p\.json(:\d+)?: bad JSON: "):
        parse_profiles((unit * (100_000 // len(unit))).encode(), "p.json")


def test_the_reddit_profiles_are_36_with_topics_and_no_follows() -> None:
    profiles = parse_profiles(real_file("oasis-reddit-users-36.json"), "oasis-reddit-users-36.json")
    assert len(profiles) == 36
    assert profiles[0].name == "James Miller"
    assert profiles[0].interests == ("Economics", "Business")
    assert all(profile.interests and profile.personality for profile in profiles)
    assert not len(profiles.ties)


def test_the_twitter_profiles_are_196_with_1279_listed_follows_of_which_ten_are_of_oneself() -> None:
    profiles = parse_profiles(real_file("oasis-twitter-users-196.csv"), "oasis-twitter-users-196.csv")
    assert len(profiles) == 196
    assert len(profiles.ties) == 1279
    assert (profiles.ties[:, 0] == profiles.ties[:, 1]).sum() == 10
    assert all(profile.personality == "" for profile in profiles)


TABLE = "user_id,name,following_agentid_list,user_char"


def settings(columns: dict[str, Any] | None = None, **attributes: dict[str, Any]) -> PopulationConfig:
    return PopulationConfig(attributes=attributes, columns=columns or {})  # type: ignore[arg-type]


def table(config: PopulationConfig, columns: str, *rows: str) -> tuple[Profile, ...]:
    lines = [
        f"{TABLE},{columns}",
        *(f"{number},P{number},[],,{row}" for number, row in enumerate(rows)),
    ]
    return parse_profiles("\n".join(lines).encode(), "p.csv", config)


def listed(config: PopulationConfig, *entries: dict[str, Any]) -> tuple[Profile, ...]:
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
        config,
        table(config, "member,age,left right,region", "yes,40,-0.5,north", "0,13.0,1e1, south "),
    )
    assert ada.attributes == {"age": 40, "ideology": -0.5, "region": "north", "verified": True, "member": True}
    assert bo.attributes == {"age": 13, "ideology": 10.0, "region": "south", "verified": True, "member": False}
    assert list(ada.attributes) == list(EVERY)
    assert [type(value) for value in ada.attributes.values()] == [int, float, str, bool, bool]


def test_a_list_of_objects_gives_each_attribute_its_key() -> None:
    config = settings(**EVERY)
    (ada,) = people(config, listed(config, {"age": 40.0, "left right": 1, "region": "north", "member": True}))
    assert ada.attributes == {"age": 40, "ideology": 1.0, "region": "north", "verified": True, "member": True}
    assert [type(value) for value in ada.attributes.values()] == [int, float, str, bool, bool]


MISSING = "which stands for a missing value; population.attributes.own.default would stand for it"
NOTHING = "got nothing; population.attributes.own.default would stand for it"


@catalogue(
    ("declaration", "value", "problem"),
    [
        ({"type": "int", "min": 13, "max": 99}, "abc", "expected int 13 to 99, got 'abc'"),
        ({"type": "int"}, "40.5", "expected int, got '40.5'"),
        ({"type": "float"}, "nan", f"expected float, got 'nan', {MISSING}"),
        ({"type": "bool"}, "maybe", "expected true or false, got 'maybe'"),
        ({"type": "text", "values": ["n", "s"]}, "w", "expected one of: n, s, got 'w'"),
        ({"type": "int"}, "", f"expected int, {NOTHING}"),
        ({"type": "int"}, 10**400, f"expected int, got 1{'0' * 59}"),
        ({"type": "text"}, 3, "expected text, got 3"),
        ({"type": "text"}, None, f"expected text, {NOTHING}"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_line_or_profile_and_its_column(
    declaration: dict[str, Any], value: object, problem: str
) -> None:
    fits = {"int": 50, "float": 0.5, "bool": True, "text": "n"}[declaration["type"]]
    config, place = settings(own=declaration), "p.csv:3: own: "
    read = partial(table, config, "own", str(fits), str(value))
    if not isinstance(value, str):
        read, place = partial(listed, config, {"own": fits}, {"own": value}), "p.json: own: profile 2: "
    with pytest.raises(InputError) as caught:
        read()
    assert str(caught.value) == f"{place}{problem}"


def test_a_column_that_the_file_lacks_is_refused_with_those_there_are() -> None:
    has = f"the file has: {TABLE.replace(',', ', ')}, ideology"
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
            table(config, "ideology", "1")
        assert str(caught.value).startswith(f"p.csv:1: missing column: {problem}")
        assert str(caught.value).endswith(has)
    with pytest.raises(InputError, match=r"^p\.json: missing key: own, for .* the file has: realname, ideology$"):
        listed(settings(own={"type": "int"}), {"ideology": 1})


def test_a_column_that_stands_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"^p\.csv:1: own: stands twice: expected one column 'own'$"):
        table(settings(own={"type": "int"}), "own,own", "1,2")


def test_thresholds_and_activity_come_from_their_columns_and_a_blank_one_from_the_seed() -> None:
    config = settings({"engagement_threshold": "trust", "activity": "share"})
    plain = people(settings(), table(settings(), "trust,share", "0.9,0", ",", "0.02,1"))
    ada, bo, cy = people(config, table(config, "trust,share", "0.9,0", ",", "0.02,1"))
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
        table(config, "mid,low,high", "0.5,0.4,0.6", row)
    assert str(caught.value) == f"p.csv:3: {problem}"


FROM_PROFILES = PopulationConfig(graph=GraphConfig(kind="profiles"))


def profiles(*rows: str) -> Profiles:
    lines = ["user_id,name,following_agentid_list,user_char", *(f"{row},trains" for row in rows)]
    return parse_profiles("\n".join(lines).encode(), "p.csv")


def test_follow_lists_make_the_graph_and_set_the_size() -> None:
    rows = 'ada,Ada,"[cy, bo]"', 'bo,Bo,"[ada, ada, bo]"', "cy,Cy,[]"
    population = build_population(FROM_PROFILES, 1, profiles=profiles(*rows))
    graph = population.graph
    assert graph.names == ("ada", "bo", "cy")
    assert [graph.following(person).tolist() for person in range(3)] == [[1, 2], [0], []]
    assert (graph.duplicates, graph.self_loops) == (1, 1)
    assert [population.name(person) for person in range(3)] == ["Ada", "Bo", "Cy"]


def test_follow_lists_that_are_not_there_are_a_config_error() -> None:
    for given, problem in (
        (None, "`profiles` takes the ties from population.profiles, which is not set"),
        (
            profiles("ada,Ada,[ada]", "bo,Bo,[]"),
            "`profiles` needs follow lists, and nobody follows anyone in population.profiles: p.csv: 2 profiles from",
        ),
    ):
        with pytest.raises(ConfigError) as caught:
            build_population(FROM_PROFILES, 1, profiles=given)
        assert str(caught.value).startswith(f"configuration: population.graph.kind: {problem}")


def test_a_population_has_one_persona_for_each_person() -> None:
    with pytest.raises(ValueError, match=r"^personas: expected one for each of 3 people, got 2$"):
        Population(personas=SyntheticPeople(2, 1, PopulationConfig()), graph=FollowGraph(3, [0], [1]))

"""Profiles as people have them, and the people they make: right or refused, and never wrong without a word."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from prism.config.model import GraphConfig, PopulationConfig
from prism.errors import ConfigError, InputError
from prism.social.people.people import SyntheticPeople
from prism.social.people.persona import Persona
from prism.social.people.population import Population, build_population
from prism.social.people.profiles import (
    LostDigitsError,
    Profiles,
    entries_of,
    id_text,
    parse_profiles,
    personas_from_profiles,
)
from prism.social.ties.graph import FollowGraph
from tests.catalogue import catalogue
from tests.command import Prism
from tests.paths import real_path
from tests.tiers import Size

TWITTER = """\
,user_id,name,username,following_agentid_list,previous_tweets,user_char,description
0,44196397,Ira Sol,ira,"[1, 2]","['a, b', ""it's""]",Repairs clocks,
1,1339835893,Bo Lund,bo,[0],[],,Collects maps
2,5,Cy Rao,cy,"[0, 1, 2]",[],Rows,
"""


def read(text: str | bytes, name: str = "p.csv", **settings: object) -> Profiles:
    data = text if isinstance(text, bytes) else text.encode()
    return parse_profiles(data, name, PopulationConfig(**settings))  # type: ignore[arg-type]


def ties(profiles: Profiles) -> list[tuple[int, int]]:
    """The ties as numbers of rows."""
    return sorted((one, other) for one, other in profiles.ties.tolist() if one != other)


def refusal(text: str | bytes, name: str = "p.csv", **settings: object) -> str:
    with pytest.raises(InputError) as caught:
        read(text, name, **settings)
    return str(caught.value)


# The shapes of the files that OASIS ships.


def test_follow_lists_that_hold_row_numbers_are_read_by_row() -> None:
    profiles = read(TWITTER)
    assert ties(profiles) == [(0, 1), (0, 2), (1, 0), (2, 0), (2, 1)]
    assert profiles.keys == ["44196397", "1339835893", "5"]
    assert [2, 2] in profiles.ties.tolist()
    assert profiles.understood[1] == (
        "p.csv: `following_agentid_list` holds numbers of rows, from 0 (population.follow_lists: row); 5 follows; "
        "first: Ira Sol (44196397) -> Bo Lund (1339835893); they make ties only with population.graph.kind: profiles"
    )


def test_a_sample_of_a_larger_file_leaves_out_whom_it_lacks_with_their_count() -> None:
    profiles = read(TWITTER.replace('"[0, 1, 2]"', '"[0, 70, 81, 70]"'))
    assert ties(profiles) == [(0, 1), (0, 2), (1, 0), (2, 0)]
    assert profiles.understood[-1] == "p.csv: 3 follows of 2 people outside the file left out"


def test_the_index_of_a_sample_names_the_rows_of_the_larger_file_if_that_is_set() -> None:
    sample = TWITTER.replace("\n0,", "\n4,").replace("\n1,", "\n17,").replace("\n2,", "\n30,")
    lists = sample.replace('"[1, 2]"', '"[17, 2]"').replace("[0],", "[30],").replace('"[0, 1, 2]"', '"[4, 99]"')
    assert "1 by row and 3 by index of 5 entries name people of this file" in refusal(lists)
    profiles = read(lists, follow_lists="index")
    assert ties(profiles) == [(0, 1), (1, 2), (2, 0)]
    assert profiles.understood[-1] == "p.csv: 2 follows of 2 people outside the file left out"


def test_people_of_the_reddit_shape_are_read_with_fields_missing() -> None:
    people: list[dict[str, object]] = [
        {"realname": "Ira Sol", "username": "ira", "bio": "b", "persona": "p", "age": 40, "gender": "male"}
        | {"mbti": "INTJ", "country": "Chile", "profession": "Rail", "interested_topics": ["Rail", "Tea", "Rail"]},
        {"realname": "Bo Lund", "username": "bo", "bio": "maps", "age": None, "mbti": "INTJ", "country": "Peru"},
        {"username": "cy", "persona": float("nan"), "age": float("nan"), "interested_topics": None},
        {"persona": "Rows"},
    ]
    profiles = read(json.dumps(people), "p.json")
    assert [profile.name for profile in profiles] == ["Ira Sol", "Bo Lund", "cy", "Person 3"]
    assert [profile.personality for profile in profiles] == [
        "p (INTJ, 40, male, Chile, Rail)",
        "maps (INTJ, Peru)",
        "",
        "Rows",
    ]
    assert [profile.interests for profile in profiles] == [("Rail", "Tea"), (), (), ()]
    assert profiles.keys == ["0", "1", "2", "3"]
    assert profiles.understood[1] == "p.json: 1 person without a name: named by number"


def test_lists_of_followers_are_ties_the_other_way_round() -> None:
    profiles = read("user_name,description,followers_list\nira,clocks,\"['bo', 'cy']\"\nbo,maps,[]\ncy,rows,['bo']\n")
    assert ties(profiles) == [(1, 0), (1, 2), (2, 0)]
    assert "`followers_list` holds user names of people who follow the person" in profiles.understood[1]


def test_each_shape_runs_and_says_what_was_understood(prism: Prism) -> None:
    people = list(csv.DictReader(io.StringIO(TWITTER)))
    Path("p.csv").write_text(TWITTER)
    Path("p.json").write_text(json.dumps({"data": people}))
    for name, kind, join in (("p.csv", "profiles", "id"), ("p.json", "watts_strogatz", "draw")):
        Path("c.yaml").write_text(
            f"simulation: {{rounds: 1, ticks_per_round: 4}}\n"
            f"population: {{profiles: {name}, size: 8, join: {join}, graph: {{kind: {kind}, degree: 2}}}}\n"
        )
        checked = prism("validate", "c.yaml")
        assert (checked.code, f"{name}: 3 profiles from " in checked.out) == (0, True)
        assert "holds numbers of rows, from 0 (population.follow_lists: row); 5 follows" in checked.out
        assert ("they make ties only with" in checked.out) is (kind != "profiles")
        ran = prism("run", "c.yaml", "--out", f"{name}.out")
        assert (ran.code, f"{name}: 3 profiles from " in ran.err) == (0, True)


# Who is meant.


def test_lists_that_fit_in_two_ways_are_refused_until_the_configuration_says_which() -> None:
    text = "user_id,name,following_agentid_list\n1,Ira,[2]\n2,Bo,[1]\n3,Cy,[1]\n"
    assert refusal(text) == (
        "p.csv:1: following_agentid_list: 2 by user_id and 2 by row of 2 entries name people of this file, and '2' is "
        "profile 2 or profile 3: set population.follow_lists to what the lists hold"
    )
    assert ties(read(text, follow_lists="user_id")) == [(0, 1), (1, 0), (2, 0)]
    assert ties(read(text, follow_lists="row")) == [(0, 2), (2, 1)]


def test_rows_counted_from_1_are_never_taken_for_rows_from_0() -> None:
    text = "name,following_agentid_list\nIra,[2]\nBo,[3]\nCy,[]\n"
    assert "2 by row_from_1" in refusal(text)
    assert ties(read(text, follow_lists="row_from_1")) == [(0, 1), (1, 2)]
    profiles = read(text, follow_lists="row")
    assert ties(profiles) == [(0, 2)]
    assert profiles.understood[-1] == "p.csv: 1 follow of 1 person outside the file left out"


@catalogue("ids", [("1.31E+18", "1.31E+18"), ("1.31E+18", "1.44E+18"), ("1310420000000010000", "1310420000000020000")])
def test_ids_that_have_lost_digits_name_nobody(ids: tuple[str, str]) -> None:
    head = "user_id,name,following_agentid_list\n"
    profiles = read(f"{head}{ids[0]},Ira,[1]\n{ids[1]},Bo,[0]\n")
    assert ties(profiles) == [(0, 1), (1, 0)]
    assert profiles.understood[1] == ("p.csv: `user_id` has lost digits, so people have numbers for ids")
    if "E" in ids[1]:
        assert "has lost its last digits" in refusal(f"{head}{ids[0]},Ira,[{ids[1]}]\n{ids[1]},Bo,[]\n")


def test_a_whole_number_is_one_id_however_it_is_written() -> None:
    for value, text in (("7.0", "7"), (7.0, "7"), ("7.5", "7.5"), ("1.5E+01", "15"), (True, ""), (float("nan"), "")):
        assert id_text(value) == text
    for lost in ("1.31E+18", 1.31e18, "2E5"):
        with pytest.raises(LostDigitsError):
            id_text(lost)


# Lists as programs print them.

PRINTED: dict[str, Callable[[Sequence[str]], str]] = {
    "python": lambda ids: f"[{', '.join(ids)}]",
    "python texts": lambda ids: str([*ids]),
    "json": lambda ids: json.dumps([*ids]),
    "numpy scalars": lambda ids: f"[{', '.join(f'np.int64({each})' for each in ids)}]",
}
NOBODY = ("", "nan", "None", "<NA>", "[]", "[ ]", "()", "[nan]", "[None]")


@catalogue("way", PRINTED)
@catalogue("ids", [("1",), ("0", "12", "3"), ()])
def test_a_list_is_read_as_it_is_printed(way: str, ids: tuple[str, ...]) -> None:
    assert entries_of(PRINTED[way](ids)) == ids


@catalogue(
    "text",
    ["12", "1, 2", "[1,,2]", "[1; 2]", "[1, 2", "[[1]]", "[0 1]", "[0, 1, ..., 9]", "{'a': 1}", "['a]", "['a' 'b']"],
)
def test_another_text_is_no_list(text: str) -> None:
    assert entries_of(text) is None
    row = io.StringIO()
    csv.writer(row).writerow(["Ira", text])
    assert refusal(f"name,following_agentid_list\n{row.getvalue()}").startswith(
        "p.csv:2: following_agentid_list: expected a list of user ids such as [1, 0, 5], got "
    )


# Files of other forms.


@catalogue(
    ("name", "text"),
    [
        ("p.jsonl", '{"persona": "bakes"}\n\n{"persona": "rows"}\n'),
        ("p.ndjson", '{"persona": "bakes"}\r\n{"persona": "rows"}\r\n'),
        ("p.jsonl", '[\n{"persona": "bakes"}, {"persona": "rows"}]'),
        ("p.json", '{"version": 1, "users": [{"persona": "bakes"}, {"persona": "rows"}]}'),
        ("p.tsv", "Persona\tName \nbakes\t\nrows\tnan\n"),
    ],
)
def test_personas_alone_are_people_named_by_number(name: str, text: str) -> None:
    profiles = read(text, name)
    assert [profile.name for profile in profiles] == ["Person 0", "Person 1"]
    assert [profile.personality for profile in profiles] == ["bakes", "rows"]
    assert "2 people without a name: named by number" in profiles.understood[1]


UNCLEAR = r"""
p.jsonl: {"name": "Ira"}\n{"name": } => p.jsonl:2: bad JSON: Expecting value (column 10)
p.jsonl: {"name": "Ira"}\n3 => p.jsonl:2: profile 2: expected an object, got a number
p.json: {"a": [{"name": "Ira"}], "b": [{"name": "Bo"}]} => \
p.json: expected a list of profiles, or an object with one list, got an object
p.json: {"name": "Ira", "follows": [{"name": "Bo"}]} => \
p.json: expected a list of profiles, or an object with one list, got an object
p.csv: name,Name\nIra,Bo => p.csv:1: Name: stands twice: expected one column 'name'
p.csv: Ira,bakes\nBo,rows => \
p.csv:1: expected a column that describes people (name, realname, real_name, username, user_name, screen_name, \
user_char, persona, bio, description), got: Ira, bakes
p.csv: user_id,name\n1,Ira\nnan,Bo => p.csv:3: user_id: expected an id, got an empty text
p.csv: user_id,name\n1,Ira\n1.0,Bo => p.csv:3: user_id: '1' is used on lines 2 and 3
p.csv:  => p.csv: holds no profiles: expected at least one
p.json: [] => p.json: holds no profiles: expected at least one
p.csv: name,bio\nIra,"two\nlines"\nBo => p.csv:4: expected 2 columns, got 1
p.csv: name,bio\nIra,"open\nBo,b => p.csv:2: bad CSV: unexpected end of data
p.csv: name,bio,own,own\nIra,a,1,2 => p.csv:1: own: stands twice: expected one column 'own'
p.json: [{"realname": "Ada", "interested_topics": ["tea", 3]}] => \
p.json: interested_topics: profile 1: expected a list of texts, got ["tea", 3]
p.json: [{"name": "Ada"}, {"name": "B\ud800"}] => \
p.json: profile 2 holds half a character (\ud800 to \udfff alone): expected text
"""


@catalogue("case", UNCLEAR.replace("\\\n", "").strip().splitlines())
def test_a_file_that_cannot_be_understood_is_one_clear_line(case: str) -> None:
    given, message = case.split(" => ")
    name, text = given.split(": ", 1)
    assert refusal(text.replace(r"\n", "\n"), name) == message


@catalogue("unit", ["[", '{"a":', '{"a":[', '"', '["\\', "[{"])
def test_hostile_json_is_refused(unit: str) -> None:
    assert refusal(unit * (100_000 // len(unit)), "p.json").split(": ")[1] == "bad JSON"


# Encodings.

WORDS = "name,user_char\nZoë,Aime les cafés\n"


@catalogue(
    ("encoding", "message"),
    [
        ("cp1252", "p.csv:2: expected UTF-8 text, got byte 0xeb"),
        ("utf-16", "p.csv:1: expected UTF-8 text, got byte 0xff"),
        ("utf-16-le", "p.csv:2: expected UTF-8 text, got byte 0xeb"),
    ],
)
def test_another_encoding_is_refused_and_read_once_it_is_set(encoding: str, message: str) -> None:
    data = WORDS.encode(encoding)
    way_out = ": save it as UTF-8, or set population.encoding to its encoding, such as cp1252 or utf-16"
    assert refusal(data) == message + way_out
    assert "number 0: save it as UTF-8" in refusal("name\nZoe\n".encode("utf-16-le"))
    (profile,) = read(data, encoding=encoding)
    assert (profile.name, profile.personality) == ("Zo\u00eb", "Aime les caf\u00e9s")


@catalogue("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_a_file_in_utf8_is_never_read_as_anything_else(encoding: str) -> None:
    if encoding == "utf-8-sig":
        assert read(WORDS, encoding=encoding)[0].name == "Zoë"
    else:
        assert "got utf-8: set population.encoding: utf-8" in refusal(WORDS, encoding=encoding)


# Right or refused.


def made(draws: Random) -> tuple[str, bytes, str, set[tuple[int, int]]]:
    """Return a file of people, its encoding, and the ties that it was made from."""
    count = 3 + draws.randrange(6)
    rows = [*map(str, range(count))]
    ids = draws.choice(
        [
            rows,
            [str(each + 1) for each in range(count)],
            draws.sample(rows, len(rows)),
            [str(10**17 + 1009 * each + draws.randrange(1000)) for each in range(count)],
            None,
        ]
    )
    users = [f"user_{each}" for each in draws.sample(rows, len(rows))]
    followed = {(one, draws.randrange(count)) for one in range(count) for _ in range(draws.randrange(4))}
    followed = {tie for tie in followed if tie[0] != tie[1]}
    named = draws.choice([rows, ids or rows, users])
    lists = [[named[other] for one, other in sorted(followed) if one == person] for person in range(count)]
    for entries in lists:
        if draws.randrange(4) == 0:
            entries.append(f"user_{10**6 + draws.randrange(9)}" if named is users else str(10**6 + draws.randrange(9)))
    ways = [way for way in PRINTED if named is not users or "texts" in way or way == "json"]
    way = PRINTED[draws.choice(ways)]
    columns = {
        "name": [draws.choice(["Zo\u00eb", "Ira", "Bo; Lund", 'Cy "R", Rao']) for _ in rows],
        "username": users,
        "following_agentid_list": [way(entries) if entries else draws.choice(NOBODY) for entries in lists],
        draws.choice(["user_char", "persona", "bio"]): [draws.choice(["", "rows, and\nrows", "nan"]) for _ in rows],
    }
    if ids is not None:
        columns["user_id"] = [f"{each}.0" for each in ids] if draws.randrange(3) == 0 else ids
    names = draws.sample([*columns], len(columns))
    if draws.randrange(3) == 0:
        columns[""], names = rows, ["", *names]
    name, text = written(
        draws, [dict(zip(names, cells, strict=True)) for cells in zip(*(columns[each] for each in names), strict=True)]
    )
    encoding = draws.choice(["utf-8", "utf-8", "cp1252", "utf-16"])
    return name, text.encode(encoding), encoding, followed


def written(draws: Random, people: Sequence[dict[str, str]]) -> tuple[str, str]:
    """Return the name and the text of a file of people."""
    form = draws.randrange(6)
    if form == 0:
        return "p.json", json.dumps({"data": people} if draws.randrange(2) else people, ensure_ascii=False)
    if form == 1:
        return "p.jsonl", "\n".join(json.dumps(each, ensure_ascii=False) for each in people)
    text = io.StringIO()
    writer = csv.DictWriter(
        text, [*people[0]], delimiter=draws.choice(",;\t|"), lineterminator=draws.choice(["\n", "\r\n"])
    )
    writer.writeheader()
    writer.writerows(people)
    return draws.choice(["p.csv", "p.tsv"]), text.getvalue()


def read_as_told(name: str, data: bytes, encoding: str) -> Profiles | str:
    """Return the profiles of a file, with its encoding set where the refusal asks for it, or the refusal."""
    try:
        return read(data, name)
    except InputError as error:
        if encoding == "utf-8" or "set population.encoding" not in str(error):
            return str(error)
    try:
        return read(data, name, encoding=encoding)
    except InputError as error:
        return str(error)


def test_random_files_are_right_or_refused_and_never_wrong(size: Size) -> None:
    cases = size(2000, everyday=60)
    right = 0
    for case in range(cases):
        name, data, encoding, followed = made(Random(case))
        profiles = read_as_told(name, data, encoding)
        if isinstance(profiles, str):
            assert "set population.follow_lists" in profiles, (case, profiles)
        else:
            assert {*ties(profiles)} == followed, case
            right += 1
    assert right > 0.6 * cases  # in the others, two readings fit


def test_the_files_that_oasis_ships_have_the_people_and_the_follows_that_it_says() -> None:
    reddit = read(real_path("oasis-reddit-users-36.json").read_bytes(), "p.json")
    assert (len(reddit), reddit[0].name, reddit[0].interests) == (36, "James Miller", ("Economics", "Business"))
    assert all(profile.interests and profile.personality for profile in reddit)
    assert not len(reddit.ties)
    twitter = read(real_path("oasis-twitter-users-196.csv").read_bytes())
    assert (len(twitter), len(twitter.ties), len(ties(twitter))) == (196, 1279, 1269), "ten follow themselves"
    assert all(profile.personality == "" for profile in twitter)


# The columns that a configuration names.


def table(header: str, *rows: str, **settings: Any) -> Profiles:
    lines = [f"name,bio,{header}", *(f"P{number},,{row}" for number, row in enumerate(rows))]
    return read("\n".join(lines), **settings)


def listed(*entries: dict[str, Any], **settings: Any) -> Profiles:
    named = [{"realname": f"P{number}", **entry} for number, entry in enumerate(entries)]
    return read(json.dumps(named), "p.json", **settings)


def people(profiles: Profiles, **settings: Any) -> tuple[Persona, ...]:
    return personas_from_profiles(profiles, 7, PopulationConfig(**settings))


EVERY: dict[str, dict[str, Any]] = {
    "age": {"type": "int", "min": 13, "max": 99},
    "ideology": {"type": "float", "column": "left right"},
    "region": {"type": "text", "values": ["north", "south"]},
    "verified": {"type": "bool", "probability": 1.0},
    "member": {"type": "bool"},
}


def test_each_attribute_has_its_column_or_key_and_the_others_are_drawn() -> None:
    found = table("member,age,left right,region", "yes,40,-0.5,north", "0,13.0,1e1, south ", attributes=EVERY)
    entry = {"age": 40.0, "left right": 1, "region": "north", "member": True}
    made = (*people(found, attributes=EVERY), *people(listed(entry, attributes=EVERY), attributes=EVERY))
    assert [dict(each.attributes) for each in made] == [
        {"age": 40, "ideology": -0.5, "region": "north", "verified": True, "member": True},
        {"age": 13, "ideology": 10.0, "region": "south", "verified": True, "member": False},
        {"age": 40, "ideology": 1.0, "region": "north", "verified": True, "member": True},
    ]
    for each in made:
        assert [*each.attributes] == [*EVERY]
        assert [type(value) for value in each.attributes.values()] == [int, float, str, bool, bool]


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
    make, place = partial(table, "own", str(fits), str(value)), "p.csv:3: own: "
    if not isinstance(value, str):
        make, place = partial(listed, {"own": fits}, {"own": value}), "p.json: own: profile 2: "
    with pytest.raises(InputError) as caught:
        make(attributes={"own": declaration})
    assert str(caught.value) == f"{place}{problem}"


@catalogue(
    ("settings", "problem"),
    [
        (
            {"attributes": {"own": {"type": "int", "column": "Ideologie"}}},
            "Ideologie, for population.attributes.own; did ",
        ),
        ({"attributes": {"own": {"type": "int"}}}, "own, for population.attributes.own;"),
        (
            {"attributes": {"Ideology": {"type": "float", "min": 0, "max": 1}}},
            "Ideology, for population.attributes.Ideology; `column:",
        ),
        ({"columns": {"activity": "share"}}, "share, for population.columns.activity;"),
    ],
)
def test_a_column_that_the_file_lacks_is_refused_with_those_there_are(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        table("ideology", "1", **settings)
    assert str(caught.value).startswith(f"p.csv:1: missing column: {problem}")
    assert str(caught.value).endswith("the file has: name, bio, ideology")
    with pytest.raises(InputError, match=r"^p\.json: missing key: own, for .* the file has: realname, ideology$"):
        listed({"ideology": 1}, attributes={"own": {"type": "int"}})


def test_thresholds_and_activity_come_from_their_columns_and_a_blank_one_from_the_seed() -> None:
    rows, named = ("0.9,0", ",", "0.02,1"), {"engagement_threshold": "trust", "activity": "share"}
    ada, bo, cy = people(table("trust,share", *rows, columns=named), columns=named)
    assert (ada.engagement_threshold, ada.activity) == (0.9, 0.0)
    assert (ada.low_threshold, ada.high_threshold) == (0.9 - 0.1, 0.9 + 0.1)
    assert bo == people(table("trust,share", *rows))[1]
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
    named = {"engagement_threshold": "mid", "low_threshold": "low", "high_threshold": "high"}
    with pytest.raises(InputError) as caught:
        table("mid,low,high", "0.5,0.4,0.6", row, columns=named)
    assert str(caught.value) == f"p.csv:3: {problem}"


# The people of follow lists.

FROM_PROFILES = PopulationConfig(graph=GraphConfig(kind="profiles"))


def test_follow_lists_make_the_graph_and_set_the_size() -> None:
    rows = 'ada,Ada,"[cy, bo]"\nbo,Bo,"[ada, ada, bo]"\ncy,Cy,[]\n'
    found = read(f"user_id,name,following_agentid_list\n{rows}")
    population = build_population(FROM_PROFILES, 1, profiles=found)
    graph = population.graph
    assert graph.names == ("ada", "bo", "cy")
    assert [graph.following(person).tolist() for person in range(3)] == [[1, 2], [0], []]
    assert (graph.duplicates, graph.self_loops) == (1, 1)
    assert [population.name(person) for person in range(3)] == ["Ada", "Bo", "Cy"]
    lonely = read("user_id,name,following_agentid_list\nada,Ada,[ada]\nbo,Bo,[]\n")
    for given, problem in (
        (None, "takes the ties from population.profiles, which is not set"),
        (lonely, "needs follow lists, and nobody follows anyone in population.profiles: p.csv: 2 profiles from"),
    ):
        with pytest.raises(ConfigError) as caught:
            build_population(FROM_PROFILES, 1, profiles=given)
        assert str(caught.value).startswith(f"configuration: population.graph.kind: `profiles` {problem}")


def test_a_population_has_one_persona_for_each_person() -> None:
    with pytest.raises(ValueError, match=r"^personas: expected one for each of 3 people, got 2$"):
        Population(personas=SyntheticPeople(2, 1, PopulationConfig()), graph=FollowGraph(3, [0], [1]))

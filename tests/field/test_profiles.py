"""Profiles as people have them: right or refused, and never wrong without a word."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import TypeVar

import pytest

from prism.config.model import PopulationConfig
from prism.errors import InputError
from prism.social.people.profiles import LostDigitsError, Profiles, entries_of, id_text, parse_profiles
from tests.catalogue import catalogue
from tests.command import Prism
from tests.tiers import Size

T = TypeVar("T")
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
        {"realname": "Ira Sol", "username": "ira", "bio": "b", "persona": "p", "age": 40, "gender": "male"},
        {"realname": "Bo Lund", "username": "bo", "bio": "maps", "age": None, "mbti": "INTJ", "country": "Peru"},
        {"username": "cy", "persona": float("nan"), "age": float("nan"), "interested_topics": None},
        {"persona": "Rows"},
    ]
    profiles = read(json.dumps(people), "p.json")
    assert [profile.name for profile in profiles] == ["Ira Sol", "Bo Lund", "cy", "Person 3"]
    assert [profile.personality for profile in profiles] == ["p (40, male)", "maps (INTJ, Peru)", "", "Rows"]
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
"""


@catalogue("case", UNCLEAR.replace("\\\n", "").strip().splitlines())
def test_a_file_that_cannot_be_understood_is_one_clear_line(case: str) -> None:
    given, message = case.split(" => ")
    name, text = given.split(": ", 1)
    assert refusal(text.replace(r"\n", "\n"), name) == message


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

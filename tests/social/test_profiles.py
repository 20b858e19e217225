from __future__ import annotations

import json
from collections.abc import Sequence
from time import process_time

import pytest

from prism.config.model import PopulationConfig
from prism.errors import InputError
from prism.social.people.persona import Persona
from prism.social.people.population import build_population
from prism.social.people.profile_rows import DEPTH_MAX
from prism.social.people.profiles import Profile, parse_profiles, personas_from_profiles
from tests.catalogue import catalogue
from tests.paths import real_path

HEADER = "user_id,name,username,following_agentid_list,user_char,description\n"
PEOPLE = tuple(
    Profile(name=name, interests=interests, personality="calm", key=name)
    for name, interests in (("Ada", ("tea", "rail")), ("Bo", ()), ("Cy", ("chess",)))
)


def real_file(name: str) -> bytes:
    return real_path(name).read_bytes()


def from_json(*entries: object) -> tuple[Profile, ...]:
    return parse_profiles(json.dumps(entries).encode(), "p.json")


def from_csv(rows: str) -> tuple[Profile, ...]:
    return parse_profiles((HEADER + rows).encode(), "p.csv")


def test_half_a_character_is_refused_before_it_can_end_a_run() -> None:
    data = b'[{"realname": "Ada", "username": "ada"}, {"realname": "B\\ud800", "username": "b"}]'
    with pytest.raises(InputError) as caught:
        parse_profiles(data, "p.json")
    assert str(caught.value) == "p.json: profile 2 holds half a character (\\ud800 to \\udfff alone): expected text"


def test_half_a_character_on_a_line_of_its_own_is_refused_by_the_line() -> None:
    data = b'{"realname": "Ada"}\n\n{"realname": "B\\ud800"}\n'
    with pytest.raises(InputError, match=r"^p\.jsonl:3: profile 2 holds half a character"):
        parse_profiles(data, "p.jsonl")


def test_a_json_profile_is_read_with_its_facts() -> None:
    entry = {
        "realname": "Ada Novak",
        "username": "ada",
        "bio": "Trains.",
        "persona": "Ada loves night trains.",
        "age": 40,
        "gender": "female",
        "mbti": "INTJ",
        "country": "Chile",
        "profession": "Rail",
        "interested_topics": ["Rail", "Tea", "Rail"],
    }
    assert from_json(entry) == (
        Profile(
            name="Ada Novak",
            interests=("Rail", "Tea"),
            personality="Ada loves night trains. (INTJ, 40, female, Chile, Rail)",
            key="ada",
        ),
    )


def test_a_json_profile_needs_no_more_than_a_name() -> None:
    assert from_json({"realname": "Ada"}) == (Profile(name="Ada", interests=(), personality="", key="0"),)


def test_the_bio_stands_in_for_a_missing_persona() -> None:
    assert from_json({"realname": "Ada", "persona": " ", "bio": "Trains."})[0].personality == "Trains."


def test_a_csv_profile_is_read_with_its_follows() -> None:
    first, second = from_csv('7,Ada,ada,"[8]",Loves trains,Trains\n8,Bo,bo,[],,Chess\n')
    assert first == Profile(name="Ada", interests=(), personality="Loves trains", key="7", follows=("8",))
    assert second == Profile(name="Bo", interests=(), personality="Chess", key="8")


def test_self_follows_are_dropped_and_counted() -> None:
    first, _ = from_csv('0,Ada,ada,"[0, 1, 0]",,\n1,Bo,bo,[],,\n')
    assert (first.follows, first.self_follows) == (("1",), 2)


@catalogue(
    ("text", "follows"), [("", ()), ("[]", ()), ("[ ]", ()), ("[1]", ("1",)), ("['1']", ("1",)), ("[1,2]", ("1", "2"))]
)
def test_follow_lists_are_read_as_python_and_json_write_them(text: str, follows: tuple[str, ...]) -> None:
    assert from_csv(f'0,Ada,ada,"{text}",,\n1,Bo,bo,[],,\n2,Cy,cy,[],,\n')[0].follows == follows


def test_a_quoted_text_may_hold_line_ends() -> None:
    assert from_csv('0,Ada,ada,[],"Loves\r\ntrains",\n')[0].personality == "Loves\ntrains"


def test_columns_may_stand_in_any_order_with_others_between() -> None:
    data = b"\xef\xbb\xbfuser_char,extra,name,following_agentid_list,user_id\ncalm,,Ada,[],x\n"
    assert parse_profiles(data, "p.csv") == (Profile(name="Ada", interests=(), personality="calm", key="x"),)


@catalogue(
    ("data", "message"),
    [
        (b'[\n{"realname": }]', "p.json:2: bad JSON: Expecting value (column 14)"),
        (b'{"realname": "Ada"}', "p.json: expected a list of profiles, got an object"),
        (b"3", "p.json: expected a list of profiles, got a number"),
        (b"[]", "p.json: holds no profiles: expected at least one"),
        (b" \n", "p.json: is empty: expected at least one profile"),
        (b"", "p.json: is empty: expected at least one profile"),
        (
            b"[\n\xff]",
            (
                "p.json:2: expected UTF-8 text, got byte 0xff, which cp1252 reads as '\xff]': "
                "set population.encoding: cp1252"
            ),
        ),
        (b'[{"realname": "Ada"}, "Bo"]', "p.json: profile 2: expected an object, got a text"),
        (
            b'[{"age": 40}]',
            (
                "p.json: expected a key that describes people (name, realname, real_name, username, user_name, "
                "screen_name, user_char, persona, bio, description), got: age"
            ),
        ),
        (
            b'[{"realname": "Ada", "interested_topics": "tea"}]',
            'p.json: interested_topics: profile 1 (Ada): expected a list of texts, got "tea"',
        ),
        (
            b'[{"realname": "Ada", "interested_topics": ["tea", 3]}]',
            'p.json: interested_topics: profile 1 (Ada): expected a list of texts, got ["tea", 3]',
        ),
        (
            b'[{"realname": "Ada", "user_id": "x"}, {"user_id": 5}, {"realname": "Cy", "user_id": "x"}]',
            "p.json: user_id: 'x' is used by profiles 1 and 3",
        ),
    ],
)
def test_a_bad_json_file_is_one_clear_line(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_profiles(data, "p.json")
    assert str(caught.value) == message


def nested(levels: int) -> bytes:
    """A profile file of so many levels, the innermost on the last line."""
    inner = levels - 2
    return b'[{"realname": "Ada [", "more": ' + b"\n[" * inner + b'"]\\""' + b"]" * inner + b"}]"


def test_json_nested_as_deeply_as_may_be_is_read() -> None:
    (profile,) = parse_profiles(nested(DEPTH_MAX), "p.json")
    assert profile.name == "Ada ["


@catalogue("levels", [DEPTH_MAX + 1, 900, 100_000])
def test_json_nested_too_deeply_is_refused_with_its_line(levels: int) -> None:
    with pytest.raises(InputError) as caught:
        parse_profiles(nested(levels), "p.json")
    assert str(caught.value) == f"p.json:{DEPTH_MAX}: bad JSON: is nested more than {DEPTH_MAX} levels deep"


@catalogue("unit", ["[", '{"a":', '{"a":[', '"', '["\\', "[{"])
@catalogue("size", [4096, 1_000_000])
def test_hostile_json_takes_no_time(unit: str, size: int) -> None:
    begun = process_time()
    with pytest.raises(InputError):
        parse_profiles((unit * (size // len(unit))).encode(), "p.json")
    assert process_time() - begun < 5.0


def test_a_number_too_long_to_read_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"^p\.json: bad JSON: Exceeds the limit"):
        parse_profiles(b"[" + b"9" * 5000 + b"]", "p.json")


@catalogue(
    ("rows", "message"),
    [
        ("", "p.csv: holds no profiles: expected at least one"),
        ("0,Ada,ada,[],,\n1,Bo\n", "p.csv:3: expected 6 columns, got 2"),
        (",Ada,ada,[],,\n", "p.csv:2: user_id: expected an id, got an empty text"),
        ("5,Ada,ada,[],,\n\n5,Bo,bo,[],,\n", "p.csv:4: user_id: '5' is used on lines 2 and 4"),
        (
            "0,Ada,ada,0,,\n",
            "p.csv:2: following_agentid_list: expected a list of user ids such as [1, 0, 5], got '0'",
        ),
        (
            '0,Ada,ada,"[1,,2]",,\n',
            "p.csv:2: following_agentid_list: expected a list of user ids such as [1, 0, 5], got '[1,,2]'",
        ),
        (
            '0,Ada,ada,"[]","two\nlines",\n1,Bo,bo,[1.31E+18],,\n',
            (
                "p.csv:4: following_agentid_list: 1.31E+18 has lost its last digits, so it names nobody: "
                "expected whole ids, as texts"
            ),
        ),
        ('0,Ada,ada,[],"open,\n1,Bo,bo,[],,\n', "p.csv:2: bad CSV: unexpected end of data"),
    ],
)
def test_a_bad_csv_row_is_one_clear_line(rows: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        from_csv(rows)
    assert str(caught.value) == message


@catalogue(
    ("source", "data", "message"),
    [
        (
            "p.csv",
            b"user_id,following_agentid_list\n1,[]\n",
            (
                "p.csv:1: expected a column that describes people (name, realname, real_name, username, user_name, "
                "screen_name, user_char, persona, bio, description), got: user_id, following_agentid_list"
            ),
        ),
        ("p.csv", b"", "p.csv: is empty: expected at least one profile"),
        ("p.yaml", b"x", "p.yaml: expected profiles in .json, .jsonl, .ndjson, .csv, .tsv (also .gz), got .yaml"),
        ("p", b"x", "p: expected profiles in .json, .jsonl, .ndjson, .csv, .tsv (also .gz), got no extension"),
    ],
)
def test_a_file_that_is_no_profile_file_is_one_clear_line(source: str, data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_profiles(data, source)
    assert str(caught.value) == message


def dealt(size: int, seed: int) -> Sequence[Persona]:
    return build_population(PopulationConfig(size=size, join="draw"), seed, profiles=PEOPLE).personas


def test_as_many_people_as_profiles_get_one_each_in_order() -> None:
    assert [ada.name for ada in personas_from_profiles(PEOPLE, 1, PopulationConfig())] == ["Ada", "Bo", "Cy"]


def test_more_people_than_profiles_get_numbers_behind_their_names() -> None:
    names = [ada.name for ada in dealt(60, 1)]
    assert len(set(names)) == 60
    assert {name.split()[0] for name in names} == {"Ada", "Bo", "Cy"}


def test_people_dealt_the_same_profile_still_differ() -> None:
    people = [ada for ada in dealt(60, 1) if ada.name.startswith("Cy")]
    assert len({(ada.engagement_threshold, ada.activity) for ada in people}) == len(people)
    assert {ada.interests for ada in people} == {("chess",)}


def test_a_profile_without_topics_gets_synthetic_interests() -> None:
    config = PopulationConfig(topics=("sea", "sky"), interests_per_person=2)
    assert set(personas_from_profiles(PEOPLE, 1, config)[1].interests) == {"sea", "sky"}


def test_dealing_follows_from_the_seed_alone() -> None:
    assert dealt(40, 1) == dealt(40, 1)
    assert dealt(40, 1) != dealt(40, 2)


def test_the_reddit_profiles_are_36_with_topics_and_no_follows() -> None:
    profiles = parse_profiles(real_file("oasis-reddit-users-36.json"), "oasis-reddit-users-36.json")
    assert len(profiles) == 36
    assert profiles[0].name == "James Miller"
    assert profiles[0].interests == ("Economics", "Business")
    assert all(profile.interests and profile.personality and not profile.follows for profile in profiles)


def test_the_twitter_profiles_are_196_with_1279_listed_follows_of_which_ten_are_of_oneself() -> None:
    profiles = parse_profiles(real_file("oasis-twitter-users-196.csv"), "oasis-twitter-users-196.csv")
    assert len(profiles) == 196
    assert sum(len(profile.follows) for profile in profiles) == 1269
    assert sum(profile.self_follows for profile in profiles) == 10
    assert all(profile.personality == "" for profile in profiles)

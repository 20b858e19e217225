from __future__ import annotations

import json

import pytest

from prism.errors import InputError
from prism.social.people.profile_rows import DEPTH_MAX
from prism.social.people.profiles import Profile, parse_profiles
from tests.catalogue import catalogue
from tests.paths import real_path

HEADER = "user_id,name,username,following_agentid_list,user_char,description\n"


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
        ),
    )


@catalogue(
    ("data", "message"),
    [
        (b'[\n{"realname": }]', "p.json:2: bad JSON: Expecting value (column 14)"),
        (b"[]", "p.json: holds no profiles: expected at least one"),
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
            b'[{"realname": "Ada", "interested_topics": ["tea", 3]}]',
            'p.json: interested_topics: profile 1 (Ada): expected a list of texts, got ["tea", 3]',
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


@catalogue("levels", [DEPTH_MAX + 1, 900, 100_000])
def test_json_nested_too_deeply_is_refused_with_its_line(levels: int) -> None:
    with pytest.raises(InputError) as caught:
        parse_profiles(nested(levels), "p.json")
    assert str(caught.value) == f"p.json:{DEPTH_MAX}: bad JSON: is nested more than {DEPTH_MAX} levels deep"


@catalogue("unit", ["[", '{"a":', '{"a":[', '"', '["\\', "[{"])
def test_hostile_json_is_refused(unit: str) -> None:
    with pytest.raises(InputError):
        parse_profiles((unit * (100_000 // len(unit))).encode(), "p.json")


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

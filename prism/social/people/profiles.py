"""Profiles: people described in a file, as OASIS and table programs write them, and the personas made from them.

A row is a person: two people of one name are two people. Thresholds and activity come from the seed, so two people with
the same profile still differ, unless the configuration names columns of the file for them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import msgspec
import numpy as np
from msgspec.structs import replace

from prism.checked import Checked
from prism.columns import Ints
from prism.config.attributes import TRAITS
from prism.config.model import PopulationConfig
from prism.errors import InputError
from prism.social.people.attributes import NO_ATTRIBUTES, Attributes, without_values
from prism.social.people.persona import NEUTRAL, TRAITS_OF, Persona, band_around, unique_names
from prism.social.people.profile_columns import OwnColumns
from prism.social.people.profile_rows import FORMATS, FileRows, profile_rows
from prism.social.people.synthetic import SyntheticPeople
from prism.social.ties.edges import without_last_digits
from prism.social.ties.follow_lists import (
    INDEX,
    ROW,
    ROW_FROM_1,
    USER_ID,
    USERNAME,
    AmbiguousListsError,
    LostDigitsError,
    entries_of,
    id_text,
    people_named,
)
from prism.text_files import check_format, decode_text
from prism.wording import counted

_FACTS = ("mbti", "age", "gender", "country", "profession")
PLAIN: Final = PopulationConfig()
"""The settings of people without attributes of their own, for whom no other columns are read."""
NOT_GIVEN: Final[dict[str, float]] = {}
NAME: Final = "name"
_WORDS: Final = {
    USER_ID: "ids",
    USERNAME: "user names",
    INDEX: "numbers of the index column",
    ROW: "numbers of rows, from 0",
    ROW_FROM_1: "numbers of rows, from 1",
}
"""`{reading of follow lists: their content in words}`."""
COLUMNS_SHOWN: Final = 12
"""The most columns that a line lists."""
NAME_SHOWN: Final = 40
"""The most characters of a name in a line."""


class Profile(Checked, frozen=True, kw_only=True):
    """A person as a file describes them; `interests` and `personality` may be empty.

    `attributes` and `given`, which has thresholds and so on, are those that the configuration reads from columns.
    """

    name: str
    interests: tuple[str, ...]
    personality: str
    attributes: Attributes = msgspec.field(default_factory=lambda: NO_ATTRIBUTES)
    given: Mapping[str, float] = msgspec.field(default_factory=lambda: NOT_GIVEN)


class Profiles(tuple[Profile, ...]):
    """The profiles of a file, in its order.

    Attributes:
        keys: the id of each person in the file, or the user name or number if there is none.
        ids: `{kind: the id of each person}` for the kinds of columns that tell all people apart.
        ties: who follows, and whom, by the places of their profiles, of shape (ties, 2); some may follow themselves.
        understood: how the file was understood, in lines.
    """

    keys: Sequence[str]
    ids: Mapping[str, Sequence[str]]
    ties: Ints
    understood: tuple[str, ...]


def parse_profiles(data: bytes, source: str, config: PopulationConfig = PLAIN) -> Profiles:
    """Return the profiles in a file, in its order: JSON or a table.

    Args:
        config: the settings of people, which may name further columns.

    Raises:
        InputError: the file cannot be read in full; the message names the line or the profile, counted from 1.
    """
    check_format(source, "profiles", FORMATS)
    text = decode_text(data, source, config.encoding, "population.encoding")
    table = profile_rows(text, source) if text.strip() else None
    if table is None or not table.rows:
        raise InputError(source, "holds no profiles: expected at least one")
    # 1. The ids of people. Ids that have lost digits are none: a row is a person, whom no follow list names by them.
    size, by_kind = len(table.rows), dict[str, list[str]]()
    for kind, column_kind in ((USER_ID, "id"), (USERNAME, USERNAME), (INDEX, INDEX), (NAME, NAME)):
        try:
            by_kind[kind] = [id_text(table.value(place, column_kind)) for place in range(size)]
        except LostDigitsError:
            by_kind[kind] = []
    is_lost = "id" in table.column_of and (not by_kind[USER_ID] or without_last_digits(by_kind[USER_ID]) is not None)
    if is_lost:
        by_kind[USER_ID] = []
    elif "id" in table.column_of:
        _check_ids(table, by_kind[USER_ID])
    ids = {kind: texts for kind, texts in by_kind.items() if len({*texts} - {""}) == size}
    # 2. The profiles, and the ties between them.
    own = OwnColumns(table, config.attributes, config.columns)
    made = Profiles(_profiles(table, own))
    rows = [*map(str, range(size))]
    made.ids, made.keys = ids, ids.get(USER_ID) or (rows if "id" in table.column_of else ids.get(USERNAME, rows))
    made.ties, told = _ties(table, made, config)
    # 3. How the file was understood.
    used = [*table.column_of.values(), *own.attributes.values(), *own.given.values()]
    read = [column for column in dict.fromkeys(used) if column]
    others = [column for column in table.columns if column not in read and column]
    unread = f"; not read: {_listed(others)}" if others else ""
    lines = [f"{counted(size, 'profile')} from {_listed(read)}{unread}"]
    if nameless := sum(not (table.text(place, "name") or table.text(place, "username")) for place in range(size)):
        lines.append(f"{counted(nameless, 'person', 'people')} without a name: named by number")
    if is_lost:
        lines.append(f"`{table.column_of['id']}` has lost digits, so people have numbers for ids")
    made.understood = tuple(f"{source}: {line}" for line in (*lines, *told))
    return made


def personas_from_profiles(cast: Sequence[Profile], seed: int, config: PopulationConfig) -> tuple[Persona, ...]:
    """Return the people whose profiles these are; one profile may be that of several people.

    A repeated name gets a number. Interests and other values that the file does not give stay as drawn.
    """
    people, drawn = list[Persona](), SyntheticPeople(len(cast), seed, config)
    for persona, profile, name in zip(drawn, cast, unique_names(profile.name for profile in cast), strict=True):
        given: dict[str, Any] = {
            "name": name,
            "interests": profile.interests or persona.interests,
            "personality": profile.personality,
            "traits": TRAITS_OF.get(profile.personality, NEUTRAL),
        }
        given |= {name: value for name, value in profile.given.items() if name not in TRAITS}
        if traits := {name: value for name, value in profile.given.items() if name in TRAITS}:
            given["traits"] = replace(given["traits"], **traits)
        if "engagement_threshold" in given:
            given = {**band_around(given["engagement_threshold"], config), **given}
        if config.attributes:
            known = {**persona.attributes, **profile.attributes}
            missing = next((name for name in config.attributes if name not in known), None)
            if missing is not None:
                raise without_values(missing, config.attributes[missing])
            given["attributes"] = {name: known[name] for name in config.attributes}
        people.append(replace(persona, **given))
    return tuple(people)


def _profiles(table: FileRows, own: OwnColumns) -> Iterator[Profile]:
    """Yield the profile of each row. A person without a name gets a number."""
    for place in range(len(table.rows)):
        name = table.text(place, "name") or table.text(place, "username") or f"Person {place}"
        facts = ", ".join(filter(None, (table.text(place, fact).removesuffix(".0") for fact in _FACTS)))
        about = table.text(place, "persona") or table.text(place, "bio")
        topics = table.value(place, "topics")
        if isinstance(topics, str):  # a table has texts only
            topics = entries_of(topics)
        topics = () if topics is None and table.text(place, "topics") == "" else topics
        if not isinstance(topics, list | tuple) or not all(isinstance(topic, str) for topic in topics):
            shown = json.dumps(table.value(place, "topics"))[:60]
            problem = f"expected a list of texts, got {shown}"
            raise table.error(place, table.column_of["topics"], problem, name)
        yield Profile(
            name=name,
            interests=tuple(dict.fromkeys(filter(None, map(str.strip, topics)))),
            personality=" ".join(filter(None, (about, f"({facts})" if facts else ""))),
            attributes=own.values_of(place, name) if own.attributes else NO_ATTRIBUTES,
            given=own.given_of(place, name) if own.given else NOT_GIVEN,
        )


def _check_ids(table: FileRows, ids: Sequence[str]) -> None:
    column, seen = table.column_of["id"], dict[str, int]()
    for place, text in enumerate(ids):
        if not text:
            raise table.error(place, column, "expected an id, got an empty text")
        before = seen.setdefault(text, place)
        if before != place:
            where, line = f"by profiles {before + 1} and {place + 1}", None
            if table.lines:
                where, line = f"on lines {table.lines[before]} and {table.lines[place]}", table.lines[place]
            raise InputError(table.source, f"{text!r} is used {where}", key=column, line=line)


def _ties(table: FileRows, profiles: Profiles, config: PopulationConfig) -> tuple[Ints, list[str]]:
    """Return who follows, and whom, by the places of their profiles; and how the lists were read, in lines."""
    kind = next((kind for kind in ("follows", "followers") if kind in table.column_of), "")
    column, lists = table.column_of.get(kind, ""), list[tuple[str, ...]]()
    # 1. The entries of each list.
    for place in range(len(table.rows) if kind else 0):
        value = table.value(place, kind)
        try:
            entries = entries_of(value)
        except LostDigitsError as error:
            problem = f"{error} has lost its last digits, so it names nobody: expected whole ids, as texts"
            raise table.error(place, column, problem) from None
        if entries is None:
            problem = f"expected a list of user ids such as [1, 0, 5], got {str(value)[:60]!r}"
            raise table.error(place, column, problem)
        lists.append(entries)
    if not any(lists):
        return np.empty((0, 2), dtype=np.int64), []
    # 2. Whom each entry names.
    try:
        reading, number_of = people_named(lists, profiles.ids, config.follow_lists)
    except LookupError as error:
        problem = f"has no {config.follow_lists} that tells people apart (population.follow_lists): expected {error}"
        raise InputError(table.source, problem, line=table.header_line) from None
    except AmbiguousListsError as error:
        problem = f"{error}: set population.follow_lists to what the lists hold"
        raise InputError(table.source, problem, key=column, line=table.header_line) from None
    named = [(owner, number_of[each]) for owner, listed in enumerate(lists) for each in listed if each in number_of]
    order = (0, 1) if kind == "follows" else (1, 0)  # who follows comes first
    ends: Ints = np.array(named, dtype=np.int64).reshape(-1, 2)[:, order]
    # 3. The reading with the first tie, and the number of entries that name nobody of the file.
    ties, first = ends[ends[:, 0] != ends[:, 1]], ""
    if len(ties):
        pair = ties[int(ties[:, 0].argmin())].tolist()
        one, two = (f"{profiles[each].name[:NAME_SHOWN]} ({profiles.keys[each][:NAME_SHOWN]})" for each in pair)
        first = f"; first: {one} -> {two}"
    whose = "" if kind == "follows" else " of people who follow the person"
    is_used = config.graph.kind == "profiles" and config.graph.path is None
    unused = "" if is_used else "; they make ties only with population.graph.kind: profiles"
    told = f"`{column}` holds {_WORDS[reading]}{whose} (population.follow_lists: {reading})"
    lines = [f"{told}; {counted(len(ties), 'follow')}{first}{unused}"]
    if absent := Counter(each for each in chain.from_iterable(lists) if each not in number_of):
        people = counted(len(absent), "person", "people")
        lines.append(f"{counted(absent.total(), 'follow')} of {people} outside the file left out")
    return ends, lines


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(f"`{column}`" for column in columns[:COLUMNS_SHOWN])
    return shown if len(columns) <= COLUMNS_SHOWN else f"{shown} and {counted(len(columns) - COLUMNS_SHOWN, 'other')}"

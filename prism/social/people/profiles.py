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
from prism.social.ties.follow_lists import (
    ROW,
    ROW_FROM_1,
    AmbiguousListsError,
    LostDigitsError,
    Reading,
    Rows,
    chosen,
    entries_of,
    id_text,
)
from prism.social.ties.reading import without_last_digits
from prism.text_files import check_format, decode_text
from prism.wording import counted

_FACTS = ("mbti", "age", "gender", "country", "profession")
PLAIN: Final = PopulationConfig()
"""The settings of people without attributes of their own, for whom no other columns are read."""
NOT_GIVEN: Final[dict[str, float]] = {}
USER_ID: Final = "user_id"
USERNAME: Final = "username"
INDEX: Final = "index"
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
    if not text.strip():
        raise InputError(source, "is empty: expected at least one profile")
    table = profile_rows(text, source)
    if not table.rows:
        raise InputError(source, "holds no profiles: expected at least one")
    keys, key_kind = _keys_of(table)
    ties = _Ties(table, config, keys if key_kind == "user_id" else None)
    own = OwnColumns(table, config.attributes, config.columns)
    made = Profiles(_profiles(table, own))
    made.keys, made.ids, made.ties = keys, ties.ids, ties.ends
    made.understood = (*_understood(table, key_kind, own), *ties.understood(made))
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


def _keys_of(table: FileRows) -> tuple[list[str], str]:
    """Return the key of each person, and its kind: `user_id`, `username`, `row`, or `lost` for ids without digits."""
    size = len(table.rows)
    rows = [*map(str, range(size))]
    if "id" not in table.column_of:
        names = [table.text(place, "username") for place in range(size)]
        return (names, "username") if all(names) and len({*names}) == size else (rows, "row")
    try:
        ids = [id_text(table.value(place, "id")) for place in range(size)]
    except LostDigitsError:
        ids = []
    if not ids or without_last_digits(ids) is not None:
        # People do not need such ids: a row is a person. Only follow lists cannot name people by them.
        return rows, "lost"
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
    return ids, "user_id"


class _Ties:
    """The follow lists of a file, and the people whom they name.

    Args:
        config: the people, whose `follow_lists` may say what the lists hold.
        ids: the id of each person; None if the file has no ids that tell people apart.
    """

    def __init__(self, table: FileRows, config: PopulationConfig, ids: Sequence[str] | None) -> None:
        self._table = table
        self._kind = next((kind for kind in ("follows", "followers") if kind in table.column_of), "")
        self._column = table.column_of.get(self._kind, "")
        self._lists = [self._listed(place) for place in range(len(table.rows))] if self._kind else []
        columns = {USER_ID: ids or [], **{kind: self._texts(kind) for kind in (USERNAME, INDEX, NAME)}}
        self.ids = {kind: texts for kind, texts in columns.items() if len({*texts} - {""}) == len(table.rows)}
        """`{kind: the id of each person}` for the kinds of columns that tell all people apart."""
        self._reading = self._chosen(config.follow_lists, columns[INDEX]) if any(self._lists) else None
        # Whom each entry names: who follows comes first.
        number_of = {} if self._reading is None else self._reading.number_of
        entries = ((owner, each) for owner, listed in enumerate(self._lists) for each in listed)
        named = [(owner, number_of[each]) for owner, each in entries if each in number_of]
        order = (0, 1) if self._kind == "follows" else (1, 0)
        self.ends: Ints = np.array(named, dtype=np.int64).reshape(-1, 2)[:, order]
        is_used = config.graph.kind == "profiles" and config.graph.path is None
        self._unused = "" if is_used else "; they make ties only with population.graph.kind: profiles"

    def understood(self, profiles: Profiles) -> Iterator[str]:
        """Yield the reading of the lists with the first tie, and the number of entries that name nobody of the file."""
        if self._reading is None:
            return
        ties = self.ends[self.ends[:, 0] != self.ends[:, 1]]
        shown = ""
        if len(ties):
            pair = ties[int(ties[:, 0].argmin())].tolist()
            one, two = (f"{profiles[each].name[:NAME_SHOWN]} ({profiles.keys[each][:NAME_SHOWN]})" for each in pair)
            shown = f"; first: {one} -> {two}"
        whose = "" if self._kind == "follows" else " of people who follow the person"
        told = f"`{self._column}` holds {_WORDS[self._reading.name]}{whose}"
        told += f" (population.follow_lists: {self._reading.name})"
        yield f"{self._table.source}: {told}; {counted(len(ties), 'follow')}{shown}{self._unused}"
        absent = Counter(each for each in chain.from_iterable(self._lists) if each not in self._reading.number_of)
        if absent:
            people = counted(len(absent), "person", "people")
            yield f"{self._table.source}: {counted(absent.total(), 'follow')} of {people} outside the file left out"

    def _listed(self, place: int) -> tuple[str, ...]:
        value = self._table.value(place, self._kind)
        try:
            entries = entries_of(value)
        except LostDigitsError as error:
            problem = f"{error} has lost its last digits, so it names nobody: expected whole ids, as texts"
            raise self._table.error(place, self._column, problem) from None
        if entries is None:
            problem = f"expected a list of user ids such as [1, 0, 5], got {str(value)[:60]!r}"
            raise self._table.error(place, self._column, problem)
        return entries

    def _chosen(self, named: str, index: Sequence[str]) -> Reading:
        """Return the reading of the lists: the one that the configuration names, or the one that fits.

        Args:
            index: the index of each person.
        """
        # 1. The readings by which a list may name people of this file. An index with gaps comes from a larger file, and
        #    the lists then count the rows of that one.
        numbers = [*map(int, index)] if all(map(str.isdecimal, index)) else []
        has_gaps = bool(numbers) and max(numbers) - min(numbers) >= len({*numbers})
        size = len(self._table.rows)
        rows = [Reading(ROW, Rows(size, 0), is_strict=has_gaps), Reading(ROW_FROM_1, Rows(size, 1))]
        found = [
            Reading(kind, {text: number for number, text in enumerate(self.ids[kind])})
            for kind in (USER_ID, INDEX, USERNAME)
            if kind in self.ids
        ]
        readings = [*found[:1], *rows, *found[1:]] if USER_ID in self.ids else [*rows, *found]
        # 2. The one that is named, or fits.
        if named != "fit":
            wanted = next((reading for reading in readings if reading.name == named), None)
            if wanted is None:
                expected = ", ".join(reading.name for reading in readings)
                problem = f"has no {named} that tells people apart (population.follow_lists): expected {expected}"
                raise InputError(self._table.source, problem, line=self._table.header_line)
            return wanted
        try:
            return chosen(self._lists, readings)
        except AmbiguousListsError as error:
            problem = f"{error}: set population.follow_lists to what the lists hold"
            raise InputError(self._table.source, problem, key=self._column, line=self._table.header_line) from None

    def _texts(self, kind: str) -> list[str]:
        """Return the ids in the column of a kind, one a person; none if one of them has lost digits."""
        try:
            return [id_text(self._table.value(place, kind)) for place in range(len(self._table.rows))]
        except LostDigitsError:
            return []


def _understood(table: FileRows, key_kind: str, own: OwnColumns) -> Iterator[str]:
    """Yield the number of profiles and the columns that were read, and any people without names or usable ids."""
    used = [*table.column_of.values(), *own.attributes.values(), *own.given.values()]
    read = [column for column in dict.fromkeys(used) if column]
    others = [column for column in table.columns if column not in read and column]
    unread = f"; not read: {_listed(others)}" if others else ""
    yield f"{table.source}: {counted(len(table.rows), 'profile')} from {_listed(read)}{unread}"
    nameless = sum(not (table.text(place, "name") or table.text(place, "username")) for place in range(len(table.rows)))
    if nameless:
        yield f"{table.source}: {counted(nameless, 'person', 'people')} without a name: named by number"
    if key_kind == "lost":
        yield f"{table.source}: `{table.column_of['id']}` has lost digits, so people have numbers for ids"


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(f"`{column}`" for column in columns[:COLUMNS_SHOWN])
    return shown if len(columns) <= COLUMNS_SHOWN else f"{shown} and {counted(len(columns) - COLUMNS_SHOWN, 'other')}"

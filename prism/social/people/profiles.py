"""Profiles: people described in a file, as OASIS and table programs write them, and the personas made from them.

A row is a person: two people of one name are two people. Thresholds and activity come from the seed, so two people with
the same profile still differ, unless the configuration names columns of the file for them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

import msgspec

from prism.checked import Checked
from prism.config.attributes import TRAITS, Value
from prism.config.model import PopulationConfig
from prism.errors import InputError
from prism.social.people.attributes import NO_ATTRIBUTES, Attributes, without_values
from prism.social.people.persona import Persona, band_around, make_persona, synthetic_interests, unique_names
from prism.social.people.profile_columns import OwnColumns, Row
from prism.social.people.profile_rows import FORMATS, ProfileTable, profile_table
from prism.social.ties.cells import without_last_digits
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

    `key` is the id of the file for them, or their user name or number if there is none. `follows` holds the keys of the
    people of the file whom they follow. `self_follows` counts the entries left out of `follows` because they named the
    person themselves. `attributes` and `given`, which has thresholds and so on, are those that the configuration reads
    from columns.
    """

    name: str
    interests: tuple[str, ...]
    personality: str
    key: str
    follows: tuple[str, ...] = ()
    self_follows: int = 0
    attributes: Attributes = msgspec.field(default_factory=lambda: NO_ATTRIBUTES)
    given: Mapping[str, float] = msgspec.field(default_factory=lambda: NOT_GIVEN)


class Profiles(tuple[Profile, ...]):
    """The profiles of a file, in its order.

    Attributes:
        understood: how the file was understood, in lines.
        ids: `{kind: the id of each person}` for the kinds of columns that tell all people apart.
    """

    understood: tuple[str, ...] = ()
    ids: Mapping[str, Sequence[str]] = MappingProxyType({})


def parse_profiles(data: bytes, source: str, config: PopulationConfig = PLAIN) -> Profiles:
    """Return the profiles in a file, in its order: JSON or a table.

    Args:
        config: the settings of people, which may name further columns.

    Raises:
        InputError: the file cannot be read in full; the message names the line or the profile, counted from 1.
    """
    check_profile_format(source)
    text = decode_text(data, source, config.encoding, "population.encoding")
    if not text.strip():
        raise InputError(source, "is empty: expected at least one profile")
    table = profile_table(text, source)
    if not table.rows:
        raise InputError(source, "holds no profiles: expected at least one")
    keys, key_kind = _keys_of(table)
    ties = _Ties(table, config, keys if key_kind == "user_id" else None)
    own = OwnColumns(config.attributes, config.columns, table.columns, source, table.header_line)
    made = Profiles(
        _with_own(_profile(table, place, keys, others, itself), own, table, place)
        for place, (others, itself) in enumerate(ties.by_person())
    )
    made.understood = (*_understood(table, key_kind, own), *ties.understood(made))
    made.ids = ties.ids
    return made


def check_profile_format(source: str) -> None:
    """Refuse a file whose extension is not that of a profile file.

    Raises:
        InputError: the extension is another one.
    """
    check_format(source, "profiles", FORMATS)


def personas_from_profiles(cast: Sequence[Profile], seed: int, config: PopulationConfig) -> tuple[Persona, ...]:
    """Return the people whose profiles these are; one profile may be that of several people.

    A repeated name gets a number. A profile without topics gets interests drawn from `config.topics`.
    """
    names = unique_names(profile.name for profile in cast)
    return tuple(
        _profiled(
            make_persona(
                agent,
                seed,
                config,
                name=names[agent],
                interests=profile.interests or synthetic_interests(agent, seed, config),
                personality=profile.personality,
            ),
            profile,
            config,
        )
        for agent, profile in enumerate(cast)
    )


def _profiled(persona: Persona, profile: Profile, config: PopulationConfig) -> Persona:
    """Return the persona with the values from columns of the file; the others stay as drawn."""
    traits = {name: value for name, value in profile.given.items() if name in TRAITS}
    given: dict[str, Any] = {name: value for name, value in profile.given.items() if name not in TRAITS}
    if traits:
        given["traits"] = msgspec.structs.replace(persona.traits, **traits)
    if "engagement_threshold" in given:
        given = {**band_around(given["engagement_threshold"], config), **given}
    attributes = persona.attributes
    if config.attributes:
        attributes = _attributes_of(persona, profile, config)
    return msgspec.structs.replace(persona, attributes=attributes, **given) if given or attributes else persona


def _attributes_of(persona: Persona, profile: Profile, config: PopulationConfig) -> dict[str, Value]:
    """Return a person's attributes in the order declared: the profile's, and those drawn for the person.

    Raises:
        SettingError: an attribute has no value.
    """
    known = {**persona.attributes, **profile.attributes}
    missing = next((name for name in config.attributes if name not in known), None)
    if missing is not None:
        raise without_values(missing, config.attributes[missing])
    return {name: known[name] for name in config.attributes}


def _profile(table: ProfileTable, place: int, keys: Sequence[str], others: Sequence[int], itself: int) -> Profile:
    """Return the profile at `place`. A person without a name gets a number.

    Args:
        keys: the key of each person.
        others: the people whom the person follows; `itself`: the entries that name the person.
    """
    name = table.text(place, "name") or table.text(place, "username") or f"Person {place}"
    facts = ", ".join(filter(None, (table.text(place, fact).removesuffix(".0") for fact in _FACTS)))
    about = table.text(place, "persona") or table.text(place, "bio")
    return Profile(
        name=name,
        interests=_topics(table, place, name),
        personality=" ".join(filter(None, (about, f"({facts})" if facts else ""))),
        key=keys[place],
        follows=tuple(map(keys.__getitem__, others)),
        self_follows=itself,
    )


def _topics(table: ProfileTable, place: int, name: str) -> tuple[str, ...]:
    """Return the topics of a profile, each once."""
    topics = table.value(place, "topics")
    if isinstance(topics, str):  # a table has texts only
        topics = entries_of(topics)
    topics = () if topics is None and table.text(place, "topics") == "" else topics
    if not isinstance(topics, list | tuple) or not all(isinstance(topic, str) for topic in topics):
        shown = json.dumps(table.value(place, "topics"))[:60]
        problem = f"profile {place + 1} ({name}): expected a list of texts, got {shown}"
        raise InputError(table.source, problem, key=table.column_of["topics"], line=table.line(place))
    return tuple(dict.fromkeys(filter(None, map(str.strip, topics))))


def _keys_of(table: ProfileTable) -> tuple[list[str], str]:
    """Return the key of each person, and its kind: `user_id`, `username`, `row`, or `lost` for ids without digits.

    Raises:
        InputError: an id is missing, or two people have the same.
    """
    size = len(table.rows)
    if "id" in table.column_of:
        try:
            ids = [id_text(table.value(place, "id")) for place in range(size)]
        except LostDigitsError:
            # People do not need such ids: a row is a person. Only follow lists cannot name people by them.
            return [*map(str, range(size))], "lost"
        if without_last_digits(ids) is not None:
            return [*map(str, range(size))], "lost"
        _check_ids(table, ids)
        return ids, "user_id"
    names = [table.text(place, "username") for place in range(size)]
    if all(names) and len({*names}) == size:
        return names, "username"
    return [*map(str, range(size))], "row"


def _check_ids(table: ProfileTable, ids: Sequence[str]) -> None:
    """Refuse ids if one is missing, or if two people have the same."""
    seen: dict[str, int] = {}
    for place, text in enumerate(ids):
        if not text:
            raise table.error(place, "id", "expected an id, got an empty text")
        before = seen.setdefault(text, place)
        if before != place and table.lines:
            raise table.error(place, "id", f"{text!r} is used on lines {table.line(before)} and {table.line(place)}")
        if before != place:
            problem = f"{text!r} is used by profiles {before + 1} and {place + 1}"
            raise InputError(table.source, problem, key=table.column_of["id"])


class _Ties:
    """The follow lists of a file, and the people whom they name.

    Args:
        table: the file.
        config: the people, whose `follow_lists` may say what the lists hold.
        ids: the id of each person; None if the file has no ids that tell people apart.
    """

    def __init__(self, table: ProfileTable, config: PopulationConfig, ids: Sequence[str] | None) -> None:
        self._table = table
        self._kind = next((kind for kind in ("follows", "followers") if kind in table.column_of), "")
        self._lists = [self._listed(place) for place in range(len(table.rows))] if self._kind else []
        columns = {
            USER_ID: ids or [],
            USERNAME: self._texts(USERNAME),
            INDEX: self._texts(INDEX),
            NAME: self._texts(NAME),
        }
        self.ids = {kind: texts for kind, texts in columns.items() if len({*texts} - {""}) == len(table.rows)}
        """`{kind: the id of each person}` for the kinds of columns that tell all people apart."""
        self._reading = self._chosen(config.follow_lists) if any(self._lists) else None
        is_used = config.graph.kind == "profiles" and config.graph.path is None
        self._unused = "" if is_used else "; they make ties only with population.graph.kind: profiles"

    def by_person(self) -> Iterator[tuple[list[int], int]]:
        """Yield for each person the numbers of those whom they follow, and how many entries name the person."""
        size = len(self._table.rows)
        followed: list[list[int]] = [[] for _ in range(size)]
        itself = [0] * size
        number_of = {} if self._reading is None else self._reading.number_of
        for owner, entries in enumerate(self._lists):
            for other in (number_of[each] for each in entries if each in number_of):
                if other == owner:
                    itself[owner] += 1
                elif self._kind == "follows":
                    followed[owner].append(other)
                else:
                    followed[other].append(owner)
        yield from zip(followed, itself, strict=True)

    def understood(self, profiles: Sequence[Profile]) -> Iterator[str]:
        """Yield the reading of the lists with the first tie, and the number of entries that name nobody of the file."""
        if self._reading is None:
            return
        ties = sum(len(profile.follows) for profile in profiles)
        column, words = self._table.column_of[self._kind], _WORDS[self._reading.name]
        first = next((profile for profile in profiles if profile.follows), None)
        shown = ""
        if first is not None:
            other = next(profile for profile in profiles if profile.key == first.follows[0])
            one, two = (f"{profile.name[:NAME_SHOWN]} ({profile.key[:NAME_SHOWN]})" for profile in (first, other))
            shown = f"; first: {one} -> {two}"
        whose = "" if self._kind == "follows" else " of people who follow the person"
        told = f"`{column}` holds {words}{whose} (population.follow_lists: {self._reading.name})"
        yield f"{self._table.source}: {told}; {counted(ties, 'follow')}{shown}{self._unused}"
        absent = Counter(each for each in chain.from_iterable(self._lists) if each not in self._reading.number_of)
        if absent:
            people = counted(len(absent), "person", "people")
            yield f"{self._table.source}: {counted(absent.total(), 'follow')} of {people} outside the file left out"

    def _listed(self, place: int) -> tuple[str, ...]:
        """Return the entries of a person's list."""
        value = self._table.value(place, self._kind)
        try:
            entries = entries_of(value)
        except LostDigitsError as error:
            problem = f"{error} has lost its last digits, so it names nobody: expected whole ids, as texts"
            raise self._table.error(place, self._kind, problem) from None
        if entries is None:
            shown = str(value)[:60]
            raise self._table.error(place, self._kind, f"expected a list of user ids such as [1, 0, 5], got {shown!r}")
        return entries

    def _chosen(self, named: str) -> Reading:
        """Return the reading of the lists: the one that the configuration names, or the one that fits."""
        readings = self._readings()
        if named != "fit":
            found = next((reading for reading in readings if reading.name == named), None)
            if found is None:
                expected = ", ".join(reading.name for reading in readings)
                problem = f"has no {named} that tells people apart (population.follow_lists): expected {expected}"
                raise InputError(self._table.source, problem, line=self._table.header_line)
            return found
        try:
            return chosen(self._lists, readings)
        except AmbiguousListsError as error:
            problem = f"{error}: set population.follow_lists to what the lists hold"
            column = self._table.column_of[self._kind]
            raise InputError(self._table.source, problem, key=column, line=self._table.header_line) from None

    def _readings(self) -> list[Reading]:
        """Return the readings by which a list may name people of this file."""
        size = len(self._table.rows)
        found = [
            Reading(kind, {text: number for number, text in enumerate(self.ids[kind])})
            for kind in (USER_ID, INDEX, USERNAME)
            if kind in self.ids
        ]
        # An index with gaps comes from a larger file, and the lists then count the rows of that one.
        is_strict = _has_gaps(self._texts(INDEX))
        rows = [Reading(ROW, Rows(size, 0), is_strict=is_strict), Reading(ROW_FROM_1, Rows(size, 1))]
        return [*found[:1], *rows, *found[1:]] if USER_ID in self.ids else [*rows, *found]

    def _texts(self, kind: str) -> list[str]:
        """Return the ids in the column of a kind, one a person; none if one of them has lost digits."""
        try:
            return [id_text(self._table.value(place, kind)) for place in range(len(self._table.rows))]
        except LostDigitsError:
            return []


def _has_gaps(index: Sequence[str]) -> bool:
    """Return whether an index of numbers has gaps."""
    if not index or not all(map(str.isdecimal, index)):
        return False
    numbers = [*map(int, index)]
    return max(numbers) - min(numbers) >= len({*numbers})


def _understood(table: ProfileTable, key_kind: str, own: OwnColumns) -> Iterator[str]:
    """Yield the number of profiles and the columns that were read, and any people without names or usable ids."""
    used = [*table.column_of.values(), *own.attributes.values(), *own.given.values()]
    read = [column for column in dict.fromkeys(used) if column]
    others = [column for column in table.columns if column not in read and column]
    unread = f"; not read: {_listed(others)}" if others else ""
    yield f"{table.source}: {counted(len(table.rows), 'profile')} from {_listed(read)}{unread}"
    nameless = sum(
        not table.text(place, "name") and not table.text(place, "username") for place in range(len(table.rows))
    )
    if nameless:
        yield f"{table.source}: {counted(nameless, 'person', 'people')} without a name: named by number"
    if key_kind == "lost":
        yield f"{table.source}: `{table.column_of['id']}` has lost digits, so people have numbers for ids"


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(f"`{column}`" for column in columns[:COLUMNS_SHOWN])
    return shown if len(columns) <= COLUMNS_SHOWN else f"{shown} and {counted(len(columns) - COLUMNS_SHOWN, 'other')}"


def _with_own(profile: Profile, own: OwnColumns, table: ProfileTable, place: int) -> Profile:
    """Return the profile with the values of the columns that the configuration names."""
    if not own.attributes and not own.given:
        return profile
    row = Row(table.rows[place], "" if table.lines else f"profile {place + 1} ({profile.name})", table.line(place))
    return msgspec.structs.replace(profile, attributes=own.values_of(row), given=own.given_of(row))

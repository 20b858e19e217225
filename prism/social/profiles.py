"""Profiles: people described in a file, in one of the two formats that OASIS writes, and the personas made from them.

Thresholds and activity come from the seed, so two people with the same profile still differ, unless the configuration
names columns of the file for them.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from prism.checked import Checked
from prism.config.attributes import TRAITS, Value
from prism.config.model import PopulationConfig
from prism.errors import InputError
from prism.rng import Draw, integer
from prism.social.attributes import NO_ATTRIBUTES, Attributes, without_values
from prism.social.persona import Persona, band_around, make_persona, synthetic_interests, unique_names
from prism.social.profile_columns import OwnColumns, Row
from prism.text_files import decode_text, file_format

_REQUIRED_COLUMNS = ("user_id", "name", "following_agentid_list", "user_char")
_FACTS = ("mbti", "age", "gender", "country", "profession")
_FOLLOWS = "following_agentid_list"
PLAIN: Final = PopulationConfig()
"""People without attributes of their own, who take nothing from columns."""
NOT_GIVEN: Final[dict[str, float]] = {}
DEPTH_MAX = 32
"""Lists and objects inside one another in a JSON file; a profile needs 3."""
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
"""A text, or a bracket outside of texts."""


class Profile(Checked, frozen=True, kw_only=True):
    """A person as a file describes them; `interests` and `personality` may be empty.

    `key` is the file's own id for them, and `follows` holds the keys of the people they follow, as listed.
    `self_follows` counts the entries left out of `follows` because they named the person themselves. `attributes` and
    `given`, which has thresholds and so on, are those that the configuration reads from columns.
    """

    name: str
    interests: tuple[str, ...]
    personality: str
    key: str
    follows: tuple[str, ...] = ()
    self_follows: int = 0
    attributes: Attributes = msgspec.field(default_factory=lambda: NO_ATTRIBUTES)
    given: Mapping[str, float] = msgspec.field(default_factory=lambda: NOT_GIVEN)


def parse_profiles(data: bytes, source: str, config: PopulationConfig = PLAIN) -> tuple[Profile, ...]:
    """Return the profiles in a file, in its order: `.json` or `.csv`, by the extension of `source`.

    Args:
        config: the people: the columns that it names are read, too.

    Raises:
        InputError: the file cannot be read in full; the message names the line or the profile, counted from 1.
    """
    kind = check_profile_format(source)
    text = decode_text(data, source)
    if not text.strip():
        raise InputError(source, "is empty: expected at least one profile")
    profiles = _from_json(text, source, config) if kind == ".json" else _from_csv(text, source, config)
    if not profiles:
        raise InputError(source, "holds no profiles: expected at least one")
    return profiles


def check_profile_format(source: str) -> str:
    """Return the extension of a profile file.

    Raises:
        InputError: it is none of a profile file.
    """
    kind = file_format(source)
    if kind not in (".json", ".csv"):
        raise InputError(source, f"expected profiles in .json or .csv (also .gz), got {kind or 'no extension'}")
    return kind


def personas_from_profiles(
    profiles: tuple[Profile, ...], size: int, seed: int, config: PopulationConfig
) -> tuple[Persona, ...]:
    """Return `size` personas: if there are as many profiles, one each in order; else each person's profile is drawn.

    A repeated name gets a number. A profile without topics gets interests drawn from `config.topics`.
    """
    if size == len(profiles):
        cast = profiles
    else:
        cast = tuple(profiles[integer(len(profiles), seed, agent, 0, Draw.PERSONA)] for agent in range(size))
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
    """Return the persona with what the columns of the file give: the rest stays as the seed has it."""
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
        SettingError: neither has one of them.
    """
    known = {**persona.attributes, **profile.attributes}
    missing = next((name for name in config.attributes if name not in known), None)
    if missing is not None:
        raise without_values(missing, config.attributes[missing])
    return {name: known[name] for name in config.attributes}


def _from_json(text: str, source: str, config: PopulationConfig) -> tuple[Profile, ...]:
    document = _decode_json(text, source)
    if not isinstance(document, list):
        raise InputError(source, f"expected a list of profiles, got {_kind(document)}")
    for place, entry in enumerate(document, 1):
        try:
            json.dumps(entry, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            problem = f"profile {place} holds half a character (\\ud800 to \\udfff alone): expected text"
            raise InputError(source, problem) from None
    profiles = tuple(_json_profile(entry, place, source) for place, entry in enumerate(document, 1))
    if profiles:
        keys = dict.fromkeys(key for entry in document for key in entry)
        own = OwnColumns(config, tuple(keys), source)
        rows = (
            Row(entry, f"profile {place} ({profile.name})")
            for place, (entry, profile) in enumerate(zip(document, profiles, strict=True), 1)
        )
        profiles = tuple(_with_own(profile, own, row) for profile, row in zip(profiles, rows, strict=True))
    seen: dict[str, int] = {}
    for place, profile in enumerate(profiles, 1):
        before = seen.setdefault(profile.key, place)
        if before != place:
            raise InputError(source, f"{profile.key!r} is used by profiles {before} and {place}", key="username")
    return profiles


def _decode_json(text: str, source: str) -> Any:
    """Return the value of a JSON text."""
    try:
        document = json.loads(text)
    except RecursionError:
        raise _too_deep(text, source) from None
    except json.JSONDecodeError as error:
        raise InputError(source, f"bad JSON: {error.msg} (column {error.colno})", line=error.lineno) from None
    except ValueError as error:  # a number with thousands of digits
        raise InputError(source, f"bad JSON: {error}") from None
    if not _is_shallow(document, DEPTH_MAX):
        raise _too_deep(text, source)
    return document


def _is_shallow(value: object, levels: int) -> bool:
    """Return whether a value has at most this many levels of lists and objects."""
    if not isinstance(value, list | dict):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in inner)


def _too_deep(text: str, source: str) -> InputError:
    """Return the error that names the line of the first bracket that is nested too deeply."""
    depth = 0
    line = 1
    for found in _BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > DEPTH_MAX:
            line += text.count("\n", 0, found.start())
            break
    return InputError(source, f"bad JSON: is nested more than {DEPTH_MAX} levels deep", line=line)


def _json_profile(entry: Any, place: int, source: str) -> Profile:
    """Return the profile at `place` of the list, counted from 1."""
    if not isinstance(entry, dict):
        raise InputError(source, f"profile {place}: expected an object, got {_kind(entry)}")
    name = _text(entry.get("realname"))
    if not name:
        raise InputError(source, f"profile {place} has no name: expected a text", key="realname")
    topics = entry.get("interested_topics") or []
    if not isinstance(topics, list) or not all(isinstance(topic, str) for topic in topics):
        problem = f"profile {place} ({name}): expected a list of texts, got {json.dumps(topics)[:60]}"
        raise InputError(source, problem, key="interested_topics")
    facts = ", ".join(filter(None, (_text(entry.get(fact)) for fact in _FACTS)))
    about = _text(entry.get("persona")) or _text(entry.get("bio"))
    return Profile(
        name=name,
        interests=tuple(dict.fromkeys(filter(None, map(str.strip, topics)))),
        personality=" ".join(filter(None, (about, f"({facts})" if facts else ""))),
        key=_text(entry.get("username")) or name,
    )


def _from_csv(text: str, source: str, config: PopulationConfig) -> tuple[Profile, ...]:
    rows = _csv_rows(text, source)
    first_line, header = next(rows)
    columns = [column.strip() for column in header]
    missing = [column for column in _REQUIRED_COLUMNS if column not in columns]
    if missing:
        problem = f"missing column: {', '.join(missing)}; expected {', '.join(_REQUIRED_COLUMNS)}"
        raise InputError(source, problem, line=first_line)
    own = OwnColumns(config, columns, source, first_line)
    profiles: list[Profile] = []
    lines: list[int] = []
    user_ids: dict[str, int] = {}
    usernames: dict[str, int] = {}
    for line, values in rows:
        if len(values) != len(columns):
            raise InputError(source, f"expected {len(columns)} columns, got {len(values)}", line=line)
        row = dict(zip(columns, map(str.strip, values), strict=True))
        _take(user_ids, "user_id", row["user_id"], line, source)
        if row.get("username"):
            _take(usernames, "username", row["username"], line, source)
        profiles.append(_with_own(_csv_profile(row, line, source), own, Row(row, line=line)))
        lines.append(line)
    for profile, line in zip(profiles, lines, strict=True):
        for key in profile.follows:
            if key not in user_ids:
                problem = f"{profile.name} follows {key!r}, which is no user_id in this file"
                raise InputError(source, problem, key=_FOLLOWS, line=line)
    return tuple(profiles)


def _with_own(profile: Profile, own: OwnColumns, row: Row) -> Profile:
    """Return the profile with the values of the columns that the configuration names."""
    if not own.attributes and not own.given:
        return profile
    return msgspec.structs.replace(profile, attributes=own.values_of(row), given=own.given_of(row))


def _csv_rows(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with the line it begins on: a quoted text may hold line ends."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for values in reader:
            if values:
                yield line, values
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(source, f"bad CSV: {error}", line=line) from None


def _csv_profile(row: dict[str, str], line: int, source: str) -> Profile:
    if not row["name"]:
        raise InputError(source, f"user {row['user_id']} has no name: expected a text", key="name", line=line)
    listed = _follow_list(row[_FOLLOWS])
    if listed is None:
        problem = f"expected a list of user ids such as [1, 0, 5], got {row[_FOLLOWS][:60]!r}"
        raise InputError(source, problem, key=_FOLLOWS, line=line)
    follows = tuple(key for key in listed if key != row["user_id"])
    return Profile(
        name=row["name"],
        interests=(),
        personality=row["user_char"] or row.get("description", ""),
        key=row["user_id"],
        follows=follows,
        self_follows=len(listed) - len(follows),
    )


def _follow_list(text: str) -> list[str] | None:
    """Return the ids in a list such as `[1, 0, 5]` or `['a', 'b']`, no ids for a blank text, None for anything else."""
    if not text:
        return []
    if not (text.startswith("[") and text.endswith("]")):
        return None
    inner = text[1:-1].strip()
    if not inner:
        return []
    ids = [entry.strip().strip("'\"") for entry in inner.split(",")]
    return ids if all(ids) else None


def _take(taken: dict[str, int], key: str, value: str, line: int, source: str) -> None:
    """Record that the row on `line` has `value`, which must not be empty or already used."""
    if not value:
        raise InputError(source, "expected an id, got an empty text", key=key, line=line)
    before = taken.setdefault(value, line)
    if before != line:
        raise InputError(source, f"{value!r} is used on lines {before} and {line}", key=key, line=line)


def _text(value: object) -> str:
    """Return a JSON text or number as text; empty for anything else."""
    return str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _kind(value: object) -> str:
    """Return the name of a value's JSON type, with its article."""
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")

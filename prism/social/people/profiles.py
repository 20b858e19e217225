"""Profiles: people described in a file, as OASIS and table programs write them, and the personas made from them.

A row is a person: two people of one name are two people. Thresholds and activity come from the seed, so two people with
the same profile still differ, unless the configuration names columns of the file for them. A file of posts has the same
rows, and columns that settings name.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from prism.checked import Checked, field_types
from prism.columns import Ints
from prism.config.attributes import NUMBER_MAX, PLACE, TRAITS, AttributeConfig, Value
from prism.config.model import ColumnsConfig, PopulationConfig
from prism.errors import InputError
from prism.social.people.people import SyntheticPeople
from prism.social.people.persona import (
    NEUTRAL,
    NO_ATTRIBUTES,
    TRAITS_OF,
    Attributes,
    Persona,
    band_around,
    unique_names,
    without_values,
)
from prism.social.ties.files import without_last_digits
from prism.text_files import MISSING, NUMBER, TABLES, TRUTHS, check_format, decode_text, file_format, read_table
from prism.wording import counted, cut

USER_ID: Final = "user_id"
USERNAME: Final = "username"
INDEX: Final = "index"
NAME: Final = "name"
ROW: Final = "row"
ROW_FROM_1: Final = "row_from_1"
KINDS: Final = {
    INDEX: ("", "unnamed: 0", "index", "agent_id"),
    USER_ID: ("user_id", "userid", "id"),
    NAME: ("name", "realname", "real_name"),
    USERNAME: ("username", "user_name", "screen_name"),
    "persona": ("user_char", "persona"),
    "bio": ("bio", "description"),
    "follows": ("following_agentid_list", "following_list"),
    "followers": ("followers_list", "follower_list"),
    "topics": ("interested_topics",),
    "mbti": ("mbti",),
    "age": ("age",),
    "gender": ("gender",),
    "country": ("country",),
    "profession": ("profession",),
}
"""`{kind of content: the names of its column or key}`; of several that a file has, the first is read."""
DESCRIBING: Final = {name: None for kind in (NAME, USERNAME, "persona", "bio") for name in KINDS[kind]}
"""A file without any of these columns describes nobody."""
FORMATS: Final = (".json", ".jsonl", ".ndjson", *TABLES)
SHOWN_MAX: Final = 400  # the most characters of an error that lists columns


class FileRows(NamedTuple):
    """The rows of a file of which each describes one thing."""

    source: str
    noun: str  # what a row describes, as errors call it
    columns: tuple[str, ...]  # the columns, or all keys, as the file has them
    rows: Sequence[Mapping[str, object]]  # `{column or key: value}` of each thing; a table has texts only
    lines: list[int]  # the line of each; empty for a list of JSON
    header_line: int | None  # the line of the header; None in JSON
    column_of: Mapping[str, str] = {}  # `{kind: its column}`, for those of `KINDS` that the file has

    def value(self, place: int, kind: str) -> object:
        column = self.column_of.get(kind)
        return None if column is None else self.rows[place].get(column)

    def text(self, place: int, kind: str) -> str:
        """Return a text or a number as text; empty for any other value, and for a missing one."""
        value = self.value(place, kind)
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return ""
        text = str(value).strip()
        return "" if text in MISSING else text

    def error(self, place: int, column: str, problem: str) -> InputError:
        """Return the error for a row's value in a column, with its line, or the number of the row without one."""
        if self.lines:
            return InputError(self.source, problem, key=column, line=self.lines[place])
        return InputError(self.source, f"{self.noun} {place + 1}: {problem}", key=column)

    @property
    def noun_of_columns(self) -> str:
        return "key" if self.header_line is None else "column"

    def unusable(self, problem: str) -> InputError:
        """Return an error about the columns, which are listed behind it."""
        return InputError(self.source, problem + cut(", ".join(self.columns), SHOWN_MAX), line=self.header_line)

    def missing(self, column: str, why: str = "") -> InputError:
        return self.unusable(f"missing {self.noun_of_columns}: {column}{why}; the file has: ")


def read_rows(text: str, source: str, known: Collection[str], noun: str) -> FileRows:
    """Return the rows of a table or of JSON, each a `noun`; `known` columns tell the separator of a table."""
    if file_format(source) in TABLES:
        table = read_table(text, source, known, keeps_blank=True)
        numbered = [(line, dict(zip(table.header, cells, strict=True))) for line, cells in table.rows]
        lines, rows = [line for line, _ in numbered], [row for _, row in numbered]
        found = FileRows(source, noun, tuple(table.header), rows, lines, table.line)
    else:
        rows, lines = _json_rows(text, source, noun)
        found = FileRows(source, noun, tuple(dict.fromkeys(key for row in rows for key in row)), rows, lines, None)
    places = dict[str, str]()
    for column in found.columns:
        if (plain := column.strip().lower()) and plain in places:
            problem = f"stands twice: expected one column {plain!r}"
            raise InputError(source, problem, key=column, line=found.header_line)
        # A spreadsheet may end its rows with separators: only a first column without a name is one.
        if plain or not places:
            places[plain] = column
    kinds = {kind: next((places[name] for name in names if name in places), None) for kind, names in KINDS.items()}
    return found._replace(column_of={kind: column for kind, column in kinds.items() if column is not None})


def _json_rows(text: str, source: str, noun: str) -> tuple[list[Any], list[int]]:
    """Return the objects of a JSON text and, if it has one a line, their lines."""
    entries: Any
    lines: list[int] = []
    if file_format(source) != ".json" and text.lstrip()[:1] != "[":
        numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        entries = [_decode_json(line, source, number) for number, line in numbered]
        lines = [number for number, _ in numbered]
    else:
        entries = _decode_json(text, source)
    if isinstance(entries, dict) and DESCRIBING.keys().isdisjoint(entries):  # such as {"users": [...], "page": 1}
        lists = [found for found in entries.values() if isinstance(found, list)]
        entries = lists[0] if len(lists) == 1 else entries
    if not isinstance(entries, list):
        raise InputError(source, f"expected a list of {noun}s, or an object with one list, got {_kind(entries)}")
    for place, entry in enumerate(entries, 1):
        problem = "" if isinstance(entry, dict) else f": expected an object, got {_kind(entry)}"
        try:
            json.dumps(entry, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            problem = " holds half a character (\\ud800 to \\udfff alone): expected text"
        except RecursionError:
            problem = " is nested too deeply"
        if problem:
            raise InputError(source, f"{noun} {place}{problem}", line=lines[place - 1] if lines else None)
    return entries, lines


def _decode_json(text: str, source: str, line: int = 1) -> Any:
    """Return the value of a JSON text, which begins on a line of the file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"bad JSON: {error.msg} (column {error.colno})"
        if error.msg == "Extra data" and file_format(source) == ".json":
            problem += ": a file with an object on each line is a .jsonl"
        raise InputError(source, problem, line=error.lineno + line - 1) from None
    except (RecursionError, ValueError) as error:  # brackets by the thousand, or a number with thousands of digits
        raise InputError(source, f"bad JSON: {error}", line=line) from None


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


class OwnColumns:
    """The columns of one file that the configuration names, and the values in them.

    Args:
        declared: the attributes of people, or of posts.
        columns: the settings of further columns.
        setting: where the attributes are declared. Those of posts are never drawn.
    """

    def __init__(
        self, table: FileRows, declared: Mapping[str, AttributeConfig], columns: ColumnsConfig, setting: str = PLACE
    ) -> None:
        self._table, self._declared, self._setting = table, declared, setting
        self.attributes: dict[str, str] = {}  # `{attribute: the column that gives it}`
        for name, each in declared.items():
            column = each.column
            if column is None and not each.is_drawn:
                # A column in capitals would be passed over, and the attribute drawn in its place.
                alike = next((one for one in table.columns if one.lower() == name.lower()), None)
                if alike not in (None, name):
                    raise table.missing(name, f", for {setting}.{name}; `column: {alike}` reads {alike!r}")
                is_complete = each.is_complete if setting == PLACE else each.default is not None
                column = alike or (None if is_complete else name)
            if column is not None:
                self.attributes[name] = self._found(column, f"{setting}.{name}")
        named = {name: getattr(columns, name) for name in field_types(ColumnsConfig)}
        self.given = {
            name: self._found(column, f"population.columns.{name}") for name, column in named.items() if column
        }
        """`{threshold or activity: the column that gives it}`."""

    def values_of(self, place: int) -> dict[str, Value]:
        """Return the attributes in a row that are read from columns."""
        values: dict[str, Value] = {}
        for name, column in self.attributes.items():
            declaration, cell = self._declared[name], self._table.rows[place].get(column)
            is_blank = _is_blank(cell, declaration)
            value = declaration.default if is_blank else _read(cell, declaration)
            if value is None:
                got, way_out = _shown(cell), ""
                if is_blank:
                    got = f"{got}, which stands for a missing value" if cell else "nothing"
                    way_out = f"; {self._setting}.{name}.default would stand for it"
                raise self._table.error(place, column, f"expected {declaration.expected}, got {got}{way_out}")
            values[name] = value
        return values

    def given_of(self, place: int) -> dict[str, float]:
        """Return the thresholds and so on of one profile that are read from columns, without those left blank."""
        given: dict[str, float] = {}
        for name, column in self.given.items():
            declaration, cell = ColumnsConfig.holding(name), self._table.rows[place].get(column)
            if not _is_blank(cell, declaration):
                value = _read(cell, declaration)
                if value is None:
                    raise self._table.error(place, column, f"expected {declaration.expected}, got {_shown(cell)}")
                given[name] = float(value)
        # The thresholds are in order, and the middle one is not missing.
        middle = given.get("engagement_threshold")
        for name, sign, bound in (("low_threshold", 1, "at most"), ("high_threshold", -1, "at least")):
            edge = given.get(name)
            if edge is not None and (middle is None or sign * edge > sign * middle):
                problem = "expected an engagement threshold in the same profile"
                if middle is not None:
                    problem = f"expected {bound} the engagement threshold of {middle:g}, got {edge:g}"
                raise self._table.error(place, self.given[name], problem)
        return given

    def _found(self, column: str, setting: str) -> str:
        known = {present.lower(): present for present in self._table.columns}
        if column not in known.values():
            close = get_close_matches(column.lower(), known, n=1)
            meant = f"; did you mean {known[close[0]]!r}?" if close else ""
            raise self._table.missing(column, f", for {setting}{meant}")
        return column


def _is_blank(cell: object, declaration: AttributeConfig) -> bool:
    """Return whether a cell holds no value. A word for a missing one is a value if the attribute declares it."""
    if not isinstance(cell, str):
        return cell is None or (isinstance(cell, float) and math.isnan(cell))
    text = cell.strip()
    return not text or (text in MISSING and text not in declaration.values)


def _read(cell: object, declaration: AttributeConfig) -> Value | None:
    """Return the value in a cell; None if the attribute may not have it.

    A `.csv` has texts, so there a number is a text that reads as one. A table program may write 40 as `40.0`.
    """
    text = cell.strip() if isinstance(cell, str) else ""
    value: object = text or cell
    if declaration.type == "bool" and text:
        value = TRUTHS.get(text.lower())
    elif declaration.type in ("int", "float"):
        number = float(text) if NUMBER.fullmatch(text) else cell
        if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= NUMBER_MAX:
            return None  # NaN, too, is not at most the largest number
        if declaration.type == "int" and not float(number).is_integer():
            return None
        value = int(number) if declaration.type == "int" else float(number)
    return value if isinstance(value, float | int | bool | str) and declaration.holds(value) else None


def _shown(cell: object) -> str:
    return json.dumps(cell, ensure_ascii=False)[:60] if not isinstance(cell, str) else repr(cell[:60])


_ENTRY: Final = re.compile(
    r"\s*(?:'(?P<one>(?:[^'\\]|\\.)*)'|\"(?P<two>(?:[^\"\\]|\\.)*)\""
    r"|(?:np|numpy)\.\w+\((?P<wrapped>[^()\[\]{},'\"]*)\)|(?P<word>(?!\.\.)[^\s,;|:\[\](){}'\"]+))\s*(?:,|$)",
    re.DOTALL,
)
"""An entry of a list as Python prints it, with the comma behind it; numpy prints `np.int64(1)` for 1."""
_WHOLE: Final = re.compile(r"([-+]?)([0-9]+)(?:\.([0-9]*))?(?:[eE]([-+]?[0-9]{1,3}))?")
_EXACT_MAX: Final = 2.0**53  # from here on a float does not tell whole numbers apart
_FIRST_ROWS: Final = {ROW: 0, ROW_FROM_1: 1}
ROW_DIGITS: Final = 12  # a text with so many digits is no number of a row


class LostDigitsError(ValueError):
    """An id such as 1.31E+18, of which three digits are left: other ids may be written in the same way."""


def id_text(value: object) -> str:
    """Return an id as text: a whole number is the same as an int, a float and a text. Empty if missing.

    Raises LostDigitsError for a number whose last digits are lost.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    if isinstance(value, float) and math.isfinite(value) and abs(value) >= _EXACT_MAX:
        raise LostDigitsError(repr(value))
    text = str(value).strip()
    if not text or text in MISSING:
        return ""
    found = _WHOLE.fullmatch(text)
    if found is None or (found[3] is None and found[4] is None):
        return text
    sign, whole, fraction, exponent = found[1], found[2], found[3] or "", int(found[4] or 0)
    if exponent > len(fraction):
        raise LostDigitsError(text)
    if exponent < 0 or fraction[exponent:].strip("0"):
        return text
    return f"{sign.strip('+')}{whole}{fraction[:exponent]}"


def plain_id(value: object) -> str:
    """Return an id as `id_text` does, and one that has lost digits as it stands: it is nobody's."""
    try:
        return id_text(value)
    except LostDigitsError:
        return str(value).strip()


def entries_of(value: Any) -> tuple[str, ...] | None:
    """Return the ids in a list of JSON, or in a text as Python or JSON prints lists; None if it is no list.

    Raises LostDigitsError for an entry whose last digits are lost.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ()
    if isinstance(value, str):
        text = value.strip()
        if not text or text in MISSING:
            return ()
        if text[0] + text[-1] not in ("[]", "()"):
            return None
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value, place, inner = [], 0, text[1:-1].strip()
            while place < len(inner):
                found = _ENTRY.match(inner, place)
                if found is None:
                    return None
                printed = next(each for each in found.groups() if each is not None)
                value.append(re.sub(r"\\(.)", r"\1", printed))
                place = found.end()
    if not isinstance(value, list) or any(isinstance(each, list | dict | bool) for each in value):
        return None
    return tuple(filter(None, map(id_text, value)))


def topics_of(value: object, *, in_words: bool = False) -> tuple[str, ...] | None:
    """Return the topics in a list of texts, or in a text as programs print lists, each once; None if it is no list.

    If topics are `in_words`, a text without a bracket has semicolons, else commas, between them.
    """
    topics = () if value is None else value
    if isinstance(topics, str):
        is_words = in_words and not topics.lstrip().startswith("[")
        topics = topics.split(";" if ";" in topics else ",") if is_words else entries_of(topics)
    if not isinstance(topics, list | tuple) or not all(isinstance(topic, str) for topic in topics):
        return None
    return tuple(dict.fromkeys(filter(None, map(str.strip, topics))))


def people_named(
    lists: Sequence[Sequence[str]], ids: Mapping[str, Sequence[str]], wanted: str
) -> tuple[str, Mapping[str, int]]:
    """Return how the entries of the follow lists of a file are read, and `{entry: the number of the person}`.

    It is the reading by which every entry names somebody. If there is none, because people were left out of the file,
    it is the only one by which any entry does. Rows are counted from 1 only if the configuration says so.

    Args:
        ids: `{kind: the id of each person}`, for the kinds of columns that tell people apart.
        wanted: as the configuration says; `fit` for the reading that fits.

    Raises:
        LookupError: the wanted one is none of the file, or two readings fit and name different people.
    """
    entries = [*dict.fromkeys(chain.from_iterable(lists))]
    named = dict[str, dict[str, int]]()
    for kind in (USER_ID, ROW, ROW_FROM_1, INDEX, USERNAME):
        if kind in _FIRST_ROWS:
            rows = [each for each in entries if each.isdecimal() and each.isascii() and len(each) < ROW_DIGITS]
            numbers = {each: int(each) - _FIRST_ROWS[kind] for each in rows if str(int(each)) == each}
            named[kind] = {each: number for each, number in numbers.items() if 0 <= number < len(lists)}
        elif kind in ids:
            place_of = {text: place for place, text in enumerate(ids[kind])}
            named[kind] = {each: place_of[each] for each in entries if each in place_of}
    if wanted != "fit":
        if wanted not in named:
            expected = f"(population.follow_lists): expected {', '.join(named)}"
            raise LookupError(f"has no {wanted} that tells people apart {expected}")
        return wanted, named[wanted]
    usual = [kind for kind in named if kind != ROW_FROM_1]
    fitting = [kind for kind in usual if len(named[kind]) == len(entries)]
    if not fitting and len(named[ROW_FROM_1]) == len(entries):
        # Numbers from 1 may also count rows from 0, in a file that lacks the person with the largest number.
        fitting = [ROW, ROW_FROM_1]
    first, *others = fitting or [kind for kind in usual if named[kind]] or usual
    other = next((each for each in others if named[each] != named[first]), None)
    if other is not None:
        counts = [f"{len(named[kind]):,} by {kind}" for kind in (first, other)]
        apart = next(each for each in entries if named[first].get(each) != named[other].get(each))
        places = [named[kind].get(apart) for kind in (first, other)]
        people = ["nobody in it" if place is None else f"profile {place + 1}" for place in places]
        told = f"{' and '.join(counts)} of {len(entries):,} entries name people of this file"
        way_out = "set population.follow_lists to what the lists hold"
        raise LookupError(f"{told}, and {apart!r} is {' or '.join(people)}: {way_out}")
    return first, named[first]


_FACTS = ("mbti", "age", "gender", "country", "profession")
PLAIN: Final = PopulationConfig()
"""The settings of people without attributes of their own, for whom no other columns are read."""
NOT_GIVEN: Final[dict[str, float]] = {}
_WORDS: Final = {
    USER_ID: "ids",
    USERNAME: "user names",
    INDEX: "numbers of the index column",
    ROW: "numbers of rows, from 0",
    ROW_FROM_1: "numbers of rows, from 1",
}
"""`{reading of follow lists: their content in words}`."""
COLUMNS_SHOWN: Final = 12  # the most columns that a line lists
NAME_SHOWN: Final = 40  # the most characters of a name in a line


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
    """The profiles of a file, in its order."""

    keys: Sequence[str]  # the id of each person in the file, or the user name or number if there is none
    # `{kind: the id of each person}` for the kinds of columns that tell all people apart
    ids: Mapping[str, Sequence[str]]
    ties: Ints  # who follows, and whom, by the places of their profiles, of shape (ties, 2); some may follow themselves
    understood: tuple[str, ...]  # how the file was understood, in lines


def parse_profiles(data: bytes, source: str, config: PopulationConfig = PLAIN) -> Profiles:
    """Return the profiles in a file, in its order: JSON or a table.

    Args:
        config: the settings of people, which may name further columns.

    Raises:
        InputError: the file cannot be read in full; the message names the line or the profile, counted from 1.
    """
    check_format(source, "profiles", FORMATS)
    text = decode_text(data, source, config.encoding, "population.encoding")
    known = {name for names in KINDS.values() for name in names if name}
    table = read_rows(text, source, known, "profile") if text.strip() else None
    if table is not None and table.columns and not {NAME, USERNAME, "persona", "bio"} & table.column_of.keys():
        raise table.unusable(
            f"expected a {table.noun_of_columns} that describes people ({', '.join(DESCRIBING)}), got: "
        )
    if table is None or not table.rows:
        raise InputError(source, "holds no profiles: expected at least one")
    # 1. The ids of people. Ids that have lost digits are none: a row is a person, whom no follow list names by them.
    size, by_kind = len(table.rows), dict[str, list[str]]()
    for kind in (USER_ID, USERNAME, INDEX, NAME):
        try:
            by_kind[kind] = [id_text(table.value(place, kind)) for place in range(size)]
        except LostDigitsError:
            by_kind[kind] = []
    has_ids, seen = USER_ID in table.column_of, dict[str, int]()
    is_lost = has_ids and (not by_kind[USER_ID] or without_last_digits(by_kind[USER_ID]) is not None)
    by_kind[USER_ID] = [] if is_lost or not has_ids else by_kind[USER_ID]
    for place, each in enumerate(by_kind[USER_ID]):
        if (before := seen.setdefault(each, place)) != place or not each:
            both = [f"{one + 1}" if not table.lines else f"{table.lines[one]}" for one in (before, place)]
            problem = f"{each!r} is used {'on lines' if table.lines else 'by profiles'} {' and '.join(both)}"
            raise table.error(place, table.column_of[USER_ID], problem if each else "expected an id, got an empty text")
    ids = {kind: texts for kind, texts in by_kind.items() if len({*texts} - {""}) == size}
    # 2. The profiles, and the ties between them.
    own = OwnColumns(table, config.attributes, config.columns)
    made = Profiles(_profiles(table, own))
    rows = [*map(str, range(size))]
    made.ids, made.keys = ids, ids.get(USER_ID) or (rows if has_ids else ids.get(USERNAME, rows))
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
        lines.append(f"`{table.column_of[USER_ID]}` has lost digits, so people have numbers for ids")
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
        if (interests := topics_of(topics)) is None:
            problem = f"expected a list of texts, got {json.dumps(topics)[:60]}"
            raise table.error(place, table.column_of["topics"], problem)
        yield Profile(
            name=name,
            interests=interests,
            personality=" ".join(filter(None, (about, f"({facts})" if facts else ""))),
            attributes=own.values_of(place) if own.attributes else NO_ATTRIBUTES,
            given=own.given_of(place) if own.given else NOT_GIVEN,
        )


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
            raise table.error(place, column, f"expected a list of user ids such as [1, 0, 5], got {str(value)[:60]!r}")
        lists.append(entries)
    if not any(lists):
        return np.empty((0, 2), dtype=np.int64), []
    # 2. Whom each entry names.
    try:
        reading, number_of = people_named(lists, profiles.ids, config.follow_lists)
    except LookupError as error:
        raise InputError(table.source, str(error), key=column, line=table.header_line) from None
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

"""Follow lists of profiles: the entries in their texts, and the people whom the entries of one file name.

OASIS writes the numbers of rows into them, other programs write ids or user names. A file does not say which, so the
reading that fits is taken. Where two readings fit and give different ties, the file is refused, and the configuration
has to name one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from prism.text_files import MISSING

EMPTY: Final = frozenset({"set()", "frozenset()"})
_WRAPPER: Final = re.compile(
    r"(?:(?:np|numpy|pd|pandas)\.)?(?:array|Index|Int64Index|list|tuple|set|frozenset)"
    r"\((?P<list>[\[({].*[\])}])(?:,\s*(?:dtype|name|length)=[^\[\](){}]*)?\)",
    re.DOTALL,
)
"""A list as numpy or pandas print it: `array([1, 2], dtype=int32)`."""
_BRACKETS: Final = {"[": "]", "(": ")", "{": "}"}
_TOKEN: Final = re.compile(
    r"(?P<comma>,)"
    r"|(?P<quoted>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?:np|numpy)\.\w+\((?P<wrapped>[^()\[\]{},]*)\)"
    r"|(?P<word>[^\s,;|\[\](){}'\"]+)"
    r"|(?P<space>\s+)",
    re.DOTALL,
)
"""A piece of a list: `np.int64(1)` is what numpy prints for 1."""
_NUMBER: Final = re.compile(r"([-+]?)([0-9]+)(?:\.([0-9]*))?(?:[eE]([-+]?[0-9]{1,3}))?")
_EXACT_MAX: Final = 2.0**53
"""From here on a float does not tell whole numbers apart."""


class LostDigitsError(ValueError):
    """An id such as 1.31E+18, of which three digits are left: other ids may be written in the same way."""


ROW: Final = "row"
ROW_FROM_1: Final = "row_from_1"
ROW_DIGITS: Final = 12
"""A text with so many digits is no number of a row."""


class Reading(NamedTuple):
    """One way to read the entries of follow lists.

    Args:
        name: as the configuration names it.
        number_of: `{entry: the number of the person whom it names}`.
        is_strict: it is taken only if every entry names somebody.
    """

    name: str
    number_of: Mapping[str, int]
    is_strict: bool = False


class Rows(Mapping[str, int]):
    """The people by the numbers of their rows, as lists write them: `{"0": 0, ...}`.

    They are computed and not stored: a file may have a million.
    """

    def __init__(self, size: int, first: int) -> None:
        self._size, self._first = size, first

    def __getitem__(self, text: str) -> int:
        number = int(text) - self._first if text.isdecimal() and text.isascii() and len(text) < ROW_DIGITS else -1
        if not 0 <= number < self._size or str(number + self._first) != text:
            raise KeyError(text)
        return number

    def __iter__(self) -> Iterator[str]:
        return (str(number + self._first) for number in range(self._size))

    def __len__(self) -> int:
        return self._size


class AmbiguousListsError(ValueError):
    """Follow lists that can be read in two ways. The message names both."""


def id_text(value: object) -> str:
    """Return an id as text; a whole number is the same id as an int, as a float and in a text. Empty if missing.

    Raises:
        LostDigitsError: it is a number whose last digits are lost.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    if isinstance(value, float) and math.isfinite(value) and abs(value) >= _EXACT_MAX:
        raise LostDigitsError(repr(value))
    text = str(value).strip()
    if not text or text in MISSING:
        return ""
    found = _NUMBER.fullmatch(text)
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


def entries_of(value: object) -> tuple[str, ...] | None:
    """Return the ids in a follow list, given as a text or as a list of JSON; None if it is no list.

    Raises:
        LostDigitsError: an entry is a number whose last digits are lost.
    """
    if isinstance(value, str):
        listed = _split(value.strip())
    elif value is None or (isinstance(value, float) and math.isnan(value)):
        listed = []
    else:
        listed = value if isinstance(value, list) else None
    if listed is None or any(isinstance(each, list | dict | bool) for each in listed):
        return None
    return tuple(filter(None, map(id_text, listed)))


def chosen(lists: Sequence[Sequence[str]], readings: Sequence[Reading]) -> Reading:
    """Return the reading that fits the follow lists of a file.

    It is the one by which every entry names somebody. If there is none, because people were left out of the file, it is
    the only one by which any entry does. Rows are counted from 1 only if the configuration says so.

    Raises:
        AmbiguousListsError: two readings fit, and name different people.
    """
    entries = [*dict.fromkeys(chain.from_iterable(lists))]
    known = {reading.name: [reading.number_of.get(each) for each in entries] for reading in readings}
    usual = [reading for reading in readings if reading.name != ROW_FROM_1]
    fitting = [reading for reading in usual if None not in known[reading.name]]
    if not fitting and None not in known.get(ROW_FROM_1, [None]):
        # Numbers from 1 may also count rows from 0, in a file that lacks the person with the largest number.
        fitting = [reading for reading in readings if reading.name in (ROW, ROW_FROM_1)]
    if not fitting:
        loose = [reading for reading in usual if not reading.is_strict]
        fitting = [reading for reading in loose if any(each is not None for each in known[reading.name])]
    first, *others = fitting or usual
    for other in others:
        if known[other.name] != known[first.name]:
            counts = [f"{sum(each in way.number_of for each in entries):,} by {way.name}" for way in (first, other)]
            apart = next(each for each in entries if first.number_of.get(each) != other.number_of.get(each))
            numbers = [way.number_of.get(apart) for way in (first, other)]
            people = ["nobody in it" if number is None else f"profile {number + 1}" for number in numbers]
            told = f"{' and '.join(counts)} of {len(entries):,} entries name people of this file"
            raise AmbiguousListsError(f"{told}, and {apart!r} is {' or '.join(people)}")
    return first


def _split(text: str) -> list[str] | None:
    """Return the entries of a list as Python, numpy, pandas or JSON print it; None for any other text."""
    if not text or text in MISSING or text in EMPTY:
        return []
    if (wrapped := _WRAPPER.fullmatch(text)) is not None:
        text = wrapped["list"]
    if len(text) < 2 or _BRACKETS.get(text[0]) != text[-1]:
        return None
    # The entries between commas, each in words: whether one was quoted, and the word.
    groups: list[list[tuple[bool, str]]] = [[]]
    place, end = 1, len(text) - 1
    while place < end:
        found = _TOKEN.match(text, place, end)
        # numpy prints "..." for the middle of a long list; with a colon it is a mapping and no list
        if found is None or (found["word"] or "").startswith(("...", ":")):
            return None
        place = found.end()
        if found["comma"]:
            groups.append([])
        elif found["quoted"] is not None:
            groups[-1].append((True, re.sub(r"\\(.)", r"\1", found["quoted"][1:-1])))
        elif not found["space"]:
            word = found["word"] if found["wrapped"] is None else found["wrapped"].strip("'\" ")
            groups[-1].append((False, word))
    if len(groups) == 1:
        return [word for _, word in groups[0]]  # numpy puts spaces between the entries
    if not groups[-1]:
        groups.pop()  # (1,) has a comma at its end
    # None is empty. An id without quotes may have spaces in it; a quoted one is whole.
    if any(not group or (len(group) > 1 and any(is_quoted for is_quoted, _ in group)) for group in groups):
        return None
    return [" ".join(word for _, word in group) for group in groups]

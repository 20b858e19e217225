"""Follow lists of profiles: the ids in their texts, and the people whom the entries of one file name.

OASIS writes the numbers of rows into them, other programs write ids or user names. A file does not say which, so the
reading that fits is taken. Where two readings fit and give different ties, the file is refused, and the configuration
has to name one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

from prism.text_files import MISSING

_ENTRY: Final = re.compile(
    r"\s*(?:'(?P<one>(?:[^'\\]|\\.)*)'|\"(?P<two>(?:[^\"\\]|\\.)*)\""
    r"|(?:np|numpy)\.\w+\((?P<wrapped>[^()\[\]{},'\"]*)\)|(?P<word>(?!\.\.)[^\s,;|:\[\](){}'\"]+))\s*(?:,|$)",
    re.DOTALL,
)
"""An entry of a list as Python prints it, with the comma behind it; numpy prints `np.int64(1)` for 1."""
_NUMBER: Final = re.compile(r"([-+]?)([0-9]+)(?:\.([0-9]*))?(?:[eE]([-+]?[0-9]{1,3}))?")
_EXACT_MAX: Final = 2.0**53
"""From here on a float does not tell whole numbers apart."""
USER_ID: Final = "user_id"
USERNAME: Final = "username"
INDEX: Final = "index"
ROW: Final = "row"
ROW_FROM_1: Final = "row_from_1"
_FIRST_ROWS: Final = {ROW: 0, ROW_FROM_1: 1}
ROW_DIGITS: Final = 12
"""A text with so many digits is no number of a row."""


class LostDigitsError(ValueError):
    """An id such as 1.31E+18, of which three digits are left: other ids may be written in the same way."""


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


def entries_of(value: Any) -> tuple[str, ...] | None:
    """Return the ids in a list of JSON, or in a text as Python or JSON prints lists; None if it is no list.

    Raises:
        LostDigitsError: an entry is a number whose last digits are lost.
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
        LookupError: the wanted one is none of the file, whose readings are the argument.
        AmbiguousListsError: two readings fit, and name different people.
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
            raise LookupError(", ".join(named))
        return wanted, named[wanted]
    usual = [kind for kind in named if kind != ROW_FROM_1]
    fitting = [kind for kind in usual if len(named[kind]) == len(entries)]
    if not fitting and len(named[ROW_FROM_1]) == len(entries):
        # Numbers from 1 may also count rows from 0, in a file that lacks the person with the largest number.
        fitting = [ROW, ROW_FROM_1]
    first, *others = fitting or [kind for kind in usual if named[kind]] or usual
    for other in others:
        if named[other] != named[first]:
            counts = [f"{len(named[kind]):,} by {kind}" for kind in (first, other)]
            apart = next(each for each in entries if named[first].get(each) != named[other].get(each))
            places = [named[kind].get(apart) for kind in (first, other)]
            people = ["nobody in it" if place is None else f"profile {place + 1}" for place in places]
            told = f"{' and '.join(counts)} of {len(entries):,} entries name people of this file"
            raise AmbiguousListsError(f"{told}, and {apart!r} is {' or '.join(people)}")
    return first, named[first]

"""The kinds of cells in a table of ties: they distinguish a header from ties, and an id from a weight."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final, Literal

from prism.text_files import MISSING

Kind = Literal["whole", "decimal", "date", "flag", "text", "blank"]

INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
"""The form of an id that is sorted by value; 18 digits fit 64 bits."""

COUNT: Final = re.compile(r"[0-9]{1,18}")
"""The form of a number of people, ties or places."""

WHOLE_FLOAT: Final = re.compile(r"(-?[0-9]+)[.,](?:0{1,2}|0{4,})")
"""A whole number that a program wrote as a float. With three zeros it may be thousands."""

SCIENTIFIC: Final = re.compile(r"[-+]?[0-9]+(?:[.,][0-9]+)?[eE]\+?[0-9]+")

DIGITS_KEPT: Final = 15
"""The digits of a number that a spreadsheet keeps."""
DIGITS_LOST: Final = 4
"""The fewest digits behind those, over all long ids of a column: if all of them are zeros, digits are lost.

By chance all of them are zeros in 1 of 10,000 columns."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?")
_DATE = re.compile(
    r"[0-9]{4}[-/.][0-9]{1,2}(?:[-/.][0-9]{1,2})?(?:[T ].*)?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}(?: .*)?"
    r"|[0-9]{1,2}:[0-9]{2}.*"
)
_FLAGS = frozenset({"true", "false", "True", "False", "TRUE", "FALSE"})


def kind_of(cells: Collection[str]) -> Kind:
    """Return the kind that all cells share, except empty ones; `text` if they share no other."""
    full = {cell for cell in cells if cell and cell not in MISSING}
    if not full:
        return "blank"
    if all(map(str.isdecimal, full)) or all(_is_whole(cell) for cell in full):
        return "whole"
    if all(_NUMBER.fullmatch(cell) for cell in full):
        return "decimal"
    if all(_DATE.fullmatch(cell) for cell in full):
        return "date"
    return "flag" if full <= _FLAGS else "text"


def _is_whole(cell: str) -> bool:
    return bool(re.fullmatch(r"-?[0-9]+", cell) or WHOLE_FLOAT.fullmatch(cell) or SCIENTIFIC.fullmatch(cell))


def plain(cell: str) -> str:
    """Return a whole number without the zeros behind its point, and any other cell as it is."""
    found = WHOLE_FLOAT.fullmatch(cell)
    return cell if found is None else found[1]


def without_last_digits(ids: Iterable[str]) -> str | None:
    """Return an id if the long ones all have nothing but zeros after the digits that a spreadsheet keeps, else None."""
    long = [digits for each in ids if len(digits := each.removeprefix("-")) > DIGITS_KEPT and digits.isdecimal()]
    rest = "".join(digits[DIGITS_KEPT:] for digits in long)
    return long[0] if len(rest) >= DIGITS_LOST and not rest.strip("0") else None


def is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def has_digit(cell: str) -> bool:
    return any(map(str.isdigit, cell))

"""Quarters of a year and periods of quarters, as economic series count time."""

from __future__ import annotations

import re
from typing import NamedTuple

_PATTERN = re.compile(r"([1-9][0-9]{3})q([1-4])", re.ASCII)


class Quarter(NamedTuple):
    """A quarter such as 1985q1. Quarters compare in the order of time."""

    year: int  # 1000 to 9999
    number: int  # 1 to 4

    @classmethod
    def parse(cls, text: str) -> Quarter:
        """Return the quarter that a text such as `1985q1`, in any case, names; a ValueError if it names none."""
        found = _PATTERN.fullmatch(text.strip().lower())
        if found is None:
            raise ValueError(f"expected a quarter such as 1985q1, got {text!r}")
        return cls(int(found[1]), int(found[2]))

    @property
    def following(self) -> Quarter:
        return Quarter(self.year + 1, 1) if self.number == 4 else Quarter(self.year, self.number + 1)

    def __str__(self) -> str:
        return f"{self.year}q{self.number}"


class Period(NamedTuple):
    """The quarters from `first` to `last`, both included."""

    first: Quarter
    last: Quarter

    @classmethod
    def parse(cls, text: str) -> Period:
        """Return the period that a text such as `1987q1-1992q3` names; a ValueError if none, or its end is first."""
        first, _, last = text.partition("-")
        try:
            period = cls(Quarter.parse(first), Quarter.parse(last))
        except ValueError:
            raise ValueError(f"expected a period such as 1987q1-1992q3, got {text!r}") from None
        if period.last < period.first:
            raise ValueError(f"expected a period that ends no earlier than it begins, got {text!r}")
        return period

    def __contains__(self, quarter: object) -> bool:
        return isinstance(quarter, Quarter) and self.first <= quarter <= self.last

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"

"""The values of a column in many rows, in arrays: no object is made for a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism.tables import Kind, Value


class Cells:
    """The values of a column in some rows.

    Args:
        values: the number of each row; of a column of texts the place of its text among `texts`, or -1 for no value.
        texts: the texts that occur; None for a column of numbers.
        is_there: False for each row without a number; None if every row has one.
    """

    __slots__ = ("is_there", "texts", "values")

    def __init__(
        self, values: NDArray[Any], texts: Sequence[str] | None = None, is_there: NDArray[np.bool_] | None = None
    ) -> None:
        self.values, self.texts, self.is_there = values, texts, is_there

    @classmethod
    def from_zero(cls, values: NDArray[Any]) -> Cells:
        """Return numbers from 0 on; -1 stands for no value."""
        return cls(values, is_there=values >= 0)

    @classmethod
    def same(cls, text: str | None, count: int) -> Cells:
        """Return one text in each row."""
        return cls(np.full(count, -1 if text is None else 0, np.int32), () if text is None else (text,))

    @classmethod
    def of_texts(cls, texts: Iterable[str | None]) -> Cells:
        numbers: dict[str | None, int] = {None: -1}
        codes = [numbers.setdefault(text, len(numbers) - 1) for text in texts]
        return cls(np.array(codes, np.int32), [text for text in numbers if text is not None])

    def __len__(self) -> int:
        return len(self.values)

    def at(self, rows: Any) -> Cells:
        """Return the values of some rows: their places, or a slice."""
        return Cells(self.values[rows], self.texts, None if self.is_there is None else self.is_there[rows])

    def few(self) -> Cells:
        """Return the same values without texts that do not occur, if there are more texts than rows."""
        if self.texts is None or len(self.texts) <= len(self.values):
            return self
        used, codes = np.unique(self.values, return_inverse=True)
        first = int(np.searchsorted(used, 0))
        return Cells(codes - first, [self.texts[place] for place in used[first:].tolist()])

    def listed(self, convert: Callable[[Any], Any] | None = None) -> list[Any]:
        """Return the values as a list, with None for no value. `convert`: what is done with each value first."""
        if self.texts is not None:
            texts = [*(self.texts if convert is None else map(convert, self.texts)), None]  # -1 is the last one
            return [texts[code] for code in self.values.tolist()]
        listed: list[Any] = self.values.tolist() if convert is None else [*map(convert, self.values.tolist())]
        if self.is_there is not None:
            for place in np.flatnonzero(~self.is_there).tolist():
                listed[place] = None
        return listed


Filled = Cells | Sequence[Value]
"""The values of a column: in arrays, or, of few rows, as a list with None for no value."""


def as_list(values: Filled) -> Sequence[Value]:
    return values.listed() if isinstance(values, Cells) else values


_NUMBERS: Final[dict[Kind, Any]] = {Kind.NUMBER: np.float64, Kind.BOOLEAN: np.bool_}


def cells_of(kind: Kind, values: Filled) -> Cells:
    """Return the values of a column of a kind in arrays.

    Raises:
        TypeError: they are of another kind.
    """
    if isinstance(values, Cells):
        return values
    if kind in (Kind.NAME, Kind.TEXT, Kind.JSON):
        return Cells.of_texts(values)  # type: ignore[arg-type]
    dtype, missing = _NUMBERS.get(kind, np.int64), False if kind is Kind.BOOLEAN else 0
    is_there = np.array([value is not None for value in values], np.bool_)
    numbers = np.array([missing if value is None else value for value in values] or np.empty(0, dtype))
    return Cells(numbers.astype(dtype, casting="same_kind"), is_there=None if is_there.all() else is_there)


def together(parts: Sequence[Filled]) -> Filled:
    """Return values one after the other."""
    cells = [part for part in parts if isinstance(part, Cells)]
    if len(parts) == 1 or len(cells) < len(parts):
        return parts[0] if len(parts) == 1 else [*chain.from_iterable(map(as_list, parts))]
    if cells[0].texts is None:
        there = [np.ones(len(part), np.bool_) if part.is_there is None else part.is_there for part in cells]
        are_all = all(part.is_there is None for part in cells)
        return Cells(np.concatenate([part.values for part in cells]), None, None if are_all else np.concatenate(there))
    numbers, codes = dict[str, int](), list[NDArray[Any]]()
    for part in cells:
        new = [numbers.setdefault(text, len(numbers)) for text in part.texts or ()]
        codes.append(np.array([*new, -1], np.int32)[part.values])
    return Cells(np.concatenate(codes), [*numbers])

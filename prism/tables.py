"""Tables of runs, each declared once: for worlds, the journal, readers, exports, and docs/tables.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum, unique
from typing import Final, NamedTuple

import msgspec


@unique
class Kind(StrEnum):
    """The type of a column's values.

    `time`: simulated time in UTC, held as microseconds since 1970. `name`: one of a few texts that PRISM or a chart
    chose, such as a state. `text`: whatever people, models and files say. `json`: a value as JSON text. `packed`: a
    value as msgpack.
    """

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"
    NAME = "name"
    TEXT = "text"
    JSON = "json"
    PACKED = "packed"


Value = int | float | bool | str | None
"""A value of a column; None where there is none."""


class Column(msgspec.Struct, frozen=True):
    """A column of a table.

    Args:
        about: its meaning.
        unit: of its numbers; empty without one.
        key: the column of another table that it joins with, as `table.column`; empty if there is none.
        dtype: the numbers that a journal keeps, such as `<u4`; empty for the usual ones of the kind.
        names: all names that a column of names may have, which a journal keeps by their number.
    """

    name: str
    kind: Kind
    about: str
    unit: str = ""
    key: str = ""
    dtype: str = ""
    names: tuple[str, ...] = ()

    @property
    def stored(self) -> str:
        """The numbers that a journal keeps; one of `HEAPS` for texts of any length."""
        if self.kind is Kind.NAME and self.names:
            return "|u1"
        return self.dtype or _STORED.get(self.kind, HEAP)


HEAP, PACKED_HEAP = "heap", "packed"
HEAPS: Final = frozenset({HEAP, PACKED_HEAP})
"""The columns without numbers: texts, and values as msgpack. Both have the same bytes; a reader of any run must know
which of the two a column is."""
NUMBERS: Final = ("|u1", "<u2", "<u4", "<u8", "<i4", "<i8", "<f4", "<f8")
_STORED: Final = {
    Kind.INTEGER: "<i8",
    Kind.NUMBER: "<f8",
    Kind.BOOLEAN: "|u1",
    Kind.TIME: "<i8",
    Kind.PACKED: PACKED_HEAP,
}


class Shape(NamedTuple):
    """A table as a journal has it: its name, and the name and the numbers of each column."""

    name: str
    columns: tuple[tuple[str, str], ...]


def check_shapes(shapes: Sequence[Shape]) -> None:
    """Raise a ValueError if two tables have one name, or one has no columns or one that no journal keeps."""
    for shape in shapes:
        if not shape.columns or not {dtype for _, dtype in shape.columns} <= {*HEAPS, *NUMBERS}:
            raise ValueError(f"the columns of its table {shape.name!r} are none of a journal")
    if len({shape.name for shape in shapes}) != len(shapes):
        raise ValueError("two of its tables have one name")


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table of runs.

    Args:
        about: a row of it, in words.
        columns: in their order; the first is `RUN`.
        primary: the columns that name a row; empty if a row has no name.
        absent: the reason why a run has no such table, in words; empty if every run of the domain has one.
        varies: the further columns that a run may bring, in words; empty if there are none.
        query: the SQL of its rows, which reads the tables of journals; empty for rows that come from elsewhere.
    """

    name: str
    about: str
    columns: tuple[Column, ...]
    primary: tuple[str, ...] = ()
    absent: str = ""
    varies: str = ""
    query: str = ""

    @property
    def shape(self) -> Shape:
        return Shape(self.name, tuple((column.name, column.stored) for column in self.columns))

    def with_columns(self, added: Iterable[Column]) -> Table:
        return msgspec.structs.replace(self, columns=(*self.columns, *added))


column: Final = Column
"""Makes a column as a line of a table."""


INTEGER, NUMBER, BOOLEAN, TIME, NAME, TEXT, JSON, PACKED = Kind
RUN: Final = column("run", NAME, "the run", key="runs.run")
TICK: Final = column("tick", INTEGER, "the tick, from 0 on", "ticks")
AT: Final = column("time", TIME, "simulated time at the beginning of the tick", "UTC")
AGENT: Final = column("agent", INTEGER, "the agent's number", key="agents.agent")

"""Tables of runs as data: their columns, with type, unit and meaning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum, unique
from typing import Final

import msgspec


@unique
class Kind(StrEnum):
    """The type of a column's values.

    `time`: simulated time in UTC, held as microseconds since 1970. `name`: one of a few texts that PRISM or a chart
    chose, such as a state. `text`: whatever people, models and files say. `json`: a value as JSON text.
    """

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"
    NAME = "name"
    TEXT = "text"
    JSON = "json"


Value = int | float | bool | str | None
"""A value of a column; None where there is none."""

Batch = Sequence[Sequence[Value]]
"""Some rows of a table: the values of each column, in the order of the columns."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a table.

    Args:
        about: its meaning.
        unit: of its numbers; empty without one.
        key: the column of another table that it joins with, as `table.column`; empty if there is none.
    """

    name: str
    kind: Kind
    about: str
    unit: str = ""
    key: str = ""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table of runs.

    Args:
        about: a row of it, in words.
        columns: in their order; the first is `RUN`.
        primary: the columns that name a row; empty if a row has no name.
        absent: the reason why a run has no such table, in words; empty if every run of the domain has one.
        varies: the further columns that a run may bring, in words; empty if there are none.
    """

    name: str
    about: str
    columns: tuple[Column, ...]
    primary: tuple[str, ...] = ()
    absent: str = ""
    varies: str = ""

    def with_columns(self, added: Iterable[Column]) -> Table:
        """Return the table with further columns at its end."""
        return msgspec.structs.replace(self, columns=(*self.columns, *added))


def column(name: str, kind: Kind, about: str, unit: str = "", key: str = "") -> Column:
    return Column(name=name, kind=kind, about=about, unit=unit, key=key)


INTEGER, NUMBER, BOOLEAN, TIME, NAME, TEXT, JSON = Kind
RUN: Final = column("run", NAME, "the run", key="runs.run")
TICK: Final = column("tick", INTEGER, "the tick, from 0 on", "ticks")
AT: Final = column("time", TIME, "simulated time at the beginning of the tick", "UTC")
AGENT: Final = column("agent", INTEGER, "the agent's number", key="agents.agent")

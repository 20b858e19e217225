"""Columns of Python as relations of DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import duckdb
import numpy as np

from prism.tables import Kind

Columns = Mapping[str, Any]
"""`{column: its values}` of some rows: an array, or a list with None for no value."""

TYPES: Final[Mapping[Kind, str]] = {
    Kind.INTEGER: "BIGINT",
    Kind.NUMBER: "DOUBLE",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TIME: "TIMESTAMP",
    **dict.fromkeys((Kind.NAME, Kind.TEXT, Kind.JSON, Kind.PACKED), "VARCHAR"),
}
"""The type of a column; a packed one is JSON."""


def registered(database: duckdb.DuckDBPyConnection, name: str, columns: Columns, types: Mapping[str, str]) -> str:
    """Register columns under a name, and return the query for their rows, with a type for each.

    A list is read as texts, which DuckDB turns into the type of the column.
    """
    arrays, cells = dict[str, np.ndarray[Any, Any]](), list[str]()
    for place, (column, values) in enumerate(columns.items()):
        cell = f"c{place}"
        arrays[cell] = values if isinstance(values, np.ndarray) else np.array([*values, None], object)[:-1]
        if types[column] == "TIMESTAMP":
            cell = f"make_timestamp({cell}::BIGINT)"
        cells.append(f"{cell}::{types[column]} AS {quoted(column)}")
    database.register(name, arrays)
    return f"SELECT {', '.join(cells)} FROM {name}"  # noqa: S608  # quoted


def numbers_and_texts(values: Any) -> Columns:
    """Return the values of an attribute as two columns: its numbers, and its texts. `values`: an array has numbers."""
    if isinstance(values, np.ndarray):
        return {"number": values.astype(np.float64)}
    numbers = [None if value is None or isinstance(value, str) else float(value) for value in values]
    return {"number": numbers, "text": [value if isinstance(value, str) else None for value in values]}


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def zoned(time: str) -> str:
    """Return the expression for a time in UTC as one with a zone. A cast would take ten times as long."""
    return f"make_timestamptz(epoch_us({time}))"

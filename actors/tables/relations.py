"""Columns of Python as relations of DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from actors.tables.arrow import Columns
from prism.tables import Kind

TYPES: Final[Mapping[Kind, str]] = {
    Kind.INTEGER: "BIGINT",
    Kind.NUMBER: "DOUBLE",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TIME: "TIMESTAMP",
    **dict.fromkeys((Kind.NAME, Kind.TEXT, Kind.JSON, Kind.PACKED), "VARCHAR"),
}
"""The type of a column; a packed one is JSON."""


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

"""Columns of Python as relations of DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from prism.cells import Cells, cells_of
from prism.tables import Kind

Columns = Mapping[str, Any]
"""`{column: its values}` of some rows: arrays, `Cells`, or a list with None for no value."""

TYPES: Final[Mapping[Kind, str]] = {
    Kind.INTEGER: "BIGINT",
    Kind.NUMBER: "DOUBLE",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TIME: "TIMESTAMP",
    **dict.fromkeys((Kind.NAME, Kind.TEXT, Kind.JSON, Kind.PACKED), "VARCHAR"),
}
"""The type of a column; a packed one is JSON."""
FORMULA_STARTS: Final = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20'"
"""The characters that begin a formula in some spreadsheet, and the apostrophe that is put in front of them.

Source: OWASP, "CSV injection".
"""
_KINDS: Final = {kind: name for name, kind in TYPES.items()}


def as_arrays(columns: Columns, types: Mapping[str, str]) -> dict[str, Any]:
    """Return columns as arrays that DuckDB takes. Those that have no type are left out."""
    return {name: _array(values, types[name]) for name, values in columns.items() if name in types}


def _array(values: Any, kind: str) -> Any:
    if isinstance(values, np.ndarray):
        values = Cells(values)
    elif not isinstance(values, Cells):
        values = Cells.of_texts(values) if kind == "VARCHAR" else cells_of(_KINDS[kind], values)
    if values.texts is not None:
        return np.array([*values.texts, None], object)[values.values]
    numbers = np.ascontiguousarray(values.values)
    if kind == "TIMESTAMP":
        numbers = numbers.astype(np.int64).view("datetime64[us]")
    return numbers if values.is_there is None else np.ma.masked_array(numbers, ~values.is_there)


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"

"""Files of tables, which DuckDB writes: CSV and Parquet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import duckdb
from msgspec.json import encode

from actors.core.errors import DiskFailedError
from actors.tables.arrow import TYPES, Columns, Stream, literal, quoted, zoned
from prism.tables import Column, Kind, Table

FORMATS: Final = ("parquet", "csv")
FORMULA_STARTS: Final = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20'"
"""The characters that begin a formula in some spreadsheet, and the apostrophe that is put in front of them.

Source: OWASP, "CSV injection".
"""
_TEXTS: Final = frozenset({Kind.NAME, Kind.TEXT, Kind.JSON})


def write_table(
    path: Path, database: duckdb.DuckDBPyConnection, table: Table, rows: str, facts: Mapping[str, str]
) -> int:
    """Write the rows of a query into a file, and return their number.

    CSV is as RFC 4180 has it, in UTF-8, with a line feed at the end of a line. Texts stand in quotes, and no
    spreadsheet takes one for a formula; a missing value is an empty cell without quotes.

    `facts`: about the files themselves, by name, if their format has a place for them.

    Raises:
        DiskFailedError: the disk is full.
    """
    is_csv = path.suffix == ".csv"
    if is_csv:
        cells = ", ".join(map(_in_csv, table.columns))
        texts = ", ".join(quoted(_guarded(column.name)) for column in table.columns if column.kind in _TEXTS)
        # A header of DuckDB's own would leave the names of numbers without quotes.
        head = ",".join(quoted(_guarded(column.name)) for column in table.columns) + "\n"
        options = f"FORMAT csv, HEADER false, PREFIX {literal(head)}, SUFFIX '\n'"
        options += texts and f", FORCE_QUOTE ({texts})"
    else:
        columns = {each.name: {"description": each.about, "unit": each.unit} for each in table.columns}
        told = {**facts, "table": table.name, "description": table.about, "columns": encode(columns).decode()}
        pairs = ", ".join(f"{quoted(name)}: {literal(value)}" for name, value in told.items())
        names = ((quoted(each.name), each.kind is Kind.TIME) for each in table.columns)
        cells = ", ".join(f"{zoned(name)} AS {name}" if is_time else name for name, is_time in names)
        options = "FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, DICTIONARY_SIZE_LIMIT 4096, "
        options += f"KV_METADATA {{{pairs}}}"
    # DuckDB takes names in UTF-8 alone, and the name of a directory need not be: Linux's link to it has such a name.
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        is_utf8 = str(path).encode(errors="ignore").decode() == str(path)
        place = literal(str(path) if is_utf8 else f"/proc/self/fd/{directory}/{path.name}")
        copied = f"COPY (SELECT {cells} FROM ({rows})) TO {place} ({options})"  # noqa: S608  # quoted
        ((count,),) = database.execute(copied).fetchall()
    except duckdb.IOException as error:
        raise DiskFailedError(f"{path}: cannot be written: {error}") from None
    finally:
        os.close(directory)
    if not count and is_csv:
        path.write_text(head)  # without the line end of the last row
    return int(count)


def write_columns(path: Path, table: Table, columns: Columns, facts: Mapping[str, str]) -> None:
    """Write one table of values in memory. The arguments are as for `write_table`."""
    with duckdb.connect() as database:
        database.execute("SET timezone='UTC'")
        types = {each.name: TYPES[each.kind] for each in table.columns}
        database.register("given", Stream(types, lambda: [columns]))
        write_table(path, database, table, "FROM given", facts)


def _guarded(text: str) -> str:
    return f"'{text}" if not text or text[0] in FORMULA_STARTS else text


def _in_csv(column: Column) -> str:
    """Return the expression for the cell of a column.

    A text that begins like a formula, or with an apostrophe, gets an apostrophe in front. An empty text becomes an
    apostrophe, because an empty cell means no value. A time is ISO 8601 in UTC, such as
    `2026-01-01 00:24:00.000000+00:00`: every value has the same length, so texts sort as times do.
    """
    cell = name = quoted(column.name)
    if column.kind in _TEXTS:
        cell = f"CASE WHEN contains({literal(FORMULA_STARTS)}, left({name}, 1)) THEN '''' || {name} ELSE {name} END"
    elif column.kind is Kind.TIME:
        cell = f"strftime({name}, '%Y-%m-%d %H:%M:%S.%f+00:00')"
    return f"{cell} AS {quoted(_guarded(column.name))}"

"""Exported tables, read back by other readers than those that wrote them: one for each format."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars

from actors.tables.export import Exported, export
from actors.tables.schema import shipped_tables
from prism.tables import AT, Kind

TABLES = shipped_tables()

Row = dict[str, Any]
Read = dict[str, list[Row]]
"""`{table: its rows}`, each with its values by column; times as `datetime` in UTC."""


def kinds_of(table: str) -> Mapping[str, Kind]:
    """Return the kind of each column of the schema, and of the texts that tests declare as attributes."""
    columns = TABLES[table].columns if table in TABLES else (AT,)
    return {"attribute_note": Kind.TEXT, **{column.name: column.kind for column in columns}}


def exported(form: str, out: Path, *runs: Path, names: tuple[str, ...] = ()) -> tuple[Exported, Read]:
    """Return what the export of some runs says it wrote, and what it wrote."""
    done = export(runs, form, out, names)
    return done, READERS[form](out)


def read_csv(directory: Path) -> Read:
    """Read CSV files with Python's csv, by the rules of docs/tables.md."""
    found: Read = {}
    for path in sorted(directory.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            names, *lines = csv.reader(file, strict=True)
        kinds = kinds_of(path.stem)
        found[path.stem] = [
            {name: _from_csv(cell, kinds.get(name)) for name, cell in zip(names, line, strict=True)} for line in lines
        ]
    return found


def _from_csv(cell: str, kind: Kind | None) -> Any:
    if not cell:
        return None
    if kind is Kind.TIME:
        return datetime.fromisoformat(cell)
    if kind is Kind.BOOLEAN:
        return {"true": True, "false": False}[cell]
    if kind in (Kind.NAME, Kind.TEXT, Kind.JSON):
        return cell[1:] if cell.startswith("'") else cell
    if kind is None:
        return _guessed(cell)
    return int(cell) if kind is Kind.INTEGER else float(cell)


def _guessed(cell: str) -> Any:
    for convert in (int, float):
        try:
            return convert(cell)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(cell, cell.removeprefix("'"))


def read_sqlite(directory: Path) -> Read:
    """Read the database, with the types that it declares."""
    with closing(sqlite3.connect(directory / "tables.sqlite")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: _table_of(database, name) for name in sorted(names)}


def _table_of(database: sqlite3.Connection, name: str) -> list[Row]:
    types = {row[1]: row[2] for row in database.execute(f'PRAGMA table_info("{name}")')}
    convert: dict[str, Callable[[Any], Any]] = {"TIMESTAMP": datetime.fromisoformat, "BOOLEAN": bool}
    rows = database.execute(f'SELECT * FROM "{name}" ORDER BY rowid')  # a name of the schema
    return [
        {
            column: None if value is None else convert.get(kind, lambda same: same)(value)
            for (column, kind), value in zip(types.items(), row, strict=True)
        }
        for row in rows
    ]


def read_parquet(directory: Path) -> Read:
    """Read Parquet files with polars."""
    return {path.stem: polars.read_parquet(path).to_dicts() for path in sorted(directory.glob("*.parquet"))}


READERS: Final[Mapping[str, Callable[[Path], Read]]] = {
    "csv": read_csv,
    "sqlite": read_sqlite,
    "parquet": read_parquet,
}


def moment(epoch: str, seconds: float) -> datetime:
    """Return an instant after an epoch, in UTC."""
    return datetime.fromtimestamp(datetime.fromisoformat(epoch).timestamp() + seconds, UTC)

"""Exported tables, read back by other readers than those that wrote them: one for each format."""

import csv
from collections.abc import Callable, Mapping
from contextlib import suppress
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


TRUTHS = {"true": True, "false": False}
CONVERSIONS: Mapping[Kind, Callable[[str], Any]] = {
    Kind.TIME: datetime.fromisoformat,
    Kind.BOOLEAN: TRUTHS.__getitem__,
    Kind.INTEGER: int,
    Kind.NUMBER: float,
}


def _from_csv(cell: str, kind: Kind | None) -> Any:
    if not cell:
        return None
    if kind is not None:
        return CONVERSIONS[kind](cell) if kind in CONVERSIONS else cell.removeprefix("'")
    for convert in (int, float, TRUTHS.__getitem__):  # a column that the run has brought
        with suppress(ValueError, KeyError):
            return convert(cell)
    return cell.removeprefix("'")


def read_parquet(directory: Path) -> Read:
    return {path.stem: polars.read_parquet(path).to_dicts() for path in sorted(directory.glob("*.parquet"))}


READERS: Final[Mapping[str, Callable[[Path], Read]]] = {"csv": read_csv, "parquet": read_parquet}


def moment(epoch: str, seconds: float) -> datetime:
    return datetime.fromtimestamp(datetime.fromisoformat(epoch).timestamp() + seconds, UTC)

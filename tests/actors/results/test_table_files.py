"""Files of tables: every value comes back as it went in, in each format, and no text becomes anything but data."""

from __future__ import annotations

import csv
import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet

from actors.results.schema import shipped_tables
from actors.results.table_files import CsvFiles, ParquetFiles, SqliteFile, TableFiles, csv_text
from prism.tables import Column, Kind, Table
from tests.catalogue import catalogue
from tests.hostile_texts import SPREADSHEET, TEXTS

TABLES = shipped_tables()

FORMATS: dict[str, Callable[[Path], TableFiles]] = {"csv": CsvFiles, "sqlite": SqliteFile, "parquet": ParquetFiles}
KINDS = (Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN, Kind.TIME, Kind.NAME, Kind.TEXT, Kind.JSON)
TABLE = Table(
    name="values",
    about="some values",
    columns=tuple(Column(name=str(kind), kind=kind, about="a value", unit="points") for kind in KINDS),
)


def text_in_csv(cell: str) -> str | None:
    """Return the text that a cell stands for, once a reader of CSV has taken off its quotes; None for no value."""
    return cell.removeprefix("'") if cell else None


def write(form: str, directory: Path, *batches: list[list[Any]]) -> Path:
    """Write a table of values into a directory."""
    files = FORMATS[form](directory)
    files.begin(TABLE)
    for batch in batches:
        files.write(TABLE, batch)
    files.close({"prism": "1"})
    files.discard()
    return directory


def texts_of(form: str, directory: Path) -> list[list[str | None]]:
    """Return the three columns of texts."""
    if form == "csv":
        with (directory / "values.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file, strict=True))[1:]
        return [[text_in_csv(line[place]) for line in lines] for place in (4, 5, 6)]
    if form == "sqlite":
        with closing(sqlite3.connect(directory / "tables.sqlite")) as database:
            rows = database.execute('SELECT name, text, json FROM "values"').fetchall()
        return [list(column) for column in zip(*rows, strict=True)]
    read = pyarrow.parquet.read_table(directory / "values.parquet")
    return [read[name].to_pylist() for name in ("name", "text", "json")]


@catalogue("form", FORMATS)
def test_hostile_texts_come_back_as_they_were(form: str, tmp_path: Path) -> None:
    texts: list[Any] = [*TEXTS.values(), None]
    nothing = [None] * len(texts)
    write(form, tmp_path, [nothing, nothing, nothing, nothing, texts, texts, texts])
    assert texts_of(form, tmp_path) == [texts, texts, texts]
    if form == "csv":  # no cell begins a formula
        with (tmp_path / "values.csv").open(encoding="utf-8", newline="") as file:
            cells = [cell for line in list(csv.reader(file, strict=True))[1:-1] for cell in line[4:]]
        assert all(cell and cell[0] not in "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20" for cell in cells)
        assert all(csv_text(text).startswith('"') for text in SPREADSHEET.values())


@catalogue("form", FORMATS)
def test_numbers_times_and_missing_values_come_back(form: str, tmp_path: Path) -> None:
    integers = [0, -1, 2**53 - 1, None]
    numbers = [0.1, -1e300, math.inf, None]
    empty = [None] * 4
    first: list[list[Any]] = [
        integers,
        numbers,
        [True, False, None, True],
        [0, -1, 1_767_225_600_000_001, None],
        empty,
        empty,
        empty,
    ]
    second: list[list[Any]] = [[7], [2.0], [False], [1], ["a"], ["b"], ["c"]]
    write(form, tmp_path, first, second)
    if form == "csv":
        with (tmp_path / "values.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))[1:]
        assert [int(line[0]) if line[0] else None for line in lines] == [*integers, 7]
        assert [float(line[1]) if line[1] else None for line in lines] == [*numbers, 2.0]
        assert [line[2] for line in lines] == ["true", "false", "", "true", "false"]
        assert lines[2][3] == "2026-01-01 00:00:00.000001+00:00"
    elif form == "sqlite":
        with closing(sqlite3.connect(tmp_path / "tables.sqlite")) as database:
            rows = database.execute('SELECT integer, number, boolean, time, typeof(number) FROM "values"').fetchall()
        assert [row[:2] for row in rows] == [*zip(integers, numbers, strict=True), (7, 2.0)]
        assert [row[2] for row in rows] == [1, 0, None, 1, 0]
        assert rows[0][3:] == ("1970-01-01 00:00:00.000000+00:00", "real")
    else:
        read = pyarrow.parquet.read_table(tmp_path / "values.parquet")
        assert read["integer"].to_pylist() == [*integers, 7]
        assert read["number"].to_pylist() == [*numbers, 2.0]
        assert read["boolean"].to_pylist() == [True, False, None, True, False]
        assert [None if each is None else each.timestamp() for each in read["time"].to_pylist()] == [
            0.0,
            -1e-6,
            1_767_225_600.000001,
            None,
            1e-6,
        ]


def test_parquet_says_types_units_and_meanings(tmp_path: Path) -> None:
    write("parquet", tmp_path, [["1"] if kind in KINDS[4:] else [None] for kind in KINDS])
    file = pyarrow.parquet.ParquetFile(tmp_path / "values.parquet")
    assert [str(field.type) for field in file.schema_arrow] == [
        "int64",
        "double",
        "bool",
        "timestamp[us, tz=UTC]",
        "dictionary<values=string, indices=int32, ordered=0>",
        "string",
        "string",
    ]
    assert file.schema_arrow.field("number").metadata == {b"description": b"a value", b"unit": b"points"}
    assert file.metadata.metadata[b"prism"] == b"1"
    assert file.schema_arrow.metadata[b"description"] == b"some values"
    assert {file.metadata.row_group(0).column(place).compression for place in range(7)} == {"ZSTD"}


def test_a_database_has_indexes_on_keys_and_takes_a_key_twice(tmp_path: Path) -> None:
    files = SqliteFile(tmp_path)
    files.begin(TABLES["rounds"])
    files.begin(TABLES["feeds"])
    files.write(TABLES["rounds"], [["a", "a"], [1, 1], [24, 24], [0, 0]])
    files.close({})
    with closing(sqlite3.connect(tmp_path / "tables.sqlite")) as database:
        found = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'index'")]
        assert database.execute("SELECT count(*) FROM rounds").fetchone() == (2,)
    assert sorted(found) == ["feeds_run_agent", "feeds_run_post", "rounds_run_round"]

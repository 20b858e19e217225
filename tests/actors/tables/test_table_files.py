"""Files of tables and columns of Python as DuckDB reads them: every value comes back as it went in."""

import csv
import json
import math
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pytest

from actors.tables.arrow import Coded, Stream
from actors.tables.files import FORMATS, write_columns
from prism.rows import Heap
from prism.tables import Column, Kind, Table
from tests.catalogue import catalogue
from tests.hostile_texts import TEXTS

KINDS = (Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN, Kind.TIME, Kind.NAME, Kind.TEXT, Kind.JSON)
TABLE = Table(
    name="values",
    about="some values",
    columns=tuple(Column(name=str(kind), kind=kind, about="a value", unit="points") for kind in KINDS),
)


def cells_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, strict=True))[1:]


def write(form: str, directory: Path, *columns: list[Any]) -> Path:
    path, names = directory / f"values.{form}", [column.name for column in TABLE.columns]
    write_columns(path, TABLE, dict(zip(names, columns, strict=True)), {"prism": "1"})
    return path


@catalogue("form", FORMATS)
def test_hostile_texts_come_back_as_they_were(form: str, tmp_path: Path) -> None:
    texts: list[Any] = [*TEXTS.values(), None]
    path = write(form, tmp_path, *[[None] * len(texts)] * 4, texts, texts, texts)
    if form == "parquet":
        read = polars.read_parquet(path)
        assert [read[name].to_list() for name in ("name", "text", "json")] == [texts] * 3
        return
    lines = cells_of(path)
    for place in (4, 5, 6):
        assert [line[place].removeprefix("'") if line[place] else None for line in lines] == texts
    # No cell begins a formula, and every text stands in quotes.
    cells = [cell for line in lines[:-1] for cell in line[4:]]
    assert all(cell and cell[0] not in "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20" for cell in cells)
    assert path.read_bytes().endswith(b"\n,,,,,,\n")


@catalogue("form", FORMATS)
def test_numbers_times_and_missing_values_come_back(form: str, tmp_path: Path) -> None:
    integers = [0, -1, 2**53 - 1, None, 7]
    numbers = [0.1, -1e300, math.inf, None, 2.0]
    booleans = [True, False, None, True, False]
    texts: list[str | None] = [None, None, None, None, "a"]
    times = [0, -1, 1_767_225_600_000_001, None, 1]
    path = write(form, tmp_path, integers, numbers, booleans, times, texts, texts, texts)
    if form == "csv":
        lines = cells_of(path)
        assert [int(line[0]) if line[0] else None for line in lines] == integers
        assert [line[1] for line in lines] == ["0.1", "-1e+300", "inf", "", "2.0"]
        assert [line[2] for line in lines] == ["true", "false", "", "true", "false"]
        assert lines[2][3] == "2026-01-01 00:00:00.000001+00:00"
        assert lines[1][3] == "1969-12-31 23:59:59.999999+00:00"
        return
    read = polars.read_parquet(path)
    assert [read[name].to_list() for name in ("integer", "number", "boolean")] == [integers, numbers, booleans]
    seconds = [None if each is None else each.timestamp() for each in read["time"].to_list()]
    assert seconds == [0.0, -1e-6, 1_767_225_600.000001, None, 1e-6]


def test_parquet_says_types_units_and_meanings(tmp_path: Path) -> None:
    path = write("parquet", tmp_path, *([["1"] if kind in KINDS[4:] else [None] for kind in KINDS]))
    time = "Datetime(time_unit='us', time_zone='UTC')"
    expected = ["Int64", "Float64", "Boolean", time, "String", "String", "String"]
    assert [str(kind) for kind in polars.read_parquet_schema(path).values()] == expected
    pairs = duckdb.execute(f"SELECT key, value FROM parquet_kv_metadata('{path}')").fetchall()
    told = {bytes(key): bytes(value) for key, value in pairs}
    assert json.loads(told[b"columns"])["number"] == {"description": "a value", "unit": "points"}
    assert (told[b"prism"], told[b"table"], told[b"description"]) == (b"1", b"values", b"some values")
    codecs = duckdb.execute(f"SELECT DISTINCT compression FROM parquet_metadata('{path}')").fetchall()
    assert codecs == [("ZSTD",)]


TYPES = {
    "whole": "BIGINT",
    "small": "SMALLINT",
    "number": "DOUBLE",
    "truth": "BOOLEAN",
    "time": "TIMESTAMP",
    "text": "VARCHAR",
    "heap": "VARCHAR",
    "code": "VARCHAR",
    "bytes": "BLOB",
    "nothing": "VARCHAR",
}


def block(start: int) -> dict[str, Any]:
    return {
        "whole": np.arange(start, start + 3),
        "small": np.array([1, 2, 3], np.uint8),
        "number": np.array([0.5, np.nan, -1.0]),
        "truth": [True, None, False],
        "time": [0, None, 1_000_000],
        "text": ["a text of more than twelve bytes", None, ""],
        "heap": Heap.of([b"", "zwölf".encode(), b"x"]),
        "code": Coded(np.array([1, -1, 0]), ("no", "yes")),
        "bytes": Heap.of([b"\x00", b"", b"\xff"]),
    }


def test_each_value_is_what_it_was_and_each_scan_reads_anew() -> None:
    with duckdb.connect() as database:
        database.register("given", Stream(TYPES, lambda: [block(0), block(3)], ["code"]))
        for _ in range(2):
            rows = database.execute("SELECT * FROM given").fetchall()
            assert [row[0] for row in rows] == [*range(6)]
            assert [row[1:] for row in rows[:3]] == [row[1:] for row in rows[3:]]
        found = dict(zip(TYPES, zip(*rows[:3], strict=True), strict=True))
    assert found == {
        "whole": (0, 1, 2),
        "small": (1, 2, 3),
        "number": (0.5, None, -1.0),
        "truth": (True, None, False),
        "time": (datetime(1970, 1, 1), None, datetime(1970, 1, 1, 0, 0, 1)),  # DuckDB's
        "text": ("a text of more than twelve bytes", None, ""),
        "heap": ("", "zwölf", "x"),
        "code": ("yes", None, "no"),
        "bytes": (b"\x00", b"", b"\xff"),
        "nothing": (None, None, None),
    }


def test_an_error_of_reading_ends_the_query_and_is_kept() -> None:
    def torn() -> Iterator[dict[str, Any]]:
        yield block(0)
        raise OSError("the disk is gone")

    with duckdb.connect() as database:
        stream = Stream(TYPES, torn, ["code"])
        database.register("given", stream)
        with pytest.raises(duckdb.Error, match="its rows cannot be read"):
            database.execute("SELECT count(*) FROM given").fetchall()
    assert str(stream.error) == "the disk is gone"

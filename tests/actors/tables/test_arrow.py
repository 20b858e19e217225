"""Columns of Python as DuckDB reads them, without pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import duckdb
import numpy as np
import pytest

from actors.tables.arrow import PART_ROWS, Coded, Stream, parts_of
from prism.rows import Heap

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
    assert found["small"] == (1, 2, 3)
    assert found["number"] == (0.5, None, -1.0)
    assert found["truth"] == (True, None, False)
    assert found["time"] == (datetime(1970, 1, 1), None, datetime(1970, 1, 1, 0, 0, 1))  # DuckDB's
    assert found["text"] == ("a text of more than twelve bytes", None, "")
    assert found["heap"] == ("", "zwölf", "x")
    assert found["code"] == ("yes", None, "no")
    assert found["bytes"] == (b"\x00", b"", b"\xff")
    assert found["nothing"] == (None, None, None)


def test_many_rows_come_some_at_a_time_and_in_their_order() -> None:
    columns = {"whole": np.arange(2 * PART_ROWS + 1), "code": Coded(np.zeros(2 * PART_ROWS + 1, np.int32), ("one",))}
    with duckdb.connect() as database:
        types = {name: TYPES[name] for name in columns}
        database.register("given", Stream(types, lambda: parts_of(columns), ["code"]))
        rows = database.execute("SELECT whole, code FROM given").fetchnumpy()
    assert rows["whole"].tolist() == [*range(2 * PART_ROWS + 1)]
    assert {*rows["code"].tolist()} == {"one"}


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

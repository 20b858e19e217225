"""Files of tables: CSV and one SQLite database, which Python alone can write, and Parquet."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

import numpy as np
from numpy.typing import NDArray

from actors.core.errors import DiskFailedError, RunDirectoryError
from actors.core.machine import not_installed
from prism.cells import Cells, Filled, as_list, cells_of, together
from prism.tables import Kind, Table, Value

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

Batch = Sequence[Filled]
"""Some rows of a table: the values of each column, in the order of the columns."""

DATABASE: Final = "tables.sqlite"
FORMULA_STARTS: Final = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20'"
"""The characters that begin a formula in some spreadsheet, and the apostrophe that is put in front of them.

Source: OWASP, "CSV injection".
"""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SQL_TYPES: Final[Mapping[Kind, str]] = {
    Kind.INTEGER: "INTEGER",
    Kind.NUMBER: "REAL",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TIME: "TIMESTAMP",
    Kind.NAME: "TEXT",
    Kind.TEXT: "TEXT",
    Kind.JSON: "TEXT",
}


class TableFiles(Protocol):
    """The files of some tables, in a directory that holds nothing else."""

    def begin(self, table: Table) -> None:
        """Create a table without rows."""

    def write(self, table: Table, batch: Batch) -> None:
        """Append rows to a table that has begun."""

    def close(self, facts: Mapping[str, str]) -> None:
        """Complete all files.

        `facts`: facts about the files themselves, by name, if their format has a place for them.
        """

    def discard(self) -> None:
        """Close all files, complete or not: they are about to be removed. It raises nothing."""


class CsvFiles:
    """A CSV file for each table, as RFC 4180 has them, in UTF-8, with a line feed at the end of a line.

    Texts stand in quotes; a missing value is an empty cell without quotes.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[str, TextIO] = {}

    def begin(self, table: Table) -> None:
        """Create the file of a table, with the names of its columns."""
        path = self._directory / f"{table.name}.csv"
        file = self._files[table.name] = path.open("w", encoding="utf-8", newline="")
        file.write(",".join(csv_text(column.name) for column in table.columns) + "\n")

    def write(self, table: Table, batch: Batch) -> None:
        cells = [_in_csv(_CELLS[column.kind], values) for column, values in zip(table.columns, batch, strict=True)]
        self._files[table.name].writelines(f"{line}\n" for line in map(",".join, zip(*cells, strict=True)))

    def close(self, facts: Mapping[str, str]) -> None:  # noqa: ARG002  # CSV has no place for them
        while self._files:
            self._files.popitem()[1].close()

    def discard(self) -> None:
        while self._files:
            with suppress(OSError):  # on a full disk there is no room for the rows that are still in memory
                self._files.popitem()[1].close()


def csv_text(text: str) -> str:
    """Return a text as a cell of CSV: no spreadsheet takes it for a formula.

    A text that begins like a formula, or with an apostrophe, gets an apostrophe in front. An empty text becomes an
    apostrophe, because an empty cell means no value.
    """
    if not text or text[0] in FORMULA_STARTS:
        text = "'" + text
    return '"' + text.replace('"', '""') + '"'


@lru_cache(maxsize=4096)
def iso_time(microseconds: int) -> str:
    """Return simulated time as ISO 8601 in UTC, such as `2026-01-01 00:24:00.000000+00:00`.

    Every value has the same length, so texts sort as times do.
    """
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat(" ", "microseconds")


_CELLS: Final[Mapping[Kind, Callable[[Any], str]]] = {
    Kind.INTEGER: str,
    Kind.NUMBER: repr,
    Kind.BOOLEAN: lambda value: "true" if value else "false",
    Kind.TIME: iso_time,
    Kind.NAME: lru_cache(maxsize=4096)(csv_text),
    Kind.TEXT: csv_text,
    Kind.JSON: csv_text,
}


def _in_csv(convert: Callable[[Any], str], values: Filled) -> Iterable[str]:
    if isinstance(values, Cells):
        return (cell or "" for cell in values.listed(convert))
    return ("" if value is None else convert(value) for value in values)


class SqliteFile:
    """One SQLite database with all tables, and indexes on their keys."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / DATABASE
        self._tables: list[Table] = []
        with self._writing():
            # The whole directory is discarded if anything fails, so no journal is needed, and no sync.
            self._database = sqlite3.connect(self.path, isolation_level=None)
            for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
                self._database.execute(f"PRAGMA {pragma}")
            self._database.execute("BEGIN")

    def begin(self, table: Table) -> None:
        columns = ", ".join(f"{_quoted(column.name)} {_SQL_TYPES[column.kind]}" for column in table.columns)
        with self._writing():
            self._database.execute(f"CREATE TABLE {_quoted(table.name)} ({columns})")
        self._tables.append(table)

    def write(self, table: Table, batch: Batch) -> None:
        values = [
            [None if value is None else iso_time(int(value)) for value in as_list(cells)]
            if column.kind is Kind.TIME
            else as_list(cells)
            for column, cells in zip(table.columns, batch, strict=True)
        ]
        places = ",".join("?" * len(values))
        with self._writing():
            rows = zip(*values, strict=True)
            self._database.executemany(f"INSERT INTO {_quoted(table.name)} VALUES ({places})", rows)  # noqa: S608  # quoted

    def close(self, facts: Mapping[str, str]) -> None:  # noqa: ARG002  # the table of runs has them
        """Add the indexes, and complete the file."""
        with self._writing():
            for table in self._tables:
                for columns in _indexes(table):
                    self._index(table, columns)
            if self._database.in_transaction:
                self._database.execute("COMMIT")
        self._database.close()

    def _index(self, table: Table, columns: tuple[str, ...]) -> None:
        """Add an index. No index is unique: a user's own domain may give two posts the same number."""
        name, listed = "_".join((table.name, *columns)), ", ".join(map(_quoted, columns))
        self._database.execute(f"CREATE INDEX {_quoted(name)} ON {_quoted(table.name)} ({listed})")

    def discard(self) -> None:
        self._database.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise DiskFailedError(f"{self.path}: cannot be written: {error}") from None


def _indexes(table: Table) -> Iterator[tuple[str, ...]]:
    """Yield the columns of each index of a table: what names a row, and what joins with other tables."""
    if table.primary:
        yield table.primary
    for column in table.columns:
        if column.key and column.name != "run" and ("run", column.name) != table.primary:
            yield ("run", column.name)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


WITHOUT_PYARROW: Final = f"{not_installed('--to parquet needs pyarrow', 'export')}; csv and sqlite need nothing"


class ParquetFiles:
    """A Parquet file for each table, compressed with zstd."""

    def __init__(self, directory: Path) -> None:
        try:
            import pyarrow  # noqa: PLC0415  # an optional package
            import pyarrow.parquet  # noqa: PLC0415
        except ImportError:
            raise RunDirectoryError(WITHOUT_PYARROW) from None
        self._arrow: Any = pyarrow
        self._directory = directory
        self._writers: dict[str, pyarrow.parquet.ParquetWriter] = {}
        self._schemas: dict[str, pyarrow.Schema] = {}

    def begin(self, table: Table) -> None:
        """Create the file of a table."""
        schema = self._schemas[table.name] = self._schema(table)
        whole = {column.name for column in table.columns if column.kind in (Kind.INTEGER, Kind.TIME)}
        texts = [column.name for column in table.columns if column.kind in (Kind.NAME, Kind.TEXT, Kind.JSON)]
        self._writers[table.name] = self._arrow.parquet.ParquetWriter(
            self._directory / f"{table.name}.parquet",
            schema,
            compression="zstd",
            use_dictionary=texts,
            # Ids, ticks and times mostly ascend: four times as fast as a dictionary of them, and smaller.
            column_encoding=dict.fromkeys(whole, "DELTA_BINARY_PACKED"),
        )

    def write(self, table: Table, batch: Batch) -> None:
        """Append rows, as one row group."""
        schema = self._schemas[table.name]
        arrays = [
            self._array(cells_of(column.kind, values), field.type)
            for column, values, field in zip(table.columns, batch, schema, strict=True)
        ]
        self._writers[table.name].write_batch(self._arrow.RecordBatch.from_arrays(arrays, schema=schema))

    def _array(self, cells: Cells, kind: Any) -> Any:
        # Of buffers: pyarrow imports pandas, if it is there, to look at arrays of numpy, which takes 0.3 s.
        arrow, count, numbers = self._arrow, len(cells), cells.values
        is_there = numbers >= 0 if cells.texts is not None else cells.is_there
        bits = None if is_there is None else arrow.py_buffer(np.packbits(is_there, bitorder="little"))
        if cells.texts is not None:
            codes = arrow.py_buffer(np.maximum(numbers, 0).astype(np.int32))
            indices = arrow.Array.from_buffers(arrow.int32(), count, [bits, codes])
            data, lengths = "".join(cells.texts).encode(), [*map(len, cells.texts)]
            if sum(lengths) < len(data):  # not all characters have one byte
                lengths = [len(text.encode()) for text in cells.texts]
            ends = np.cumsum([0, *lengths]).astype(np.int32)
            texts = arrow.StringArray.from_buffers(len(lengths), *map(arrow.py_buffer, (ends, data)))
            found = arrow.DictionaryArray.from_arrays(indices, texts)
            return found if arrow.types.is_dictionary(kind) else found.dictionary_decode()
        if arrow.types.is_boolean(kind):
            numbers = np.packbits(numbers, bitorder="little")
        else:
            numbers = numbers.astype(np.float64 if arrow.types.is_floating(kind) else np.int64)
        return arrow.Array.from_buffers(kind, count, [bits, arrow.py_buffer(np.ascontiguousarray(numbers))])

    def close(self, facts: Mapping[str, str]) -> None:
        """Complete the files, with these facts in the metadata of each."""
        while self._writers:
            writer = self._writers.popitem()[1]
            writer.add_key_value_metadata(facts)
            writer.close()

    def discard(self) -> None:
        while self._writers:
            with suppress(OSError):
                self._writers.popitem()[1].close()

    def _schema(self, table: Table) -> pyarrow.Schema:
        arrow = self._arrow
        types = {
            Kind.INTEGER: arrow.int64(),
            Kind.NUMBER: arrow.float64(),
            Kind.BOOLEAN: arrow.bool_(),
            Kind.TIME: arrow.timestamp("us", tz="UTC"),
            Kind.NAME: arrow.dictionary(arrow.int32(), arrow.string()),
            Kind.TEXT: arrow.string(),
            Kind.JSON: arrow.string(),
        }
        fields = [
            self._arrow.field(
                column.name, types[column.kind], metadata={"description": column.about, "unit": column.unit}
            )
            for column in table.columns
        ]
        return self._arrow.schema(fields, metadata={"table": table.name, "description": table.about})


BATCH_ROWS: Final = 1 << 16
"""Rows of one batch. It bounds the memory that an export takes, and is a row group of Parquet."""


class Rows:
    """The rows of one table that wait to be written.

    `table`: the table; its file is begun with its first row, or by `begin`.
    """

    def __init__(self, table: Table, files: TableFiles) -> None:
        self.table = table
        self.written = 0
        self.has_begun = False
        """True if there is a file of this table."""
        self._files = files
        self._parts: list[Batch] = []
        self._waiting = 0

    def begin(self) -> None:
        """Create the table, though it may stay without rows."""
        if not self.has_begun:
            self.has_begun = True
            self._files.begin(self.table)

    def add(self, *values: Value) -> None:
        """Add a row: a value for each column; None for the columns that are left out at the end."""
        missing = len(self.table.columns) - len(values)
        if missing < 0:
            problem = f"has {len(values)} values, and {len(self.table.columns)} columns"
            raise ValueError(f"a row of {self.table.name} {problem}")
        self.extend(*([value] for value in (*values, *repeat(None, missing))))

    def extend(self, *columns: Filled | NDArray[Any]) -> None:
        """Add rows, given as columns of equal lengths, in the order of the table's columns."""
        self._parts.append([Cells(each) if isinstance(each, np.ndarray) else each for each in columns])
        self._waiting += len(columns[0])
        if self._waiting >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        self.begin()
        columns = [*map(together, zip(*self._parts, strict=True))]
        for start in range(0, self._waiting, BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            self._files.write(
                self.table, [each.at(part).few() if isinstance(each, Cells) else each[part] for each in columns]
            )
        self.written += self._waiting
        self._parts, self._waiting = [], 0

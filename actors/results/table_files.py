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

from actors.core.errors import DiskFailedError, RunDirectoryError
from actors.core.machine import not_installed
from prism.tables import Batch, Kind, Table, Value

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

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
        cells = [map(_CELLS[column.kind], values) for column, values in zip(table.columns, batch, strict=True)]
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


_cached_text = lru_cache(maxsize=4096)(csv_text)


def _cell(convert: Callable[[Any], str]) -> Callable[[Value], str]:
    return lambda value: "" if value is None else convert(value)


_CELLS: Final[Mapping[Kind, Callable[[Value], str]]] = {
    Kind.INTEGER: _cell(str),
    Kind.NUMBER: _cell(repr),
    Kind.BOOLEAN: _cell(lambda value: "true" if value else "false"),
    Kind.TIME: _cell(iso_time),
    Kind.NAME: _cell(_cached_text),
    Kind.TEXT: _cell(csv_text),
    Kind.JSON: _cell(csv_text),
}


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
            [None if value is None else iso_time(int(value)) for value in values]
            if column.kind is Kind.TIME
            else values
            for column, values in zip(table.columns, batch, strict=True)
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
        path = self._directory / f"{table.name}.parquet"
        self._writers[table.name] = self._arrow.parquet.ParquetWriter(path, schema, compression="zstd")

    def write(self, table: Table, batch: Batch) -> None:
        """Append rows, as one row group."""
        schema = self._schemas[table.name]
        arrays = [self._arrow.array(values, type=field.type) for values, field in zip(batch, schema, strict=True)]
        self._writers[table.name].write_batch(self._arrow.RecordBatch.from_arrays(arrays, schema=schema))

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


BATCH_ROWS = 1 << 16
"""Rows of one batch, or a few more. It bounds the memory that an export takes, and is a row group of Parquet."""


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
        self._columns: list[list[Value]] = [[] for _ in table.columns]

    def begin(self) -> None:
        """Create the table, though it may stay without rows."""
        if not self.has_begun:
            self.has_begun = True
            self._files.begin(self.table)

    def add(self, *values: Value) -> None:
        """Add a row: a value for each column; None for the columns that are left out at the end."""
        missing = len(self._columns) - len(values)
        if missing < 0:
            raise ValueError(f"a row of {self.table.name} has {len(values)} values, and {len(self._columns)} columns")
        self.extend([[value] for value in (*values, *repeat(None, missing))])

    def extend(self, columns: Sequence[Iterable[Value]]) -> None:
        """Add rows, given as columns of equal lengths."""
        for column, values in zip(self._columns, columns, strict=True):
            column.extend(values)
        if len(self._columns[0]) >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        count = len(self._columns[0])
        if not count:
            return
        self.begin()
        self._files.write(self.table, self._columns)
        self.written += count
        for column in self._columns:
            column.clear()

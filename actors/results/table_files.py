"""Files of tables that Python alone can write: CSV, and one SQLite database. Parquet is in `parquet_files`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

from actors.core.errors import DiskFailedError
from prism.tables import Batch, Kind, Table, Value

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
        """Append rows."""
        cells = [map(_CELLS[column.kind], values) for column, values in zip(table.columns, batch, strict=True)]
        self._files[table.name].writelines(f"{line}\n" for line in map(",".join, zip(*cells, strict=True)))

    def close(self, facts: Mapping[str, str]) -> None:  # noqa: ARG002  # CSV has no place for them
        """Complete the files."""
        while self._files:
            self._files.popitem()[1].close()

    def discard(self) -> None:
        """Close the files."""
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
        """Append rows."""
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
        """Close the database."""
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


BATCH_ROWS = 1 << 16
"""Rows of one batch, or a few more. It bounds the memory that an export takes, and is a row group of Parquet."""


class Rows:
    """The rows of one table that wait to be written.

    `table`: the table; its file is begun with its first row, or by `begin`.
    """

    def __init__(self, table: Table, files: TableFiles) -> None:
        self.table = table
        self.written = 0
        self._files = files
        self._columns: list[list[Value]] = [[] for _ in table.columns]
        self._single: list[tuple[Value, ...]] = []
        """Rows that came one by one, and are not in the columns yet."""
        self._has_begun = False

    def begin(self) -> None:
        """Create the table, though it may stay without rows."""
        if not self._has_begun:
            self._has_begun = True
            self._files.begin(self.table)

    @property
    def has_begun(self) -> bool:
        """True if there is a file of this table."""
        return self._has_begun

    def add(self, *values: Value) -> None:
        """Add a row: a value for each column; None for the columns that are left out at the end."""
        missing = len(self._columns) - len(values)
        if missing < 0:
            raise ValueError(f"a row of {self.table.name} has {len(values)} values, and {len(self._columns)} columns")
        self._single.append((*values, *repeat(None, missing)) if missing else values)
        if len(self._single) >= BATCH_ROWS:
            self.flush()

    def extend(self, columns: Sequence[Iterable[Value]]) -> None:
        """Add rows, given as columns of equal lengths."""
        self._gather()
        for column, values in zip(self._columns, columns, strict=True):
            column.extend(values)
        if len(self._columns[0]) >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        self._gather()
        count = len(self._columns[0])
        if not count:
            return
        self.begin()
        self._files.write(self.table, self._columns)
        self.written += count
        for column in self._columns:
            column.clear()

    def _gather(self) -> None:
        if self._single:
            for column, values in zip(self._columns, zip(*self._single, strict=True), strict=True):
                column.extend(values)
            self._single.clear()


class Tables:
    """The tables that are wanted, and their rows. `files`: where their rows go."""

    def __init__(self, tables: Mapping[str, Table], files: TableFiles) -> None:
        self._rows = {name: Rows(table, files) for name, table in tables.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def __getitem__(self, name: str) -> Rows:
        return self._rows[name]

    def if_wanted(self, name: str) -> Rows | None:
        return self._rows.get(name)

    def begin(self, names: Iterable[str]) -> None:
        """Create those of these tables that are wanted."""
        for name in names:
            if name in self._rows:
                self._rows[name].begin()

    def flush(self) -> None:
        """Write all rows that wait."""
        for rows in self._rows.values():
            rows.flush()

    def counts(self) -> dict[str, int]:
        """Return `{table: rows written}` of the tables that have a file."""
        return {name: rows.written for name, rows in self._rows.items() if rows.has_begun}

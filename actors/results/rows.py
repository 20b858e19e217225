"""Rows of tables on their way to files: gathered as columns, and written a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

from actors.results.table_files import TableFiles
from prism.tables import Table, Value

BATCH_ROWS = 1 << 16
"""Rows of one batch, or a few more. It bounds the memory that an export takes, and is a row group of Parquet."""


class Rows:
    """The rows of one table that wait to be written.

    Args:
        table: the table; its file is begun with its first row, or by `begin`.
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
    """The tables that are wanted, and their rows.

    Args:
        files: where their rows go.
    """

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

"""The file of a tape: answers by key, each in the file before it is used.

It is an SQLite database in write-ahead mode with one table. A kill -9 loses no answer; a closed tape is a single file.
Nothing is kept in memory, so a tape may be larger than the memory. A tape may come from anybody: a view or a trigger in
its place is refused, which could keep a query busy for ever.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from prism.errors import OracleUnavailableError

FORMAT = 1
"""The version of the table, the records and the keys. Raise it when the meaning of any of them changes."""

HEADER_KEY = b"head"
"""The key of the record on the model that has answered a run."""

_APPLICATION = 0x50525354  # "PRST", in the file's header: tells a tape from any other SQLite file

_TABLE = "answers (key BLOB PRIMARY KEY, asked_by TEXT NOT NULL, answer BLOB NOT NULL) WITHOUT ROWID"

T = TypeVar("T")


class TapeError(OracleUnavailableError):
    """A tape that cannot be used."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path}: {problem}")


def check_place(path: Path) -> None:
    """Refuse a place where no tape can be made.

    Raises:
        TapeError: its directory does not exist.
    """
    if not path.parent.is_dir():
        raise TapeError(path, "its directory does not exist; make it first")


class TapeFile:
    """A tape. Every method may be called from any thread; each blocks, for a disk write at most.

    Args:
        path: the file. In mode `record` it is created if it does not exist; its directory has to exist.
        mode: `record` to read and write, `replay` to read, `look` to read without a change to any file beside it: the
            run that records it may be going on, or may have been killed.

    Raises:
        TapeError: the file does not exist, is not a tape, or comes from a newer version.
    """

    def __init__(self, path: Path, mode: Literal["record", "replay", "look"]) -> None:
        self.path = path
        self.mode = mode
        self._lock = threading.Lock()
        if mode != "record" and not path.is_file():
            raise TapeError(path, "there is no such tape; record it first")
        if mode == "record":
            check_place(path)
            if path.exists() and not path.is_file():
                raise TapeError(path, "is no regular file, and a tape is one")
        try:
            self._file = self._connected()
        except sqlite3.Error as error:
            raise TapeError(path, f"cannot be opened: {error}") from error
        try:
            with self._statement("is no tape, or a damaged one"):
                self._open()
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file; a recorded one becomes a single file that can be copied and read from a read-only disk."""
        with self._lock:
            if self.mode == "record":
                with suppress(sqlite3.Error):  # another process still has it open, or it is closed already
                    self._file.execute("PRAGMA journal_mode = DELETE")
            self._file.close()

    def _connected(self) -> sqlite3.Connection:
        if self.mode != "look":
            return sqlite3.connect(self.path, timeout=10.0, isolation_level=None, check_same_thread=False)
        # Without write access to the index of the write-ahead log nothing is recovered, and nothing is merged at the
        # end. SQLite keeps an index of its own in memory where there is a log that nobody has open.
        address = f"{self.path.absolute().as_uri()}?mode=ro&readonly_shm=1"
        return sqlite3.connect(address, uri=True, timeout=10.0, isolation_level=None, check_same_thread=False)

    def _open(self) -> None:
        # Read before the first write: a file that is not a tape must stay unchanged.
        application = self._number("PRAGMA application_id")
        version = self._number("PRAGMA user_version")
        is_new = self._number("PRAGMA page_count") == 0
        if application != _APPLICATION and not (is_new and self.mode == "record"):
            raise TapeError(self.path, "is no tape; PRISM would not write into it")
        if version != FORMAT and not is_new:
            raise TapeError(self.path, f"is a tape of format {version}; this version of PRISM reads {FORMAT}")
        if not is_new:
            found = self._file.execute("SELECT type, sql FROM sqlite_master LIMIT 2").fetchall()
            if found != [("table", f"CREATE TABLE {_TABLE}")]:
                raise TapeError(self.path, "is no tape: it has something other than the table of answers")
        if self.mode != "record":
            self._file.execute("PRAGMA query_only = ON")
            return
        self._file.execute("BEGIN IMMEDIATE")
        self._file.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._file.execute(f"PRAGMA user_version = {FORMAT}")
        self._file.execute(f"CREATE TABLE IF NOT EXISTS {_TABLE}")
        self._begin()
        self._file.execute("COMMIT")
        # Only now: the first page of a write-ahead log is no part of the transaction that makes the file a tape.
        # NORMAL: a commit survives the end of the process at once, and a power cut after the log's next checkpoint.
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")

    def _begin(self) -> None:
        """Prepare a tape on which will be recorded, in the transaction that makes it."""

    def _number(self, statement: str) -> int:
        return int(self._file.execute(statement).fetchone()[0])

    def _row(self, key: bytes) -> bytes | None:
        rows = self._execute("SELECT answer FROM answers WHERE key = ?", key)
        return rows[0][0] if rows else None

    def _execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock, self._statement("cannot be read or written"):
            return self._file.execute(statement, values).fetchall()

    @contextmanager
    def _statement(self, problem: str) -> Iterator[None]:
        """Turn the errors of SQLite into those of a tape."""
        try:
            yield
        except sqlite3.Error as error:
            raise TapeError(self.path, f"{problem}: {error}") from error

    def _decode(self, row: bytes, decoder: msgspec.json.Decoder[T]) -> T:
        try:
            return decoder.decode(row)
        except (msgspec.MsgspecError, RecursionError, TypeError, UnicodeDecodeError) as error:
            raise TapeError(self.path, f"is damaged: {error}") from error

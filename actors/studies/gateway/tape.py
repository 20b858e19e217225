"""The tape of an experiment: every reply of a server is on it before a cell gets it.

It is a file of the kind in which a run keeps the answers of its model. A request may have several answers, and failures
besides: the key of a record is that of the request, the kind of the reply, and its number.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Literal

import msgspec

from actors.core.files import open_own, refuse_link
from actors.store.lock import NO_LOCKS
from prism.llm.tape_file import HEADER_KEY, TapeError, TapeFile

LOCKED_WAIT_S = 10.0
"""The gateway of a driver that was killed ends within a second; until then it holds the lock of the tape."""
_READ_AT_ONCE = 1_000


class Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reply of a server, as it stands on the tape."""

    key: str = ""  # the key of the request. Equal keys are the same request.
    is_call: bool = True  # true if a model was asked; False for a list of models, a version, and the like
    status: int = 0  # of the response; 0 if there was none
    failure: str = ""  # the reason why there is no response; empty if there is one
    kind: str = ""  # the content type of the body
    body: str = ""  # the body as text; bytes that are no UTF-8 become U+FFFD
    headers: dict[str, str] = {}  # those of the response that a client reads, such as `Retry-After`
    # read, cached, written: tokens, as far as the server says
    read: int = 0
    cached: int = 0
    written: int = 0
    usd: float = 0.0  # what they cost, 0 without prices
    asked_by: str = ""  # the question, for people who read the tape

    @property
    def is_answer(self) -> bool:
        """True if the server has answered with a status of 2xx."""
        return 200 <= self.status < 300

    @property
    def has_reached_a_server(self) -> bool:
        """True if it is a call that counts."""
        return self.is_call and self.failure != "connection_error"


class Totals(msgspec.Struct, kw_only=True):
    """The calls on a tape and what they cost, failed ones included."""

    calls: int = 0  # that have reached a server
    failed: int = 0  # those of them without an answer
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0

    def add(self, kept: Kept) -> None:
        if not kept.has_reached_a_server:
            return
        self.calls += 1
        self.failed += not kept.is_answer
        self.prompt_tokens += kept.read
        self.completion_tokens += kept.written
        self.usd += kept.usd


class ExperimentTape(TapeFile):
    """The replies of servers in a file.

    Args:
        path: the file. In mode `record` it is made if it does not exist.
        mode: `record` to read and append, `replay` to read, `look` to read what another process appends to.

    Raises:
        TapeError: there is no such tape, the file is no tape, or another process appends to it.
    """

    def __init__(self, path: Path, mode: Literal["record", "replay", "look"]) -> None:
        self._held = _hold(path) if mode == "record" else None
        try:
            super().__init__(path, mode)
        except TapeError:
            self._release()
            raise
        try:
            if self._row(HEADER_KEY) is not None:
                raise TapeError(self.path, "is the tape of a run, and not of an experiment")
            totals, key = Totals(), b""
            statement = "SELECT key, answer FROM answers WHERE key > ? ORDER BY key LIMIT ?"
            while rows := self._execute(statement, key, _READ_AT_ONCE):
                for _, row in rows:
                    totals.add(self._decode(row, _kept))
                if not key < (key := rows[-1][0]):
                    raise TapeError(self.path, "is damaged: its records are not in order")
            self.totals = totals
        except TapeError:
            self.close()
            raise

    def answer(self, key: str, number: int) -> Kept | None:
        """Return an answer to a request, counted from 0; None if there are not so many."""
        row = self._row(b"%b%08d" % (_begin_of(key, is_answer=True), number))
        return None if row is None else self._decode(row, _kept)

    def latest(self, key: str) -> Kept | None:
        """Return the latest answer to a request; None if there is none."""
        return self._last(_begin_of(key, is_answer=True), 99_999_999)

    def failure(self, key: str, number: int) -> Kept | None:
        """Return a reply without an answer, counted from 0; the last if there are fewer, None if there are none."""
        return self._last(_begin_of(key, is_answer=False), number)

    def add(self, kept: Kept) -> None:
        begin = _begin_of(kept.key, is_answer=kept.is_answer)
        content = msgspec.json.encode(msgspec.structs.replace(kept, key="", asked_by=""))
        self._execute(
            "INSERT INTO answers SELECT CAST(? || printf('%08d', count(*)) AS BLOB), ?, ? "
            "FROM answers WHERE key > ? AND key < ?",
            *(begin, kept.asked_by, content, begin, begin + b":"),
        )
        self.totals.add(kept)

    def close(self) -> None:
        super().close()
        self._release()

    def _release(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _last(self, begin: bytes, number: int) -> Kept | None:
        statement = "SELECT answer FROM answers WHERE key > ? AND key <= ? ORDER BY key DESC LIMIT 1"
        rows = self._execute(statement, begin, b"%b%08d" % (begin, number))
        return self._decode(rows[0][0], _kept) if rows else None


_kept = msgspec.json.Decoder(Kept)


def _begin_of(key: str, *, is_answer: bool) -> bytes:
    """Return the beginning of the keys under which the replies to a request stand."""
    return f"{key} {'answer' if is_answer else 'failure'} ".encode()


def _hold(path: Path) -> int:
    """Lock a tape, and return the file that holds the lock until it is closed."""
    try:
        for beside in ("-wal", "-shm", "-journal"):  # SQLite opens these by itself
            refuse_link(path.with_name(f"{path.name}{beside}"))
        held = open_own(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise TapeError(path, f"cannot be opened: {error.strerror}") from None
    until = time.monotonic() + LOCKED_WAIT_S
    while True:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(held)
                raise TapeError(path, "another process appends to it") from None
            time.sleep(0.1)
        except OSError as error:
            os.close(held)
            raise TapeError(path, f"cannot be locked: {error.strerror}; {NO_LOCKS}") from None
        else:
            return held

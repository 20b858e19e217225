"""The tape of an experiment: a file to which every reply of a server is appended before a cell gets it.

A line is a checksum, a space and a JSON object; the first line is the header. A line is written by one call, so a
killed process leaves whole lines, or half of the last one, which is cut off. The lines of a second are flushed to the
disk together, so a power cut may lose those.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from actors.core.errors import RunDirectoryError, run_directory_error

FORMAT = 1
FLUSH_S = 1.0
"""The time between two flushes to the disk."""
LOCKED_WAIT_S = 10.0
"""The gateway of a driver that was killed ends within a second; until then it holds the lock of the tape."""
_SUM = 8
_PIECE = 1 << 20


class Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reply of a server, as it stands on the tape.

    Args:
        key: the key of the request, hexadecimal. Equal keys are the same request.
        is_call: True if a model was asked; False for a list of models, a version, and the like.
        status: of the response; 0 if there was none.
        failure: the reason why there is no response; empty if there is one.
        kind: the content type of the body.
        body: as text; one that is no UTF-8 has U+FFFD in it.
        headers: those of the response that a client reads, such as `Retry-After`.
        read, cached, written: tokens, as far as the server says; `usd`: what they cost, 0 without prices.
        asked_by: the question, for people who read the tape.
    """

    key: str
    is_call: bool = True
    status: int = 0
    failure: str = ""
    kind: str = ""
    body: str = ""
    headers: dict[str, str] = {}
    read: int = 0
    cached: int = 0
    written: int = 0
    usd: float = 0.0
    asked_by: str = ""

    @property
    def is_answer(self) -> bool:
        """True if the server has answered with a status of 2xx."""
        return 200 <= self.status < 300

    @property
    def has_reached_a_server(self) -> bool:
        """True if it is a call that counts."""
        return self.is_call and self.failure != "connection_error"


class Totals(msgspec.Struct, kw_only=True):
    """The calls on a tape and what they cost, failed ones included.

    Args:
        calls: that have reached a server.
        failed: those of them without an answer.
    """

    calls: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0

    def add(self, kept: Kept) -> None:
        """Count a reply."""
        if not kept.has_reached_a_server:
            return
        self.calls += 1
        self.failed += not kept.is_answer
        self.prompt_tokens += kept.read
        self.completion_tokens += kept.written
        self.usd += kept.usd


_Place = tuple[int, int]
"""The place of a line: its first byte, and its length."""


class ExperimentTape:
    """The replies of servers in a file. Its methods block, for a write at most.

    Args:
        path: the file. In mode `record` it is made if it does not exist.
        mode: `record` to read and append, `replay` to read.

    Raises:
        RunDirectoryError: there is no such tape, it is none, it is damaged, or another process appends to it.
    """

    def __init__(self, path: Path, mode: Literal["record", "replay"]) -> None:
        self.path = path
        self.mode = mode
        self.totals = Totals()
        self._answers: dict[str, list[_Place]] = {}
        self._others: dict[str, list[_Place]] = {}
        self._is_dirty = False
        flags = os.O_RDWR | os.O_CREAT if mode == "record" else os.O_RDONLY
        try:
            self._file = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
        except FileNotFoundError:
            raise RunDirectoryError(f"{path}: there is no such tape") from None
        except OSError as error:
            raise run_directory_error(error, f"{path}: cannot be opened") from None
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise RunDirectoryError(f"{path}: is no file, so it is no tape")
            if mode == "record":
                self._lock()
            self._end = self._read()
            if mode == "record":
                self._begin()
        except OSError as error:
            self.close()
            raise run_directory_error(error, f"{path}: cannot be used") from None
        except RunDirectoryError:
            self.close()
            raise

    def _lock(self) -> None:
        until = time.monotonic() + LOCKED_WAIT_S
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise RunDirectoryError(f"{self.path}: another process appends to it") from None
                time.sleep(0.1)
            else:
                return

    def _read(self) -> int:
        """Read all lines, and return the place behind the last whole one."""
        place = 0
        for line in self._lines():
            if place == 0:
                self._check_header(line)
            else:
                self._count(self._decoded(line, place), (place, len(line)))
            place += len(line)
        return place

    def _lines(self) -> Iterator[bytes]:
        """Yield whole lines; half a line at the end is what a killed process or a power cut has left."""
        with open(self._file, "rb", closefd=False) as file:
            lines = iter(file)
            for line in lines:
                if not line.endswith(b"\n"):
                    return
                yield line

    def _check_header(self, line: bytes) -> None:
        header = _checked(line)
        try:
            found = msgspec.json.decode(header or b"").get("prism_tape", 0)
        except (msgspec.DecodeError, AttributeError):
            found = 0
        if not found:
            raise RunDirectoryError(f"{self.path}: is no tape of an experiment; it is left as it is")
        if found != FORMAT:
            raise RunDirectoryError(f"{self.path}: is a tape of format {found}; this version of PRISM reads {FORMAT}")

    def _decoded(self, line: bytes, place: int) -> Kept:
        content = _checked(line)
        try:
            if content is not None:
                return _kept.decode(content)
        except msgspec.DecodeError:
            pass
        raise RunDirectoryError(
            f"{self.path}: line {self._line_number(place):,} is damaged; "
            "remove that line, and its question is asked again"
        )

    def _line_number(self, place: int) -> int:
        """Return the number of the line that begins at a place, from 1."""
        return 1 + sum(os.pread(self._file, min(_PIECE, place - at), at).count(b"\n") for at in range(0, place, _PIECE))

    def _count(self, kept: Kept, place: _Place) -> None:
        (self._answers if kept.is_answer else self._others).setdefault(kept.key, []).append(place)
        self.totals.add(kept)

    def _begin(self) -> None:
        os.ftruncate(self._file, self._end)
        if self._end == 0:
            self._append(_line(msgspec.json.encode({"prism_tape": FORMAT})))

    def answers(self, key: str) -> int:
        """Return the number of answers to a request."""
        return len(self._answers.get(key, ()))

    def answer(self, key: str, number: int) -> Kept | None:
        """Return an answer to a request, counted from 0; None if there are not so many."""
        return self._at(self._answers, key, number)

    def failure(self, key: str, number: int) -> Kept | None:
        """Return a reply without an answer, from 0: the last one if there are not so many, None without any."""
        known = len(self._others.get(key, ()))
        return self._at(self._others, key, min(number, known - 1)) if known else None

    def _at(self, places: dict[str, list[_Place]], key: str, number: int) -> Kept | None:
        found = places.get(key, [])
        if number >= len(found):
            return None
        place, length = found[number]
        return self._decoded(os.pread(self._file, length, place), place)

    def add(self, kept: Kept) -> None:
        """Append a reply.

        Raises:
            OSError: it cannot be written, such as on a full disk. The file is as it was before then.
        """
        line = _line(msgspec.json.encode(kept))
        place = self._end
        self._append(line)
        self._count(kept, (place, len(line)))

    def _append(self, line: bytes) -> None:
        done = 0
        try:
            while done < len(line):
                done += os.pwrite(self._file, line[done:], self._end + done)
        except OSError:
            if done:
                os.ftruncate(self._file, self._end)
            raise
        self._end += done
        self._is_dirty = True

    def flush(self) -> None:
        """Let the disk keep what was appended.

        Raises:
            OSError: it cannot.
        """
        if self._is_dirty:
            self._is_dirty = False
            os.fsync(self._file)

    def close(self) -> None:
        """Flush and close the file."""
        try:
            self.flush()
        except OSError:
            pass  # what it holds was with the system already
        finally:
            os.close(self._file)


_kept = msgspec.json.Decoder(Kept)


def _line(content: bytes) -> bytes:
    return b"%08x %b\n" % (zlib.crc32(content), content)


def _checked(line: bytes) -> bytes | None:
    """Return the content of a line; None if it is not what was written."""
    content = line[_SUM + 1 : -1]
    return content if line[: _SUM + 1] == b"%08x " % zlib.crc32(content) else None

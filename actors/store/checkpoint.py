"""Checkpoints: the world and the actors between two ticks, so that a resume need not begin at tick 0.

A checkpoint is a cache of the journal. It names the frame after which it was taken by offset and link, and is refused
if the journal does not have that frame. It is written beside the others and put in place whole; two are kept.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from anyio import to_thread

from actors.core.errors import DamagedError
from actors.core.frames import DECODE_ERRORS, ORIGIN, encode_frame, link_of
from actors.core.state import RunState
from actors.store.disk import Disk, RealDisk, chained_payloads, decoded_head
from prism.columns import Bundler, Bundles, Column, packed, unpacked_or_number

MAGIC = b"PRISMC\r\n"
FORMAT = 7
KEPT: Final = 2  # the latest checkpoints that are kept: if the newest is damaged, a resume starts from the one before

_PREFIX, _SUFFIX = "checkpoint-", ".bin"

OTHER_ERROR = 255  # the exit code for an error that has no number of the system's
LIMIT_S = 600.0
"""The seconds after which a fork counts as stuck: it may wait for a lock that a thread of its parent held."""
PR_SET_PDEATHSIG = 1  # Linux's number for: send me a signal once my parent has ended
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a checkpoint in the other files."""

    tick: int  # ticks committed before it
    journal_bytes: int  # the journal's length after them
    link: bytes  # its last link
    oldest_asked: int  # the first tick whose questions may have answers that have not taken effect yet
    answers_end: int  # the log's length; all of it is on the medium before the checkpoint is


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame of a checkpoint. Frames with a bundle of columns each follow, then one with the number of them.

    These further frames are compressed, usually to a quarter, so that the disk of a large run can keep up.
    """

    format: int = FORMAT
    position: Position
    state: RunState


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a run between two ticks."""

    position: Position
    state: RunState
    columns: Bundles

    @property
    def name(self) -> str:
        return checkpoint_name(self.position.tick)


def checkpoint_name(tick: int) -> str:
    return f"{_PREFIX}{tick:012d}{_SUFFIX}"


def draft_name(tick: int) -> str:
    return f".{checkpoint_name(tick)}.tmp"


def checkpoint_names(disk: Disk) -> list[str]:
    return sorted((name for name in disk.names() if name.startswith(_PREFIX) and name.endswith(_SUFFIX)), reverse=True)


def read_checkpoint(disk: Disk, name: str) -> Checkpoint:
    """Read a checkpoint. It is a DamagedError if it was changed, and a JournalError if it has another format."""
    columns = Bundles([], [])
    head = _read(disk, name, columns.put)
    return Checkpoint(position=head.position, state=head.state, columns=columns)


def read_head(disk: Disk, name: str) -> Head:
    """Read a whole checkpoint, and return its head alone: the columns of many would not fit into memory."""
    return _read(disk, name, lambda *_: None)


def _read(disk: Disk, name: str, take: Callable[[bytes, list[Column]], object]) -> Head:
    """Return the head of a checkpoint, and pass its bundles to `take`, packed and as they are."""
    head, taken, count = None, 0, None
    for start, payload in chained_payloads(disk, name, MAGIC):
        if count is not None:
            raise DamagedError(name, start, "it has content after its end")
        if head is None:
            head = decoded_head(name, start, payload, Head, FORMAT)
        else:
            try:
                content = unpacked_or_number(payload)
            except DECODE_ERRORS as error:
                raise DamagedError(name, start, f"its columns cannot be read: {error}") from None
            if isinstance(content, int):
                count = content
            else:
                take(payload, content)
                taken += 1
    if head is None or count != taken:
        raise DamagedError(name, disk.size(name), "it ends before its last column")
    return head


_encode = msgspec.msgpack.Encoder().encode


class Draft:
    """A checkpoint that is being written, beside the others. Its methods block.

    If one raises OSError, the file is gone: on a full disk its space is needed. Columns follow by `add`.
    """

    def __init__(self, disk: Disk, position: Position, state: RunState) -> None:
        self._disk, self._tick = disk, position.tick
        self._head: Head | None = Head(position=position, state=state)  # None once it is written
        self.size = 0  # bytes written so far
        self._link, self._bundles = ORIGIN, 0
        self._bundler = Bundler(self._put)

    def add(self, pieces: Iterable[Column | bytes]) -> None:
        with self._removed_on_error():
            if self._head is not None:
                with suppress(FileNotFoundError):
                    self._disk.remove(draft_name(self._tick))
                self._append(MAGIC)
                self._write(_encode(self._head))
                self._head = None
            for piece in pieces:
                self._bundler.add(piece)

    def end(self, pieces: Iterable[Column | bytes]) -> None:
        self.add(pieces)
        with self._removed_on_error():
            self._bundler.end()
            self._write(packed(self._bundles))

    def finish(self, pieces: Iterable[Column | bytes]) -> None:
        self.end(pieces)
        with self._removed_on_error():
            put_in_place(self._disk, self._tick)

    def _put(self, bundle: list[Column] | bytes) -> None:
        self._bundles += 1
        self._write(bundle if isinstance(bundle, bytes) else packed(bundle))

    def _write(self, payload: bytes) -> None:
        self._link = link_of(self._link, payload)
        self._append(encode_frame(self._link, payload))

    def _append(self, data: bytes) -> None:
        self._disk.append(draft_name(self._tick), data)
        self.size += len(data)

    @contextmanager
    def _removed_on_error(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            with suppress(OSError):
                self._disk.remove(draft_name(self._tick))
            raise


def put_in_place(disk: Disk, tick: int) -> None:
    """Give a whole draft its name; remove older checkpoints, and drafts that crashes left.

    Everything that the checkpoint depends on is on the medium already.
    """
    disk.sync(draft_name(tick))
    disk.rename(draft_name(tick), checkpoint_name(tick))
    disk.sync_directory()
    drafts = [name for name in disk.names() if name.startswith(f".{_PREFIX}") and name.endswith(f"{_SUFFIX}.tmp")]
    for name in [*checkpoint_names(disk)[KEPT:], *drafts]:
        disk.remove(name)


def write_checkpoint(disk: Disk, checkpoint: Checkpoint) -> None:
    Draft(disk, checkpoint.position, checkpoint.state).finish(checkpoint.columns)


class ForkedCheckpoint:
    """A checkpoint whose draft a fork of this process writes into the run's directory, while the run goes on.

    A fork shares the memory of its process. The system copies a page once one of the two changes it, so the fork sees
    the world between two ticks. For a million people it begins in 20 ms; to copy their columns would hold up the run
    for 3 s. Without room for one more process, or for its memory, it is an OSError.
    """

    def __init__(
        self, position: Position, state: RunState, path: Path, columns: Callable[[], Iterable[Column]]
    ) -> None:
        self.tick, self._code, self.is_given_up = position.tick, -1, False
        parent = os.getpid()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # the handlers of this process are not the fork's
        try:
            self._fork = os.fork()
            if not self._fork:
                _write_and_exit(parent, position, state, path, columns)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    async def wait(self) -> int:
        """Wait until the fork has ended. Return 0 if the draft is whole, else the number of an error of the system."""
        try:
            _, status = await to_thread.run_sync(os.waitpid, self._fork, 0, abandon_on_cancel=True)
            self._code = os.waitstatus_to_exitcode(status) % (OTHER_ERROR + 1)
        except ChildProcessError:  # whoever began this process lets it ignore the ends of its own
            self._code = OTHER_ERROR
        except BaseException:
            self.give_up()
            raise
        return self._code

    def give_up(self) -> None:
        self.is_given_up = True
        if self._code < 0:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self._fork, signal.SIGKILL)


def _write_and_exit(
    parent: int, position: Position, state: RunState, path: Path, columns: Callable[[], Iterable[Column]]
) -> None:
    """Write the draft, and end this process without any clean-up: all else in it belongs to its parent."""
    code = OTHER_ERROR
    try:
        # It ends with its parent or when it is stuck, and holds none of its parent's locks and sockets.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            gc.disable()  # a collection would touch all objects, and so copy them
            Draft(RealDisk(path), position, state).end(columns())
            code = 0
    except OSError as error:
        code = error.errno or OTHER_ERROR
    finally:
        os._exit(code)

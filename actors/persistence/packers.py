"""Packers: processes that pack segments beside a run, on other processors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from multiprocessing import Pipe
from threading import Timer
from types import TracebackType
from typing import Final

import msgspec
import structlog

from actors.persistence.packing import Pack, Packed, Payloads, packed

log = structlog.get_logger(__name__)

LIMIT_S = 120.0
"""The longest wait for a packer: one that hangs must not hold up the run. A segment takes a few seconds."""
DYING_S = 1.0
"""The most time between the end of a packer's connection and the end of its process."""


class Packers(AbstractContextManager["Packers"]):
    """Processes that pack segments. Each begins with a segment for which no other is idle.

    A segment whose packer dies is packed in this process; the packer is not replaced. Segments may be begun in one
    thread while another ends one.

    Args:
        count: the most processes; 0 if the writer of a segment packs it.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._idle: list[_Packer] = []
        self._begun: list[_Packer] = []
        self._lost: list[_Packer | None] = []
        """The packers that died; None for one that did not start. Two threads may add to it at once."""

    @property
    def at_once(self) -> int:
        """The segments that may be packed at once."""
        return self._count - len(self._lost)

    def begin(self, tick: int, payloads: Payloads) -> Pack:
        """Begin to pack ticks, and return the function that ends it.

        Args:
            payloads: gives the payloads, each time it is called. What it raises is raised.
        """
        packer = self._idle.pop() if self._idle else self._started()
        if packer is None:
            return packed
        if not packer.send(tick, payloads()):
            self._lose(packer)
            return packed

        def end(tick: int, payloads: Payloads) -> Packed:
            found = packer.receive()
            if found is None:
                self._lose(packer)
                return packed(tick, payloads)
            self._idle.append(packer)
            return found

        return end

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """End all processes at once: what they still do is not needed."""
        for packer in self._begun:
            packer.stop()

    def _started(self) -> _Packer | None:
        try:
            packer = _Packer()
        except OSError as error:
            self._lost.append(None)
            log.warning("packer_lost", reason=f"it did not start: {error.strerror}", left=self.at_once)
            return None
        self._begun.append(packer)
        return packer

    def _lose(self, packer: _Packer) -> None:
        self._lost.append(packer)
        log.warning("packer_lost", reason=packer.reason(), left=self.at_once)
        packer.stop()


class _Packer:
    """A process that packs one segment after another.

    It is in a process group of its own: Ctrl-C in a terminal is for the run.
    """

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            command = [sys.executable, "-P", "-m", "actors.persistence.packing", str(theirs.fileno())]
            self._process = subprocess.Popen(  # noqa: S603  # the command is ours
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                process_group=0,
            )

    def send(self, tick: int, payloads: Iterable[bytes]) -> bool:
        """Send ticks; return False if the process has died. What `payloads` raises is raised."""
        with self._limited():
            return all(map(self._put, chain([b"%d" % tick], payloads, [b""])))

    def receive(self) -> Packed | None:
        with suppress(EOFError, OSError), self._limited():
            return msgspec.msgpack.decode(self._connection.recv_bytes(), type=Packed)
        return None

    def stop(self) -> None:
        """End it at once."""
        self._connection.close()
        self._process.kill()
        self._process.wait()

    def reason(self) -> str:
        """Return how it died, in words, after it was noticed."""
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(DYING_S)
            return f"signal {-code}" if code < 0 else f"exit code {code}"
        return "it does not answer"

    def _put(self, message: bytes) -> bool:
        with suppress(OSError):
            self._connection.send_bytes(message)
            return True
        return False

    @contextmanager
    def _limited(self) -> Iterator[None]:
        timer = Timer(LIMIT_S, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


NOBODY: Final = Packers(0)
"""The packers of a run that packs its segments itself."""

"""Packers: processes that pack segments beside a run, on other processors, each of them one segment."""

from __future__ import annotations

import subprocess
import sys
from contextlib import AbstractContextManager, suppress
from threading import Timer
from types import TracebackType
from typing import Final

import msgspec
import structlog

from actors.persistence.packing import LENGTH, Pack, Packed, Payloads, packed

log = structlog.get_logger(__name__)

LIMIT_S = 120.0
"""The longest wait for a packer: one that hangs must not hold up the run. A segment takes a few seconds."""


class Packers(AbstractContextManager["Packers"]):
    """Processes that pack segments.

    A segment whose packer dies is packed in this process, and from then on one segment fewer is packed at once.
    Segments may be begun in one thread while another ends one.

    Args:
        count: the most processes at a time; 0 if the writer of a segment packs it.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._begun: list[subprocess.Popen[bytes]] = []
        self._lost: list[str] = []
        """The reason why each packer was lost. Two threads may add to it at once."""

    @property
    def at_once(self) -> int:
        """The segments that may be packed at once."""
        return self._count - len(self._lost)

    def begin(self, tick: int, payloads: Payloads) -> Pack:
        """Begin to pack ticks, and return the function that ends it.

        Args:
            payloads: gives the payloads, each time it is called. What it raises is raised.
        """
        try:
            # In a process group of its own: Ctrl-C in a terminal is for the run.
            process = subprocess.Popen(  # noqa: S603  # the command is ours
                [sys.executable, "-P", "-m", "actors.persistence.packing", str(tick)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        except OSError as error:
            self._lose(f"it did not start: {error.strerror}")
            return packed
        self._begun.append(process)
        timer = Timer(LIMIT_S, process.kill)
        timer.daemon = True
        timer.start()
        sent, process.stdin = process.stdin, None
        assert sent is not None  # noqa: S101  # it is a pipe
        try:
            for payload in payloads():
                with suppress(OSError):  # the packer has died, as its end will show
                    sent.write(LENGTH.pack(len(payload)))
                    sent.write(payload)
        finally:
            timer.cancel()
            with suppress(OSError):
                sent.close()

        def end(tick: int, payloads: Payloads) -> Packed:
            try:
                found, _ = process.communicate(timeout=LIMIT_S)
                if not process.returncode:
                    return msgspec.msgpack.decode(found, type=Packed)
                code = process.returncode
                self._lose(f"signal {-code}" if code < 0 else f"exit code {code}")
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                self._lose("it does not answer")
            finally:
                self._begun.remove(process)
            return packed(tick, payloads)

        return end

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """End all processes at once: what they still do is not needed."""
        for process in self._begun:
            process.kill()
            process.communicate()

    def _lose(self, reason: str) -> None:
        self._lost.append(reason)
        log.warning("packer_lost", reason=reason, left=self.at_once)


NOBODY: Final = Packers(0)
"""The packers of a run that packs its segments itself."""

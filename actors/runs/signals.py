"""Signals that stop a run: the first lets it finish the tick, a second one interrupts it at once."""

from __future__ import annotations

import os
import signal
import sys
from _thread import start_new_thread
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import current_thread, main_thread
from time import process_time, sleep
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from actors.logs.output import say

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

EXIT_BASE = 128  # a run stopped by signal n exits with 128 + n, as shells report it

STANDARD_ERROR = 2
WATCH_EVERY_S = 0.05
KEPT = "what was committed is safe: continue with `prism resume`"
SHOW_CURSOR = b"\x1b[?25h\n"


class StopSignal(ABC):
    """A task that waits for a signal, and stops the run.

    Args:
        stop: called at the first signal.
        within_s: the processor time after which a process that does nothing but this run ends all the same, as after a
            kill; 0 for no limit. Time that it spends waiting, for a server or a disk, does not count.
    """

    def __init__(self, stop: Callable[[], None], within_s: float = 0.0) -> None:
        self._stop = stop
        self._within_s = within_s
        self.received: signal.Signals | None = None

    @abstractmethod
    async def run(self) -> None:
        """Wait for the first signal, and stop the run."""


class StopOnSignal(StopSignal):
    """A task that waits for a signal on behalf of a process that does nothing but this run.

    The signals are SIGINT, SIGTERM, and SIGHUP, which a terminal sends when it is closed. `nohup` lets a process ignore
    SIGHUP, and then it stays ignored.
    """

    async def run(self) -> None:
        """Wait for the first signal, and stop the run. The next one ends the process, even if the loop is blocked."""
        from asyncio import get_running_loop  # noqa: PLC0415  # the help of the command line has no use for it

        # A handler of Python's, and not of the loop's: a loop that is in a long piece of work would hear of it late.
        receive = partial(self._receive, get_running_loop())
        before = {kind: signal.signal(kind, receive) for kind in awaited()}
        try:
            await get_running_loop().create_future()  # until it is cancelled
        finally:
            if self.received is None:
                for kind, handler in before.items():
                    signal.signal(kind, handler)
            else:  # a closed terminal sends SIGHUP twice, by the system and by the shell
                signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def _receive(self, loop: AbstractEventLoop, number: int, _: FrameType | None) -> None:
        global _told  # noqa: PLW0603  # a process ends once
        if self.received is not None:  # a second SIGHUP
            return
        self.received = _told = signal.Signals(number)
        exit_at_the_next_one()  # before the message: a user who reads it may send the second signal at once
        if self._within_s:
            # Not by `threading`: the signal may have interrupted the start of another thread, which holds a lock.
            start_new_thread(_end_within, (self.received, process_time() + self._within_s))
        loop.call_soon_threadsafe(self._tell_and_stop, self.received.name)

    def _tell_and_stop(self, name: str) -> None:
        way = "a second signal exits at once (the run can be resumed in both cases)"
        say(f"{name}: finishing this tick; {way}", level="warning")
        self._stop()


_told: signal.Signals | None = None  # the signal by which this process was told to stop


def _end_within(kind: signal.Signals, until: float) -> None:
    while process_time() < until:
        sleep(WATCH_EVERY_S)
    said = f"prism: {kind.name}: ended within the tick, which would take too long (run.stop_within_s); {KEPT}\n"
    with suppress(OSError):
        os.write(STANDARD_ERROR, said.encode())
    _exit_at_once(kind, None)


def leave(code: int) -> NoReturn:
    """End the process with a code; at once if it was told to stop: to free millions of objects takes seconds."""
    if _told is not None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # the stream is closed, or its reader is gone
                stream.flush()
        os._exit(code)
    if code:
        try:
            sys.stdout.flush()
        except OSError:  # it has been told; what is left would fail again at the end, and change the code
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


class StopOnInterrupt(StopSignal):
    """A task that waits for Ctrl-C on behalf of a script or a notebook, which goes on after the run.

    The first Ctrl-C stops all runs that wait for one. With it, and at the end, Ctrl-C does again what it did before: a
    second one interrupts at once. In a thread, and in a process that ignores Ctrl-C, there is nothing to wait for, and
    Ctrl-C stays as it is.
    """

    _waiting: ClassVar[list[Callable[[], object]]] = []
    _before: ClassVar[Any] = None

    async def run(self) -> None:
        before = signal.getsignal(signal.SIGINT)
        if current_thread() is not main_thread() or before in (signal.SIG_IGN, None):
            return
        # Only this wakes a loop that sleeps.
        from asyncio import get_running_loop  # noqa: PLC0415

        stop = partial(get_running_loop().call_soon_threadsafe, self._receive)
        if not self._waiting:
            StopOnInterrupt._before = before
            signal.signal(signal.SIGINT, self._interrupt)
        self._waiting.append(stop)
        try:
            await get_running_loop().create_future()  # until it is cancelled
        finally:
            if stop in self._waiting:
                self._waiting.remove(stop)
                if not self._waiting:
                    signal.signal(signal.SIGINT, self._before)

    def _receive(self) -> None:
        self.received = signal.SIGINT
        self._stop()

    @classmethod
    def _interrupt(cls, _: int, __: FrameType | None) -> None:
        signal.signal(signal.SIGINT, cls._before)
        while cls._waiting:
            cls._waiting.pop(0)()
        say("SIGINT: finishing this tick; once more to interrupt at once", level="warning")


@contextmanager
def ended_by_signals(kept: str = "") -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, so that no temporary copy and no half-written file stays.

    `kept`: what is kept of long work. Then SIGINT ends the block, too, a line says so, and a second signal exits at
    once.
    """

    def end_block(number: int, _: FrameType | None) -> None:
        if kept:
            exit_at_the_next_one()
            name = signal.Signals(number).name
            say(f"{name}: ending; a second signal exits at once. {kept}", level="warning")
        else:
            signal.signal(number, signal.SIG_DFL)  # the next one ends the process at once
        raise SystemExit(EXIT_BASE + number)

    before = {kind: signal.signal(kind, end_block) for kind in awaited() if kept or kind is not signal.SIGINT}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def awaited() -> list[signal.Signals]:
    is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([] if is_ignored else [signal.SIGHUP])]


def exit_at_the_next_one() -> None:
    """Let the next SIGINT or SIGTERM end the process, even if the loop is blocked. Another SIGHUP does nothing."""
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, _exit_at_once)


def _exit_at_once(kind: int, _: FrameType | None) -> None:
    # A live display hides the cursor. It also replaces `sys.stderr` by an object that drops escape codes, and this
    # signal may have interrupted a write to it: so the escape code is written to the descriptor itself.
    if os.isatty(STANDARD_ERROR):
        with suppress(OSError):  # the terminal has just been closed
            os.write(STANDARD_ERROR, SHOW_CURSOR)
    os._exit(EXIT_BASE + kind)

"""Signals that stop a run: the first lets it finish the tick, a second one interrupts it at once."""

from __future__ import annotations

import os
import signal
import sys
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import current_thread, main_thread
from time import process_time, sleep
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from actors.logs.output import say

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

EXIT_BASE = 128
"""A run stopped by signal n exits with 128 + n, as shells report it."""

STANDARD_ERROR = 2
WATCH_EVERY_S = 0.05
KEPT = "what was committed is safe: continue with `prism resume`"
SHOW_CURSOR = b"\x1b[?25h\n"


class StopSignal(Protocol):
    """A task that waits for a signal, and stops the run."""

    @property
    def received(self) -> signal.Signals | None:
        """The signal that came; None before that."""

    async def run(self) -> None:
        """Wait for the first signal, and stop the run."""


class StopOnSignal:
    """A task that waits for a signal on behalf of a process that does nothing but this run.

    The signals are SIGINT, SIGTERM, and SIGHUP, which a terminal sends when it is closed. `nohup` lets a process ignore
    SIGHUP, and then it stays ignored.

    Args:
        stop: called at the first signal.
        within_s: the processor time after which the process ends all the same, as after a kill; 0 for no limit. Time
            that it spends waiting, for a server or a disk, does not count.
    """

    def __init__(self, stop: Callable[[], None], within_s: float = 0.0) -> None:
        self._stop = stop
        self._within_s = within_s
        self.received: signal.Signals | None = None

    @staticmethod
    def number(name: str) -> int:
        return signal.Signals[name].value

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
        if self.received is not None:  # a second SIGHUP
            return
        self.received = signal.Signals(number)
        exit_at_the_next_one()  # before the message: a user who reads it may send the second signal at once
        if self._within_s:
            end.limit(self.received, self._within_s)

        def stop() -> None:
            name = signal.Signals(number).name
            say(
                f"{name}: finishing this tick; a second signal exits at once (the run can be resumed in both cases)",
                level="warning",
            )
            self._stop()

        loop.call_soon_threadsafe(stop)


class _End:
    """The end of a process that was told to stop, within a limit of processor time."""

    def __init__(self) -> None:
        self._kind: signal.Signals | None = None

    def limit(self, kind: signal.Signals, within_s: float) -> None:
        """End the process once it has worked for so long."""
        self._kind = kind
        # Not by `threading`: the signal may have interrupted the start of another thread, which holds a lock.
        start_new_thread(self._watch, (kind, process_time() + within_s))

    def leave(self, code: int) -> NoReturn:
        """End the process with a code; at once if it was told to stop: to free millions of objects takes seconds."""
        if self._kind is not None:
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

    @staticmethod
    def _watch(kind: signal.Signals, until: float) -> None:
        while process_time() < until:
            sleep(WATCH_EVERY_S)
        said = f"prism: {kind.name}: ended within the tick, which would take too long (run.stop_within_s); {KEPT}\n"
        with suppress(OSError):
            os.write(STANDARD_ERROR, said.encode())
        _exit_at_once(kind, None)


end = _End()
"""The end of this process."""


class StopOnInterrupt:
    """A task that waits for Ctrl-C on behalf of a script or a notebook, which goes on after the run.

    With the first Ctrl-C, and at the end, Ctrl-C does again what it did before: a second one interrupts at once. In a
    thread, and in a process that ignores Ctrl-C, there is nothing to wait for, and Ctrl-C stays as it is.

    Args:
        stop: called at the first Ctrl-C.
        within_s: not used here, because the process belongs to the caller.
    """

    def __init__(self, stop: Callable[[], None], within_s: float = 0.0) -> None:  # noqa: ARG002  # as above
        self._stop = stop
        self.received: signal.Signals | None = None

    async def run(self) -> None:
        """Wait for the first Ctrl-C, and stop the run."""
        if current_thread() is not main_thread():
            return
        # Only this wakes a loop that sleeps.
        from asyncio import get_running_loop  # noqa: PLC0415

        stop = partial(get_running_loop().call_soon_threadsafe, self._receive)
        _ctrl_c.add(stop)
        try:
            await get_running_loop().create_future()  # until it is cancelled
        finally:
            _ctrl_c.discard(stop)

    def _receive(self) -> None:
        self.received = signal.SIGINT
        self._stop()


class _CtrlC:
    """Ctrl-C in this process: while runs wait for it, it stops all of them."""

    def __init__(self) -> None:
        self._stops: list[Callable[[], object]] = []
        self._before: Any = None

    def add(self, stop: Callable[[], object]) -> None:
        if not self._stops:
            before = signal.getsignal(signal.SIGINT)
            if before in (signal.SIG_IGN, None):
                return
            self._before = before
            signal.signal(signal.SIGINT, self._interrupt)
        self._stops.append(stop)

    def discard(self, stop: Callable[[], object]) -> None:
        if stop in self._stops:
            self._stops.remove(stop)
            if not self._stops:
                signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, _: int, __: FrameType | None) -> None:
        stops, self._stops = self._stops, []
        signal.signal(signal.SIGINT, self._before)
        for stop in stops:
            stop()
        say("SIGINT: finishing this tick; once more to interrupt at once", level="warning")


_ctrl_c = _CtrlC()


@contextmanager
def ended_by_signals(kept: str = "") -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, so that no temporary copy and no half-written file stays.

    Args:
        kept: what is kept of long work. Then SIGINT ends the block, too, a line says so, and a second signal exits at
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

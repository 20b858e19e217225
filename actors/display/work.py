"""The progress of long work on standard error: a bar or a line on a terminal, elsewhere a line now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread
from time import perf_counter
from typing import NamedTuple

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from actors.display.console import SafeConsole
from actors.display.words import duration
from actors.logs.output import output, say
from prism.quoting import printable

LINE_EVERY_S = 5.0
SHOWN_AFTER_S = 0.5
"""The duration from which a step is shown."""
GREETING = "greeting the oracle"
"""The step in which the oracle's server is asked a first question."""
PREPARING = "making kernels ready, which takes up to a minute the first time"
"""The step in which kernels are compiled, or loaded."""
PATIENCE_S = 1.0
"""The time for which the end of work waits for a terminal that accepts no output."""


class Standing(NamedTuple):
    """The present state of work.

    Args:
        words: the state in words.
        done, whole: the part that is done, and the whole; without a whole there is no bar, and no time left.
    """

    words: str
    done: float = 0.0
    whole: float = 0.0


def live_console() -> SafeConsole | None:
    """Return the terminal that standard error is, if a display can move on it; None elsewhere."""
    console = SafeConsole(stderr=True)
    return console if console.is_terminal and not console.is_dumb_terminal and not output.is_json else None


@contextmanager
def progress_shown(read: Callable[[], Standing], *, after_s: float = 0.0, has_lines: bool = True) -> Iterator[None]:
    """Show what `read` returns in the block, unless the output is quiet.

    A thread calls `read` and prints, so a terminal that accepts no output does not hold up the work.

    Args:
        after_s: the time after which it is shown.
        has_lines: print lines elsewhere than on a terminal; false if the caller tells more than that.
    """
    console, ended = live_console(), Event()
    if output.is_quiet or not (console or has_lines):
        yield
        return
    shower = Thread(target=_show, args=(console, read, ended, after_s), name="progress", daemon=True)
    shower.start()
    try:
        yield
    finally:
        ended.set()
        shower.join(PATIENCE_S)


def step_shown(step: str) -> AbstractContextManager[None]:
    """Return a context that shows a step and its time, if it takes long."""
    begun = perf_counter()
    return progress_shown(lambda: Standing(f"{step}, {duration(perf_counter() - begun)}"), after_s=SHOWN_AFTER_S)


def _show(console: SafeConsole | None, read: Callable[[], Standing], ended: Event, after_s: float) -> None:
    first: tuple[float, float] | None = None  # the time at which the whole was known, and the part that was done then

    def told() -> Standing:
        """Return the present state, with the time that is left at the mean pace so far."""
        nonlocal first
        now, time_s = read(), perf_counter()
        if not now.whole:
            return now
        since_s, before = first = first or (time_s, now.done)
        left_s = (now.whole - now.done) * (time_s - since_s) / max(1e-9, now.done - before)
        return now._replace(words=f"{now.words}, {duration(left_s)} left") if before < now.done < now.whole else now

    def drawn() -> Table:
        now, bar = told(), Table.grid(padding=(0, 1))
        words = Text(printable(now.words if now.whole else f"prism: {now.words}"))
        bar.add_row(*([ProgressBar(now.whole, now.done, width=30)] if now.whole else []), words)
        return bar

    if console is None:
        while not ended.wait(LINE_EVERY_S):
            say(told().words)
    elif not ended.wait(after_s):
        with Live(get_renderable=drawn, console=console, transient=True):
            ended.wait()

"""The progress of long commands on standard error: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from actors.cli.run_command import logging_trouble
from actors.core.errors import ungrouped
from actors.display.console import SafeConsole
from actors.display.progress import LINE_EVERY_S
from actors.display.words import duration
from actors.logs.output import output, say
from prism.quoting import printable

T = TypeVar("T")


class Standing(NamedTuple):
    """The part that is done, the whole, and both in words; further lines are for a terminal."""

    done: float
    whole: float
    words: str
    more: tuple[str, ...] = ()


def is_live() -> bool:
    """Return whether standard error is a terminal on which a bar can move."""
    console = SafeConsole(stderr=True)
    return console.is_terminal and not console.is_dumb_terminal and not output.is_json


@contextmanager
def progress_shown(read: Callable[[], Standing], *, quiet: bool = False, has_lines: bool = True) -> Iterator[None]:
    """Show what `read` returns in the block.

    Args:
        has_lines: print lines elsewhere than on a terminal; false if the caller tells more than that.
    """
    if quiet or not (is_live() or has_lines):
        yield
        return
    if is_live():

        def drawn() -> Table:
            now, rows = read(), Table.grid()
            bar = Table.grid(padding=(0, 1))
            bar.add_row(ProgressBar(max(1, now.whole), now.done, width=30), Text(printable(now.words)))
            rows.add_row(bar)
            for line in now.more:
                rows.add_row(Text(printable(line), style="dim"))
            return rows

        with Live(get_renderable=drawn, console=SafeConsole(stderr=True), transient=True):
            yield
        return
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(LINE_EVERY_S):
            say(read().words)

    threading.Thread(target=tell, daemon=True).start()
    try:
        yield
    finally:
        ended.set()


async def futures_shown(search: Callable[..., Awaitable[T]]) -> T:
    """Return the result of a search in other futures of a run, and show its progress, with the time left."""
    done, wanted, begun = 0, 0, time.monotonic()

    def note(done_now: int, wanted_now: int) -> None:
        nonlocal done, wanted, begun
        if not done:
            begun = time.monotonic()
        done, wanted = done_now, wanted_now

    def standing() -> Standing:
        if done < 2:
            return Standing(0, 1, "doing the run again")
        each_s = (time.monotonic() - begun) / (done - 1)
        pace = f"{1.0 / max(each_s, 1e-9):,.1f} a second, {duration(each_s * (wanted - done))} left"
        return Standing(done, wanted, f"{done:,} of {wanted:,} other futures, {pace}")

    with logging_trouble(), ungrouped(), progress_shown(standing):
        return await search(on_progress=note)

"""The progress of commands that run futures of a run: a line or a bar, with the time left."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import TypeVar

import anyio
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid
from rich.text import Text

from actors.cli.run_command import logging_trouble
from actors.core.errors import ungrouped
from actors.display.console import SafeConsole
from actors.display.progress import LINE_EVERY_S
from actors.display.words import duration
from actors.logs.output import output, say

T = TypeVar("T")


async def with_progress(search: Callable[..., Awaitable[T]]) -> T:
    """Return the result of a search, and show its progress on standard error."""
    progress = _Progress()
    console = SafeConsole(stderr=True)
    is_live = console.is_terminal and not console.is_dumb_terminal and not output.is_json
    live = Live(get_renderable=progress.drawn, console=console, transient=True) if is_live else nullcontext()
    with logging_trouble(), ungrouped(), live:
        async with anyio.create_task_group() as tasks:

            async def tell() -> None:
                while True:
                    await anyio.sleep(LINE_EVERY_S)
                    say(progress.words())

            if not is_live:
                tasks.start_soon(tell)
            found = await search(on_progress=progress.note)
            tasks.cancel_scope.cancel()
    return found


class _Progress:
    """The progress of a search."""

    def __init__(self) -> None:
        self._done, self._wanted = 0, 0
        self._begun = time.monotonic()

    def note(self, done: int, wanted: int) -> None:
        """Record the futures that are done, and those that are wanted so far."""
        if not self._done:
            self._begun = time.monotonic()
        self._done, self._wanted = done, wanted

    def words(self) -> str:
        """Return the progress in words, with the time left."""
        if self._done < 2:
            return "doing the run again"
        each_s = (time.monotonic() - self._begun) / (self._done - 1)
        left = duration(each_s * (self._wanted - self._done))
        return f"{self._done:,} of {self._wanted:,} other futures, {1.0 / max(each_s, 1e-9):,.1f} a second, {left} left"

    def drawn(self) -> Grid:
        """Return the progress as a bar beside its words."""
        grid = Grid.grid(padding=(0, 1))
        grid.add_row(ProgressBar(max(1, self._wanted), self._done, width=20), Text(self.words()))
        return grid

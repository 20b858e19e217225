"""The display of a step at the start of a run, before there is progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import perf_counter

from rich.live import Live
from rich.text import Text

from actors.core.phase import Phase
from actors.display.console import SafeConsole
from actors.display.phase import phase_words
from actors.display.progress import LINE_EVERY_S
from actors.logs.output import output, say

SHOWN_AFTER_S = 0.5
"""The duration from which a step is shown."""
GREETING = "greeting the oracle"
"""The step in which the oracle's server is asked a first question."""
PREPARING = "making kernels ready, which takes up to a minute the first time"
"""The step in which kernels are compiled, or loaded."""
PATIENCE_S = 1.0
"""The time for which the end of a step waits for a terminal that accepts no output."""


@contextmanager
def step_shown(step: str) -> Iterator[None]:
    """Show a step while the block runs, if it takes long: on a terminal in its place, elsewhere as a line now and then.

    It blocks at its end, for a moment.
    """
    done = Event()
    shower = Thread(target=_show, args=(step, done), name="starting", daemon=True)
    shower.start()
    try:
        yield
    finally:
        done.set()
        shower.join(PATIENCE_S)


def _show(step: str, done: Event) -> None:
    console, begun = SafeConsole(stderr=True), perf_counter()

    def words() -> str:
        return phase_words(Phase.STARTING, perf_counter() - begun, step)

    def text() -> Text:
        return Text(f"prism: {words()}", no_wrap=True, overflow="ellipsis")

    if not console.is_terminal or console.is_dumb_terminal or output.is_json:
        while not done.wait(LINE_EVERY_S):
            say(words())
    elif not done.wait(SHOWN_AFTER_S):
        with Live(get_renderable=text, console=console, transient=True):
            done.wait()

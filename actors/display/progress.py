"""The progress display of a run: a live table on a terminal or in a notebook, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from time import perf_counter
from typing import Any, NamedTuple

import anyio
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from actors.core.phase import WAITING, Phase
from actors.display.console import SafeConsole, echo
from actors.display.words import duration, share, usd
from actors.logs.output import output, say, say_json
from actors.runtime.simulation import Progress
from prism.palette import state_styles
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
    """The present state of work in words, and of the whole the part that is done; without a whole there is no bar."""

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


@contextmanager
def step_shown(step: str) -> Iterator[Any]:
    """Show a step and its time if it takes long, in a context whose value is a function that begins another step."""
    begun = perf_counter()

    def begin(another: str) -> None:
        nonlocal step, begun
        step, begun = another, perf_counter()

    with progress_shown(lambda: Standing(f"{step}, {duration(perf_counter() - begun)}"), after_s=SHOWN_AFTER_S):
        yield begin


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


REFRESH_S = 0.25
REPLAYING = "doing recorded ticks again"
LOOK_EVERY_S = 1.0
"""The time between two looks at the world."""
SLOW_S = 10.0
"""The p95 of the latency that is too long, as a wait of that time makes a run wait for its oracle."""


class Pace:
    """The pace of a run: its rates, and the time of its phase."""

    def __init__(self, read: Callable[[], Progress], clock: Callable[[], float] = perf_counter) -> None:
        self._read = read
        self._clock = clock
        self._begun = self._changed = clock()
        self._phase: Phase | None = None
        self._first: tuple[float, int, int] | None = None
        """Time, ticks and transitions when this process began to do ticks for the first time: a resumed run does not
        begin at tick 0."""
        self._was_replaying = False
        self.ticks_per_s = self.transitions_per_s = 0.0

    def now(self) -> Progress:
        """Return the progress now, and update the rates."""
        progress, moment = self._read(), self._clock()
        if self._first is None or progress.is_replaying or self._was_replaying:
            # Ticks that are done again do not count for the pace: they are much faster, because no question is asked.
            self._first, self._was_replaying = (moment, progress.tick, progress.transitions), progress.is_replaying
        if progress.phase is not self._phase:
            self._phase, self._changed = progress.phase, moment
        since, ticks, transitions = self._first
        elapsed = max(1e-9, moment - since)
        self.ticks_per_s = (progress.tick - ticks) / elapsed
        self.transitions_per_s = (progress.transitions - transitions) / elapsed
        return progress

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._begun

    @property
    def phase_s(self) -> float:
        return self._clock() - self._changed

    def eta_s(self, progress: Progress) -> float | None:
        """Return the seconds to go at the mean pace so far; None before the first tick, and while the run waits."""
        if progress.phase in WAITING:
            return None  # the wait has no known end
        return (progress.ticks - progress.tick) / self.ticks_per_s if self.ticks_per_s else None


async def show_progress(read: Callable[[], Progress]) -> None:
    console, pace = live_console(), Pace(read)
    if console is None:
        pace.now()  # otherwise the first line would have no rates
        while True:
            await anyio.sleep(LINE_EVERY_S)
            progress = pace.now()
            if output.is_json:
                say_json("info", "progress", **facts(progress, pace))
            else:
                echo(line(progress, pace), err=True)
    progress = pace.now()
    highlights: Sequence[str] = progress.highlights()
    shown = table(progress, pace, highlights)
    looked_s = pace.elapsed_s
    # The thread of the display asks for what is shown: a terminal that accepts no output does not hold up the run.
    with Live(get_renderable=lambda: shown, console=console, transient=True):
        while True:
            await anyio.sleep(REFRESH_S)
            progress = pace.now()
            if pace.elapsed_s - looked_s >= LOOK_EVERY_S:
                highlights, looked_s = progress.highlights(), pace.elapsed_s
            shown = table(progress, pace, highlights)


def facts(progress: Progress, pace: Pace) -> dict[str, Any]:
    """Return the progress as the keys of a JSON object. Keys that do not apply are left out."""
    shown = {
        "tick": progress.tick,
        "ticks": progress.ticks,
        "phase": progress.phase.value,
        "phase_s": pace.phase_s,
        "phase_reason": progress.phase_reason or None,
        "to_redo": progress.to_redo or None,
        "eta_s": pace.eta_s(progress),
        "ticks_per_s": None if progress.is_replaying else pace.ticks_per_s,
        "transitions_per_s": None if progress.is_replaying else pace.transitions_per_s,
        "oracle_waiting": progress.oracle_queue,
        "oracle_asked": progress.oracle_in_flight,
        "fallbacks": progress.fallbacks,
        "cost_usd": progress.cost_usd,
        "waiting_for_oracle_s": progress.waiting_for_oracle_s,
        "outage_reason": progress.outage_reason or None,
        "agents_by_state": {state: count for state, count in progress.agents_by_state.items() if count},
    }
    rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in shown.items()}
    return {name: value for name, value in rounded.items() if value is not None}


def phase_words(progress: Progress, pace: Pace) -> str:
    """Return the phase, its time so far, the ticks that are to be done again, and why the run waits.

    The phase `running` is shown without its time: readers would take it for the time of the whole run.
    """
    phase = progress.phase
    words = str(phase) if phase == Phase.RUNNING else f"{phase} for {duration(pace.phase_s)}"
    if phase == Phase.RECOVERING and progress.to_redo:
        words += f", {progress.to_redo:,} recorded ticks to be done again"
    return f"{words} ({progress.phase_reason})" if progress.phase_reason else words


def line(progress: Progress, pace: Pace) -> str:
    rates = f"{pace.ticks_per_s:.0f} ticks/s {pace.transitions_per_s:.0f} transitions/s"
    states = " ".join(f"{state}={count}" for state, count in progress.agents_by_state.items() if count)
    return (
        f"tick {progress.tick}/{progress.ticks} ({share(progress.tick, progress.ticks)})"
        f" eta {duration(pace.eta_s(progress))}"
        f" | {phase_words(progress, pace)}"
        f" | {REPLAYING if progress.is_replaying else rates}"
        f" | oracle waiting={progress.oracle_queue} asked={progress.oracle_in_flight} fallbacks={progress.fallbacks}"
        f"{'' if progress.cost_usd is None else f' spent={usd(progress.cost_usd)}'}"
        f" | {states}"
    )


def table(progress: Progress, pace: Pace, highlights: Sequence[str] = ()) -> Table:
    """Return the progress as a table: phase, ticks, agents by state, rates and oracle, and lines about the world."""
    # 1. The ticks done, as a bar and in numbers.
    tick, ticks = progress.tick, progress.ticks
    head = Table.grid(padding=(0, 2), expand=True)
    head.add_column(ratio=1)
    head.add_column(no_wrap=True)
    text = f"tick {tick:,} of {ticks:,} ({share(tick, ticks)})"
    head.add_row(ProgressBar(ticks, tick, complete_style="green", finished_style="green"), Text(text, style="bold"))
    time = f"{duration(pace.elapsed_s)} elapsed, {duration(pace.eta_s(progress))} to go"
    time += "" if progress.cost_usd is None else f", {usd(progress.cost_usd)} spent"
    # 2. The number of agents in each state, with bars; the longest bar is for the fullest state.
    states = Table.grid(padding=(0, 2), expand=True)
    states.add_column(ratio=1)
    states.add_column(no_wrap=True)
    states.add_column(no_wrap=True)
    most, styles = max((1.0, *progress.agents_by_state.values())), state_styles(list(progress.agents_by_state))
    for state, count in progress.agents_by_state.items():
        style = styles[state]
        bar = ProgressBar(most, count, complete_style=style.color, finished_style=style.color)
        marked = Text.assemble((f"{style.text} ", style.color), printable(state))
        states.add_row(bar, Text(f"{count:>9,.0f}", justify="right"), marked)
    # 3. The rates and the oracle's numbers, a row each, with a warning where something is amiss.
    ill = f"{progress.quarantined:,} quarantined" if progress.quarantined else ""
    rates = f"{pace.ticks_per_s:,.1f}, {pace.transitions_per_s:,.0f} transitions/s"
    latency = f"p50 {progress.oracle_latency_s_p50:.3f} s, p95 {progress.oracle_latency_s_p95:.3f} s"
    rows = Table.grid(padding=(0, 2))
    for name, text, warning in (
        ("ticks/s", REPLAYING if progress.is_replaying else rates, ill),
        ("queue", f"{progress.oracle_queue:,} waiting, {progress.oracle_in_flight:,} being asked", ""),
        ("latency", latency, "slow" if progress.oracle_latency_s_p95 >= SLOW_S else ""),
        ("fallbacks", f"{progress.fallbacks:,}", ""),
    ):
        rows.add_row(name, Text.assemble(text, (f"  ! {warning}" if warning else "", "bold yellow")))
    whole = Table.grid(expand=True)
    sign, color = "", "bold green" if progress.phase == Phase.RUNNING else "bold cyan"
    if progress.phase in WAITING:
        sign, color = "! ", "bold yellow"
    phase = Text(f"{sign}{phase_words(progress, pace)}", style=color)
    parts: list[Table | Text] = [phase, head, Text(time, style="dim"), Text(), states, Text(), rows]
    for part in (*parts, *(Text(printable(text), no_wrap=True, overflow="ellipsis") for text in highlights)):
        whole.add_row(part)
    return whole


async def show_in_notebook(read: Callable[[], Progress]) -> None:
    """Show the table below the running cell until cancelled. The last one stays there."""
    from IPython.display import display  # noqa: PLC0415  # a notebook has it, and PRISM does not depend on it

    pace = Pace(read)
    shown = display(table(pace.now(), pace), display_id=True)
    try:
        while True:
            await anyio.sleep(REFRESH_S)
            shown.update(table(pace.now(), pace))
    finally:
        shown.update(table(pace.now(), pace))

"""The progress display of a run: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import anyio
import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from actors.display.progress_bar import ProgressBar
from actors.logs.output import output, say_json
from actors.runtime.simulation import Progress

REFRESH_S = 0.25
LINE_EVERY_S = 5.0
REPLAYING = "doing recorded ticks again"
STANDS_AFTER_S = 1.0
"""The duration of a tick with open questions from which the clock is shown to stand: it probably waits for them."""


class Pace:
    """The pace of a run: its rates, and the time for which its clock has stood.

    Args:
        read: returns the progress now.
        clock: seconds.
    """

    def __init__(self, read: Callable[[], Progress], clock: Callable[[], float] = perf_counter) -> None:
        self._read = read
        self._clock = clock
        self._begun = self._moved = clock()
        self._last = (self._begun, 0, 0)
        self._first: int | None = None
        """The first tick that this process did for the first time: a resumed run does not begin at tick 0."""
        self._begun_ticks = self._begun
        """The time at which it began."""
        self._was_replaying = False
        self.ticks_per_s = self.transitions_per_s = 0.0

    def now(self) -> Progress:
        """Return the progress now, and update the rates since the call before."""
        progress, moment = self._read(), self._clock()
        since, ticks, transitions = self._last
        if progress.tick != ticks:
            self._moved = moment
        if self._first is None or progress.is_replaying or self._was_replaying:
            # What is done again is no pace: it is much faster, because no question is asked.
            self._begun_ticks, self._was_replaying = moment, progress.is_replaying
            self._first, ticks, transitions = progress.tick, progress.tick, progress.transitions
        elapsed = max(1e-9, moment - since)
        self.ticks_per_s = (progress.tick - ticks) / elapsed
        self.transitions_per_s = (progress.transitions - transitions) / elapsed
        self._last = (moment, progress.tick, progress.transitions)
        return progress

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._begun

    def eta_s(self, progress: Progress) -> float | None:
        """Return the seconds to go at the mean pace so far; None before the first tick."""
        done = progress.tick - (self._first or 0)
        return (self._clock() - self._begun_ticks) * (progress.ticks - progress.tick) / done if done else None

    def stands_s(self, progress: Progress) -> float | None:
        """Return the seconds for which the clock has stood with open questions; None if it moves or none is open."""
        stands_s = self._clock() - self._moved
        is_open = progress.oracle_queue + progress.oracle_in_flight > 0
        return stands_s if is_open and stands_s >= STANDS_AFTER_S else None


async def show_progress(read: Callable[[], Progress]) -> None:
    """Show progress on standard error until cancelled."""
    console = Console(stderr=True)
    pace = Pace(read)
    # A live table needs a terminal that can move the cursor.
    if not console.is_terminal or console.is_dumb_terminal or output.is_json:
        pace.now()  # else the first line would have no rates
        while True:
            await anyio.sleep(LINE_EVERY_S)
            _print_line(pace.now(), pace)
    with Live(table(pace.now(), pace), console=console, refresh_per_second=4, transient=True) as live:
        while True:
            await anyio.sleep(REFRESH_S)
            live.update(table(pace.now(), pace))


def _print_line(progress: Progress, pace: Pace) -> None:
    if output.is_json:
        say_json("info", "progress", **facts(progress, pace))
    else:
        click.echo(line(progress, pace), err=True)


def facts(progress: Progress, pace: Pace) -> dict[str, Any]:
    """Return the progress as the keys of a JSON object. Those of what is not the case are left out."""
    shown = {
        "tick": progress.tick,
        "ticks": progress.ticks,
        "phase": progress.phase.value,
        "eta_s": pace.eta_s(progress),
        "ticks_per_s": None if progress.is_replaying else pace.ticks_per_s,
        "transitions_per_s": None if progress.is_replaying else pace.transitions_per_s,
        "oracle_waiting": progress.oracle_queue,
        "oracle_asked": progress.oracle_in_flight,
        "fallbacks": progress.fallbacks,
        "cost_usd": progress.cost_usd,
        "clock_stands_s": pace.stands_s(progress),
        "waiting_for_oracle_s": progress.waiting_for_oracle_s,
        "outage_reason": progress.outage_reason or None,
        "agents_by_state": {state: count for state, count in progress.agents_by_state.items() if count},
    }
    rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in shown.items()}
    return {name: value for name, value in rounded.items() if value is not None}


def line(progress: Progress, pace: Pace) -> str:
    """Return the progress as one plain line."""
    stands_s = pace.stands_s(progress)
    rates = f"{pace.ticks_per_s:.0f} ticks/s {pace.transitions_per_s:.0f} transitions/s"
    states = " ".join(f"{state}={count}" for state, count in progress.agents_by_state.items() if count)
    return (
        f"tick {progress.tick}/{progress.ticks} ({share(progress.tick, progress.ticks)})"
        f" eta {duration(pace.eta_s(progress))}"
        f" | {REPLAYING if progress.is_replaying else rates}"
        f" | oracle waiting={progress.oracle_queue} asked={progress.oracle_in_flight} fallbacks={progress.fallbacks}"
        f"{'' if progress.cost_usd is None else f' spent={usd(progress.cost_usd)}'}"
        f"{'' if stands_s is None else f' clock_stands={duration(stands_s)}'}"
        f"{_waiting(progress.waiting_for_oracle_s, progress.outage_reason, ' | ')}"
        f" | {states}"
    )


def table(progress: Progress, pace: Pace) -> RenderableType:
    """Return the progress as a table: ticks, pace, agents by state, and the oracle."""
    time = Text(f"{duration(pace.elapsed_s)} elapsed, {duration(pace.eta_s(progress))} to go", style="dim")
    rates = f"{pace.ticks_per_s:,.0f} ticks/s   {pace.transitions_per_s:,.0f} transitions/s"
    facts = Text(
        f"{REPLAYING if progress.is_replaying else rates}   quarantined {progress.quarantined}\n"
        f"oracle: {progress.oracle_queue} waiting, {progress.oracle_in_flight} being asked, "
        f"p50 {progress.oracle_latency_s_p50:.3f} s, p95 {progress.oracle_latency_s_p95:.3f} s, "
        f"{progress.fallbacks} fallbacks",
    )
    if progress.cost_usd is not None:
        facts.append(f"\n{usd(progress.cost_usd)} spent")
    if progress.waiting_for_oracle_s is not None:
        facts.append(_waiting(progress.waiting_for_oracle_s, progress.outage_reason, "\n"), style="yellow")
    elif (stands_s := pace.stands_s(progress)) is not None:
        questions = progress.oracle_queue + progress.oracle_in_flight
        facts.append(
            f"\nthe clock has stood for {duration(stands_s)}, with {questions:,} questions open", style="yellow"
        )
    head = headline(progress.tick, progress.ticks)
    return Group(head, time, Text(), states_table(progress.agents_by_state), Text(), facts)


def _waiting(waited_s: float | None, reason: str, before: str) -> str:
    return "" if waited_s is None else f"{before}{waiting_text(waited_s, reason)}"


def waiting_text(waited_s: float, reason: str) -> str:
    """Return the text for a run that waits for a server that is away."""
    return f"waiting for the oracle for {duration(waited_s)} ({reason})"


def headline(tick: int, ticks: int, *more: str) -> RenderableType:
    """Return the ticks done as a bar and in numbers, with further texts on the same line."""
    head = Table.grid(padding=(0, 2))
    text = ", ".join((f"tick {tick:,} of {ticks:,} ({share(tick, ticks)})", *more))
    head.add_row(ProgressBar(tick, ticks, style="green"), Text(text, style="bold"))
    return head


def states_table(counts: Mapping[str, float]) -> RenderableType:
    """Return the number of agents in each state, as a table with bars; the longest bar is for the fullest state."""
    table = Table.grid(padding=(0, 2))
    most = max((1.0, *counts.values()))
    for state, count in counts.items():
        table.add_row(ProgressBar(count, most, has_track=False), Text(f"{count:>9,.0f}", justify="right"), state)
    return table


def share(part: float, whole: float) -> str:
    """Return a part in percent, rounded down, so that only the whole is 100%."""
    return f"{math.floor(100 * part / whole)}%"


def usd(amount: float) -> str:
    """Return an amount in US dollars: to the cent, and below a dollar to the hundredth of a cent."""
    return f"${amount:,.2f}" if amount >= 1.0 else f"${amount:.4f}"


def duration(seconds: float | None) -> str:
    """Return seconds as `1 h 02 min`, `3 min 04 s` or `5 s`; a dash for None."""
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"

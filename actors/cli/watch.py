"""`prism watch`: shows runs that other processes execute, by their metrics and events."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click
from rich.console import Console, Group, RenderableType
from rich.text import Text

from actors.cli.metrics_client import Interval, MetricsClient, Scrape
from actors.cli.watched_run import (
    CALLS,
    PLANNED,
    TICKS,
    Event,
    Sighting,
    WatchedRun,
    phase_of,
    phase_parts,
    ticks,
    ticks_per_s,
)
from actors.core.events import CheckpointWritten
from actors.core.phase import Phase
from actors.display.console import SafeConsole, echo
from actors.display.frame import Frame
from actors.display.phase import phase_line, phase_words
from actors.display.progress import LINE_EVERY_S, REPLAYING, headline, states_table
from actors.display.trends import Row, Trends, oracle_rows, trends_table
from actors.display.words import duration, share, usd
from actors.record.manifest import refuse_others
from prism.quoting import printable

EVERY_S = 1.0
KEYS_S = 0.2
"""The time between two looks at the keys."""


@click.command()
@click.argument("names", metavar="URL_OR_RUN...", nargs=-1, required=True)
@click.option("--once", is_flag=True, help="Print one view and end; exit code 1 if there is nothing to see.")
@click.option("--user", metavar="NAME", help="Whose password is in PRISM_METRICS_PASSWORD.  [default: as RUN says]")
@click.option(
    "--ca", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE", help="Certificates to trust."
)
def watch(names: tuple[str, ...], *, once: bool, user: str | None, ca: Path | None) -> None:
    """Show the progress of runs of other processes.

    URL_OR_RUN is the address of a run's metrics, such as http://127.0.0.1:9464, or its directory. The run must have
    been started with metrics.enabled=true. The space bar stops the display and starts it again, n shows the next of
    several runs, and q or Ctrl-C ends this command, not the run. It ends by itself when every run has ended.
    """
    for name in names:
        refuse_others(Path(name))
    runs = [WatchedRun(MetricsClient(name, user, ca)) for name in names]
    console = SafeConsole()
    try:
        if once:
            _print_once(console, runs)
        elif console.is_terminal and not console.is_dumb_terminal:
            _show(console, runs)
        else:
            _print_lines(runs)
    except KeyboardInterrupt:
        return


def _print_once(console: Console, runs: Sequence[WatchedRun]) -> None:
    for run in runs:
        run.look()
    if any(run.now.interval for run in runs):
        time.sleep(EVERY_S)
    is_missing = False
    for run in runs:
        if run.now.interval is not None and not run.look().problem:
            console.print(view(run.now, run.trends))
        else:
            is_missing = True
            echo(f"prism: {run.now.ended or run.now.problem}", err=True)
    if is_missing:
        sys.exit(1)


def _print_lines(runs: Sequence[WatchedRun]) -> None:
    """Print a plain line for each run every few seconds, until all have ended."""
    told: dict[str, str] = {}
    while left := [run for run in runs if not run.now.ended]:
        for run in left:
            now, name = run.look(), run.client.name
            if now.ended:
                echo(now.ended)
            elif not now.problem:
                echo(line(now) if len(runs) == 1 else f"{name}: {line(now)}")
            elif told.get(name) != now.problem:
                echo(f"prism: {now.problem}; waiting", err=True)
            told[name] = now.problem
        if any(not run.now.ended for run in runs):
            time.sleep(LINE_EVERY_S)


def _show(console: Console, runs: Sequence[WatchedRun]) -> None:
    """Show the runs until all have ended, each looked at by a thread of its own."""
    for run in runs:
        run.look_every(EVERY_S)
    shown, is_paused, key = 0, False, ""
    with Keys() as keys, Frame(console, stays=True) as frame:
        while key != "q" and not all(run.now.ended for run in runs):
            key = keys.pressed(KEYS_S)
            is_paused ^= key == " "
            shown = (shown + (key == "n")) % len(runs)
            if not is_paused or key in {" ", "n"}:
                help_line = _help(len(runs), is_paused=is_paused) if keys.are_there else ""
                frame.content = _content(runs, shown, help_line)
        frame.content = _content(runs, shown, "")
    for run in runs:
        if run.now.ended:
            echo(run.now.ended)


def _content(runs: Sequence[WatchedRun], shown: int, help_line: str) -> RenderableType:
    parts: list[RenderableType] = []
    if len(runs) > 1:
        for number, run in enumerate(runs):
            mark, style = (">", "bold") if number == shown else (" ", "")
            text = f"{mark} {brief(run.client.name, run.now)}"
            parts.append(Text(text, style=style, no_wrap=True, overflow="ellipsis"))
        parts.append(Text())
    run = runs[shown]
    parts.append(view(run.now, run.trends) if run.now.interval else Text("nothing seen yet"))
    if run.now.problem and not run.now.ended:
        parts.append(Text(f"! {run.now.problem}; trying again", style="red"))
    if help_line:
        parts.append(Text(help_line, style="dim"))
    return Group(*parts)


def _help(count: int, *, is_paused: bool) -> str:
    pause = "paused: space goes on" if is_paused else "space pauses"
    return ", ".join([pause, *(["n next run"] if count > 1 else []), "q quits"])


EVENTS_SHOWN = 5
NOT_SHOWN = {CheckpointWritten.name()}
"""The events that another line shows."""
LATE_S = 1.0
"""The lag of the event loop from which there is a warning, as in the alert on it."""
ECONOMY = "prism_economy_"


def line(sighting: Sighting) -> str:
    """Return a sighting as one plain line. The run has been seen."""
    interval = sighting.seen
    now = interval.after
    agents = " ".join(f"{state}={count:.0f}" for state, count in now.by("prism_agents", "state").items() if count)
    planned, done = now.value(PLANNED), ticks(now)
    where = f"/{planned:.0f} ({share(done, planned)}) eta {duration(_left_s(interval))}" if planned else ""
    phase = phase_words(*phase_parts(sighting, interval)) if phase_of(now) else ""
    return (
        f"tick {done:.0f}{where}{f' | {phase}' if phase else ''} | round {now.value('prism_round'):.0f}"
        f" | {_pace(interval)} | oracle waiting={now.value('prism_oracle_queue_depth'):.0f}"
        f" asked={now.value('prism_llm_requests_in_flight'):.0f} fallbacks={now.value('prism_fallbacks_total'):.0f}"
        f" | {agents}"
    )


def brief(name: str, sighting: Sighting) -> str:
    """Return a run among several in a line: its name, its phase and its ticks, or its end."""
    if sighting.ended:
        return sighting.ended
    if sighting.interval is None:
        return f"{name}: {sighting.problem or 'not seen yet'}"
    now = sighting.interval.after
    phase = phase_words(*phase_parts(sighting, sighting.interval)) if phase_of(now) else "under way"
    planned, done = now.value(PLANNED), ticks(now)
    where = f", tick {done:,.0f} of {planned:,.0f} ({share(done, planned)})" if planned else ""
    away = f" ({sighting.problem})" if sighting.problem else ""
    return f"{name}: {phase}{where}{away}"


def view(sighting: Sighting, trends: Trends) -> RenderableType:
    """Return a sighting as a table: the run, its phase, its ticks, agents by state, trends, counts and events.

    The run has been seen.
    """
    interval = sighting.seen
    agents = interval.after.by("prism_agents", "state")
    if not agents and not interval.after.value(PLANNED):  # it starts
        return Group(*_head(sighting, interval), *_events(sighting.events))
    return Group(
        *_head(sighting, interval),
        Text(),
        states_table(agents),
        Text(),
        trends_table(trends, _rows(interval, trends)),
        *map(Text, _facts(interval)),
        *_events(sighting.events),
    )


def _head(sighting: Sighting, interval: Interval) -> Iterator[RenderableType]:
    now = interval.after
    parts = phase_parts(sighting, interval)
    phase = parts[0]
    run = now.labels("prism_run_info")
    is_over = not phase and not now.value("prism_run_active")
    if run:
        what = f"run {run.get('run_id')}: {run.get('scenario')}, {run.get('backend')}, seed {run.get('seed')}"
        yield Text(f"{what}{', not under way' if is_over else ''}", style="bold")
    if phase:
        yield phase_line(*parts)
    if not now.value(PLANNED):  # it starts
        return
    done, planned, rounds = ticks(now), now.value(PLANNED), f"round {now.value('prism_round'):,.0f}"
    yield headline(int(done), int(planned), rounds)
    if not is_over and phase != Phase.ENDED:
        yield Text(f"{duration(_left_s(interval))} to go", style="dim")


def _left_s(interval: Interval) -> float | None:
    """Return the seconds to go at the pace of the interval; None if no tick was committed in it."""
    pace = ticks_per_s(interval)
    left = interval.after.value(PLANNED) - ticks(interval.after)
    return max(0.0, left) / pace if pace else None


def _rows(interval: Interval, trends: Trends) -> Iterator[Row]:
    now = interval.after
    ill = now.value("prism_agents_quarantined")
    yield Row("ticks/s", _pace(interval).replace(" ticks/s", ""), f"{ill:,.0f} quarantined" if ill else "")
    asked, limit = now.value("prism_llm_requests_in_flight"), now.value("prism_llm_concurrency_limit")
    queue = f"{now.value('prism_oracle_queue_depth'):,.0f} waiting, {asked:,.0f} of {limit:,.0f} being asked"
    p50, p95 = (interval.quantile(share, CALLS, outcome="ok") for share in (0.5, 0.95))
    latency = f"p50 {_seconds(p50)}, p95 {_seconds(p95)}"
    yield from oracle_rows(trends, queue, latency, p95, now.value("prism_fallbacks_total"))


def _facts(interval: Interval) -> Iterator[str]:
    now = interval.after
    breaker = next((state for state, on in now.by("prism_oracle_breaker_state", "state").items() if on), "unknown")
    reasons = {reason: count for reason, count in now.by("prism_fallbacks_total", "reason").items() if count}
    why = (
        f", fallbacks by {', '.join(f'{reason} {count:,.0f}' for reason, count in reasons.items())}" if reasons else ""
    )
    cost_usd = now.value("prism_llm_cost_usd_total")
    spent = f", {usd(cost_usd)} spent" if cost_usd else ""
    yield f"oracle: breaker {breaker}, {now.value('prism_llm_tokens_total'):,.0f} tokens{spent}{why}"
    if world := _world(now):
        yield world
    written = now.value("prism_checkpoint_timestamp_seconds")
    checkpoint = f"{duration(max(0.0, time.time() - written))} ago" if written else "none"
    yield (
        f"journal: {now.value('prism_journal_ticks_total'):,.0f} ticks, "
        f"{now.value('prism_journal_bytes_total') / 1e6:,.1f} MB; latest checkpoint: {checkpoint}; "
        f"{now.value('prism_actor_restarts_total', reason='crash'):,.0f} restarts"
    )
    lag, longest = now.value("prism_event_loop_lag_seconds"), now.value("prism_event_loop_lag_seconds_max")
    memory = now.value("process_resident_memory_bytes") / 1e6
    late = f"event loop late by {lag:.3f} s, at most {longest:.3f} s in the last minute"
    yield f"{'! ' if longest >= LATE_S else ''}{late}; memory {memory:,.0f} MB"


def _world(now: Scrape) -> str:
    """Return the numbers of a feed or of an economy in a line; empty for other worlds."""
    if posts := now.by("prism_posts_total", "kind"):
        counts = ", ".join(f"{count:,.0f} {kind}" for kind, count in posts.items())
        told = [f"{now.value('prism_likes_total'):,.0f} likes"]
        told += [f"{count:,.0f} {kind}s" for kind, count in now.by("prism_tie_changes_total", "kind").items()]
        if now.has("prism_attribute_changes_total"):
            told.append(f"{now.value('prism_attribute_changes_total'):,.0f} attribute changes")
        return f"posts: {counts}; {', '.join(told)}"
    names = [name for name, labels in now.samples if name.startswith(ECONOMY) and not labels]
    return ", ".join(f"{name.removeprefix(ECONOMY).replace('_', ' ')} {now.value(name):,.2f}" for name in names)


def _events(events: Sequence[Event]) -> Iterator[RenderableType]:
    """Yield the latest events, a line each, with their local time."""
    shown = [event for event in events if event.get("event") not in NOT_SHOWN]
    for event in shown[-EVENTS_SHOWN:]:
        fields = {name: value for name, value in event.items() if name not in {"timestamp", "event"} and value != ""}
        at = event.get("timestamp")
        when = time.strftime("%H:%M:%S", time.localtime(at)) if isinstance(at, int | float) else "-"
        details = " ".join(f"{name}={value}" for name, value in fields.items())
        text = printable(f"{when}  {event.get('event', '?')}  {details}")
        yield Text(text, style="dim", no_wrap=True, overflow="ellipsis")


def _pace(interval: Interval) -> str:
    if not interval.after.has(TICKS):
        return f"{REPLAYING}: {interval.after.value('prism_ticks_replayed_total'):,.0f} so far"
    pace = ticks_per_s(interval)
    transitions = interval.rate(lambda scrape: scrape.value("prism_agent_transitions_total")) if pace else 0.0
    return f"{pace:,.1f} ticks/s, {transitions:,.0f} transitions/s"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f} s"


FATAL = (signal.SIGTERM, signal.SIGHUP)
"""The signals that would end the process at once, and leave the terminal as it is."""


class Keys:
    """The keys that the user presses. If standard input is no terminal of this process, there are no keys.

    The terminal passes on keys at once, and shows none of them, until the block ends: also by an error, Ctrl-C or a
    signal. After Ctrl-Z and `fg` it does so again.
    """

    def __init__(self) -> None:
        self._before: list[Any] | None = None
        self._handlers: dict[signal.Signals, Any] = {}

    @property
    def are_there(self) -> bool:
        """True if the user can press keys."""
        return self._before is not None

    def __enter__(self) -> Keys:
        if _is_own_terminal():
            self._before = termios.tcgetattr(0)
            self._handle(_end, *FATAL)
            self._handle(self._go_on, signal.SIGCONT)
            tty.setcbreak(0, termios.TCSANOW)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            termios.tcsetattr(0, termios.TCSANOW, self._before)
            for kind, handler in self._handlers.items():
                signal.signal(kind, handler)
            self._before = None

    def pressed(self, within_s: float) -> str:
        """Wait for a key, and return it; empty if no key is pressed in that time."""
        if self._before is None:
            time.sleep(within_s)
            return ""
        if not select.select([0], [], [], within_s)[0]:
            return ""
        key = os.read(0, 1)
        if not key:  # the terminal is gone
            raise KeyboardInterrupt
        return key.decode(errors="replace")

    def _handle(self, handler: Callable[[int, FrameType | None], None], *kinds: signal.Signals) -> None:
        for kind in kinds:
            self._handlers[kind] = signal.signal(kind, handler)

    def _go_on(self, _: int, __: FrameType | None) -> None:
        if self._before is not None and _is_own_terminal():
            tty.setcbreak(0, termios.TCSANOW)


def _end(kind: int, _: FrameType | None) -> None:
    sys.exit(128 + kind)


def _is_own_terminal() -> bool:
    """Return whether standard input is a terminal, and this process is not in its background."""
    try:
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False

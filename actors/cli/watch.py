"""`prism watch`: shows a run that another process executes, by its metrics."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from actors.cli.metrics_client import MetricsClient
from actors.cli.scrape import Interval, Scrape
from actors.core.errors import WatchError
from actors.display.progress import (
    LINE_EVERY_S,
    REPLAYING,
    duration,
    headline,
    share,
    states_table,
    usd,
    waiting_text,
)

EVERY_S = 1.0
WINDOW_S = 10.0
"""Rates are over the latest scrapes of this time."""

TICKS, PLANNED, CALLS = "prism_ticks_total", "prism_ticks_planned", "prism_llm_request_duration_seconds"


@click.command()
@click.argument("run", metavar="URL_OR_RUN")
@click.option("--once", is_flag=True, help="Print one view and end; exit code 1 if there is nothing to see.")
@click.option("--user", metavar="NAME", help="Whose password is in PRISM_METRICS_PASSWORD.  [default: as RUN says]")
@click.option(
    "--ca", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE", help="Certificates to trust."
)
def watch(run: str, *, once: bool, user: str | None, ca: Path | None) -> None:
    """Show a run that another process executes, by its metrics.

    URL_OR_RUN is the address of its metrics, such as http://127.0.0.1:9464, or its directory. The run must have been
    started with metrics.enabled=true. Ctrl-C ends this command, not the run.
    """
    client = MetricsClient(run, user, ca)
    if once:
        try:
            Console().print(view(client.interval(EVERY_S)))
        except WatchError:
            if (outcome := client.outcome) is None:
                raise
            click.echo(f"prism: {outcome}", err=True)
            sys.exit(1)
        return
    try:
        _show(client)
    except KeyboardInterrupt:
        return


def _show(client: MetricsClient) -> None:
    """Show the run until it ends: a live table on a terminal, plain lines elsewhere."""
    console = Console()
    if not console.is_terminal or console.is_dumb_terminal:
        told = ""
        for interval, problem in client.intervals(LINE_EVERY_S, WINDOW_S):
            if problem and (outcome := client.outcome) is not None:
                click.echo(outcome)
                return
            if interval:
                click.echo(line(interval))
            elif problem != told:
                click.echo(f"prism: {problem}; waiting", err=True)
            told = problem
        return
    with Live(Text("..."), console=console, auto_refresh=False) as live:
        latest: RenderableType = Text("nothing seen yet")
        for interval, problem in client.intervals(EVERY_S, WINDOW_S):
            latest = view(interval) if interval else latest
            if problem and (outcome := client.outcome) is not None:
                live.update(Group(latest, Text(outcome)), refresh=True)
                return
            content = Group(latest, Text(f"{problem}; trying again", style="red")) if problem else latest
            live.update(content, refresh=True)


def line(interval: Interval) -> str:
    """Return an interval as one plain line."""
    now = interval.after
    agents = " ".join(f"{state}={count:.0f}" for state, count in now.by("prism_agents", "state").items() if count)
    waiting = _outage(interval)
    planned = now.value(PLANNED)
    ticks = _ticks(now)
    where = f"/{planned:.0f} ({share(ticks, planned)}) eta {duration(_left_s(interval))}" if planned else ""
    return (
        f"tick {ticks:.0f}{where} | round {now.value('prism_round'):.0f} | {_pace(interval)}"
        f" | oracle waiting={now.value('prism_oracle_queue_depth'):.0f}"
        f" asked={now.value('prism_llm_requests_in_flight'):.0f} fallbacks={now.value('prism_fallbacks_total'):.0f}"
        f"{'' if waiting is None else f' | {waiting}'} | {agents}"
    )


def view(interval: Interval) -> RenderableType:
    """Return an interval as a table: the run, its ticks, its pace, agents by state, the oracle and the journal."""
    agents = interval.after.by("prism_agents", "state")
    return Group(*_head(interval), Text(), states_table(agents), Text(), *map(Text, _facts(interval)))


def _head(interval: Interval) -> Iterator[RenderableType]:
    now = interval.after
    run = now.labels("prism_run_info")
    ended = "" if now.value("prism_run_active") else ", not under way"
    yield Text(
        f"run {run.get('run_id', '?')}: {run.get('scenario')}, {run.get('backend')}, seed {run.get('seed')}{ended}",
        style="bold",
    )
    done, planned, rounds = _ticks(now), now.value(PLANNED), f"round {now.value('prism_round'):,.0f}"
    if not planned:  # a version of PRISM without this metric
        yield Text(f"tick {done:,.0f}, {rounds}", style="bold")
        return
    yield headline(int(done), int(planned), rounds)
    if not ended:
        yield Text(f"{duration(_left_s(interval))} to go", style="dim")


def _left_s(interval: Interval) -> float | None:
    """Return the seconds to go at the pace of the interval; None if no tick was committed in it."""
    pace = _ticks_per_s(interval)
    left = interval.after.value(PLANNED) - _ticks(interval.after)
    return max(0.0, left) / pace if pace else None


def _outage(interval: Interval) -> str | None:
    """Return the text for a run that waits for its oracle; None if it does not."""
    seconds = interval.after.by("prism_oracle_outage_seconds", "reason").items()
    waited_s, reason = max(((waited_s, reason) for reason, waited_s in seconds), default=(0.0, ""))
    return waiting_text(waited_s, reason) if waited_s else None


def _facts(interval: Interval) -> Iterator[str]:
    now = interval.after
    yield (
        f"{_pace(interval)}   quarantined {now.value('prism_agents_quarantined'):.0f}   "
        f"restarts {now.value('prism_actor_restarts_total', reason='crash'):.0f}"
    )
    breaker = next((state for state, on in now.by("prism_oracle_breaker_state", "state").items() if on), "unknown")
    p50, p95 = (interval.quantile(share, CALLS, outcome="ok") for share in (0.5, 0.95))
    yield (
        f"oracle: {now.value('prism_oracle_queue_depth'):,.0f} waiting, "
        f"{now.value('prism_llm_requests_in_flight'):,.0f} of {now.value('prism_llm_concurrency_limit'):,.0f} being "
        f"asked, p50 {_seconds(p50)}, p95 {_seconds(p95)}, breaker {breaker}"
    )
    if (waiting := _outage(interval)) is not None:
        yield waiting
    reasons = {reason: count for reason, count in now.by("prism_fallbacks_total", "reason").items() if count}
    why = f" ({', '.join(f'{reason} {count:,.0f}' for reason, count in reasons.items())})" if reasons else ""
    cost_usd = now.value("prism_llm_cost_usd_total")
    spent = f", {usd(cost_usd)} spent" if cost_usd else ""
    yield f"{sum(reasons.values()):,.0f} fallbacks{why}, {now.value('prism_llm_tokens_total'):,.0f} tokens{spent}"
    written = now.value("prism_checkpoint_timestamp_seconds")
    checkpoint = f"{duration(max(0.0, time.time() - written))} ago" if written else "none"
    yield (
        f"journal: {now.value('prism_journal_ticks_total'):,.0f} ticks, "
        f"{now.value('prism_journal_bytes_total') / 1e6:,.1f} MB; latest checkpoint: {checkpoint}"
    )
    lag, longest = now.value("prism_event_loop_lag_seconds"), now.value("prism_event_loop_lag_seconds_max")
    memory = now.value("process_resident_memory_bytes") / 1e6
    yield f"event loop late by {lag:.3f} s, at most {longest:.3f} s in the last minute; memory {memory:,.0f} MB"


def _pace(interval: Interval) -> str:
    if not interval.after.has(TICKS):
        return f"{REPLAYING}: {interval.after.value('prism_ticks_replayed_total'):,.0f} so far"
    ticks = _ticks_per_s(interval)
    transitions = interval.rate(lambda scrape: scrape.value("prism_agent_transitions_total")) if ticks else 0.0
    return f"{ticks:,.1f} ticks/s   {transitions:,.0f} transitions/s"


def _ticks(now: Scrape) -> float:
    """Return the ticks of the run; while recorded ticks are done again, those of its journal."""
    return now.value(TICKS if now.has(TICKS) else "prism_journal_ticks_total")


def _ticks_per_s(interval: Interval) -> float:
    """Return the ticks a second; 0 if they were not shown before, since recorded ticks were done again."""
    return interval.rate(lambda scrape: scrape.value(TICKS)) if interval.before.has(TICKS) else 0.0


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f} s"

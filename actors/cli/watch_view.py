"""How the metrics of a run look on a terminal: a table, or one plain line."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from actors.cli.progress import BAR_WIDTH, duration
from actors.cli.scraped import Interval, Scrape

TICKS, CALLS = "prism_ticks_total", "prism_llm_request_duration_seconds"


def line(interval: Interval) -> str:
    """A reading as one plain line."""
    now = interval.after
    states = " ".join(f"{state}={count:.0f}" for state, count in now.by("prism_agents", "state").items() if count)
    return (
        f"tick {now.value(TICKS):.0f} round {now.value('prism_round'):.0f} | {_pace(interval)}"
        f" | oracle waiting={now.value('prism_oracle_queue_depth'):.0f}"
        f" asked={now.value('prism_llm_requests_in_flight'):.0f} fallbacks={now.value('prism_fallbacks_total'):.0f}"
        f" | {states}"
    )


def view(interval: Interval) -> RenderableType:
    """A reading as a table: which run, how far and how fast, who is where, and how the oracle and the journal do."""
    return Group(_head(interval.after), Text(), _states(interval.after), Text(), *map(Text, _facts(interval)))


def _head(now: Scrape) -> Text:
    run = now.labels("prism_run_info")
    named = f"{run.get('run_id', '?')} ({run.get('scenario')}, {run.get('backend')}, seed {run.get('seed')})"
    over = "" if now.value("prism_run_active") else ", not under way"
    return Text(f"{named}: tick {now.value(TICKS):,.0f}, round {now.value('prism_round'):,.0f}{over}", style="bold")


def _states(now: Scrape) -> Table:
    table = Table.grid(padding=(0, 2))
    counts = now.by("prism_agents", "state")
    most = max(1.0, *counts.values())
    for state, count in counts.items():
        bar = ProgressBar(total=most, completed=count, width=BAR_WIDTH, complete_style="cyan", finished_style="cyan")
        table.add_row(bar, Text(f"{count:>9,.0f}", justify="right"), state)
    return table


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
    reasons = {reason: count for reason, count in now.by("prism_fallbacks_total", "reason").items() if count}
    why = f" ({', '.join(f'{reason} {count:,.0f}' for reason, count in reasons.items())})" if reasons else ""
    yield f"{sum(reasons.values()):,.0f} fallbacks{why}, {now.value('prism_llm_tokens_total'):,.0f} tokens"
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
    ticks = interval.rate(lambda scrape: scrape.value(TICKS))
    transitions = interval.rate(lambda scrape: scrape.value("prism_agent_transitions_total"))
    return f"{ticks:,.1f} ticks/s   {transitions:,.0f} transitions/s"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f} s"

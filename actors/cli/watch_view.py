"""How the metrics of a run look on a terminal: a table, or one plain line."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from actors.cli.progress import duration, share, states, way
from actors.cli.scrape import Interval

TICKS, PLANNED, CALLS = "prism_ticks_total", "prism_ticks_planned", "prism_llm_request_duration_seconds"


def line(interval: Interval) -> str:
    """A reading as one plain line."""
    now = interval.after
    agents = " ".join(f"{state}={count:.0f}" for state, count in now.by("prism_agents", "state").items() if count)
    planned = now.value(PLANNED)
    where = f"/{planned:.0f} ({share(now.value(TICKS), planned)}) eta {duration(_left_s(interval))}" if planned else ""
    return (
        f"tick {now.value(TICKS):.0f}{where} | round {now.value('prism_round'):.0f} | {_pace(interval)}"
        f" | oracle waiting={now.value('prism_oracle_queue_depth'):.0f}"
        f" asked={now.value('prism_llm_requests_in_flight'):.0f} fallbacks={now.value('prism_fallbacks_total'):.0f}"
        f" | {agents}"
    )


def view(interval: Interval) -> RenderableType:
    """A reading as a table: which run, how far and how fast, who is where, and how the oracle and the journal do."""
    agents = interval.after.by("prism_agents", "state")
    return Group(*_head(interval), Text(), states(agents), Text(), *map(Text, _facts(interval)))


def _head(interval: Interval) -> Iterator[RenderableType]:
    now = interval.after
    run = now.labels("prism_run_info")
    over = "" if now.value("prism_run_active") else ", not under way"
    yield Text(
        f"{run.get('run_id', '?')} ({run.get('scenario')}, {run.get('backend')}, seed {run.get('seed')}){over}",
        style="bold",
    )
    done, planned, rounds = now.value(TICKS), now.value(PLANNED), f"round {now.value('prism_round'):,.0f}"
    if not planned:  # a version of PRISM that does not say
        yield Text(f"tick {done:,.0f}, {rounds}", style="bold")
        return
    yield way(int(done), int(planned), rounds)
    if not over:
        yield Text(f"{duration(_left_s(interval))} to go", style="dim")


def _left_s(interval: Interval) -> float | None:
    """Seconds to go at the pace of the interval; None while nothing moves."""
    pace = interval.rate(lambda scrape: scrape.value(TICKS))
    left = interval.after.value(PLANNED) - interval.after.value(TICKS)
    return max(0.0, left) / pace if pace else None


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

"""The PromQL of the panels. Every expression reads the runs and targets chosen above the dashboard, and no other.

Each result has the name of its run under `run_id`, so that several runs stand beside each other and are never added up.
"""

from __future__ import annotations

from actors.core.phase import Phase

RUN = 'prism_run_info{run_id=~"$run", instance=~"$instance"}'
"""The only series that has the run's name; the others are joined to it, so that one target may serve many runs."""
FORECAST = "15m"
"""Forecasts are by the trend of this time, as those of the alerts are."""


def of_run(expr: str) -> str:
    """Return the series of `expr` that belong to the chosen runs. They must still have `job` and `instance`."""
    return f"{expr} * on (job, instance) group_left (run_id) {RUN}"


def total(expr: str, *by: str) -> str:
    """Return the sum for each run, and for each combination of these labels."""
    return f"sum by ({', '.join(('run_id', *by))}) ({expr})"


def now(metric: str, *by: str) -> str:
    """Return the present value of a metric for each run, and for each combination of these labels."""
    return total(of_run(metric), *by)


def rate(metric: str, *by: str) -> str:
    """Return the increase a second of a counter, likewise."""
    return now(f"rate({metric}[$__rate_interval])", *by)


def trend(metric: str, *by: str) -> str:
    """Return the increase a second that forecasts go by, for each run.

    Until a run is as old as the window, `rate` would be too small, as it divides by the whole of it. `deriv` is right
    from the second scrape on, and what it is used for never falls, not over a resume either. The name of the run is
    joined before, at each step: another run may have had the same address within the window.
    """
    return total(f"deriv(({of_run(metric)})[{FORECAST}:15s])", *by)


def share(part: str, whole: str) -> str:
    """Return a quotient; nothing where the whole is 0."""
    return f"{part} / ({whole} > 0)"


def quantiles(histogram: str) -> dict[str, str]:
    """Return median, 95th and 99th percentile over the latest interval, interpolated within a bucket."""
    counts = rate(f"{histogram}_bucket", "le")
    return {f"p{100 * level:g}": f"histogram_quantile({level:g}, {counts})" for level in (0.5, 0.95, 0.99)}


def most(count: int, metric: str, *by: str) -> str:
    """Return the rates of a counter for the combinations of labels that grew most over the whole time shown."""
    grown = now(f"increase({metric}[$__range] @ end())", *by)
    return f"{rate(metric, *by)} and topk by (run_id) ({count}, {grown})"


NOT_THERE = 1 + len(Phase)
"""The number of a run that was there, and is not any more; phases have the numbers from 1 on."""
_PHASES = " or ".join(f'{number} * prism_run_phase{{phase="{phase}"}}' for number, phase in enumerate(Phase, start=1))
PHASE = f"max by (run_id) ({of_run(f'({_PHASES})')})"
WAS_THERE = f"max by (run_id) (last_over_time({RUN}[$__range])) unless on (run_id) prism_run_info"
PHASE_BEGAN = (
    "1000 * prism_run_phase_since_timestamp_seconds * on (job, instance) group_right () (prism_run_phase == 1)"
)
FAULTS = " + ".join(
    (
        now("prism_guard_errors_total"),
        now("prism_agents_quarantined"),
        f"abs({now('prism_population')} - {now('prism_agents')})",
    )
)
_OPEN, _HALF_OPEN = (now(f"prism_oracle_breaker_state{{state={state!r}}}") for state in ("open", "half_open"))
BREAKER = f"2 * {_OPEN} + {_HALF_OPEN}"

TICKS_LEFT = f"({now('prism_ticks_planned')} - {now('prism_ticks_total')})"
SECONDS_LEFT = share(TICKS_LEFT, trend("prism_ticks_total"))
COST, COST_TREND = now("prism_llm_cost_usd_total"), trend("prism_llm_cost_usd_total")
COST_AT_END = f"{COST} + {TICKS_LEFT} * {share(COST_TREND, trend('prism_ticks_total'))}"
BUDGET_LEFT_S = share(
    f"({now('prism_llm_budget', 'cap')} - {now('prism_llm_budget_used', 'cap')})", trend("prism_llm_budget_used", "cap")
)

UNDECIDED, AMBIGUOUS = 'prism_decisions_total{source=~"fallback|timeout"}', 'prism_decisions_total{source!="rule"}'
CHECKPOINT_AGE = now("(time() - (prism_checkpoint_timestamp_seconds > 0))")
SHARD_WORK = rate("prism_shard_busy_seconds_total", "shard")
EVENTS = "rate(prism_events_total{event=~'breaker_opened|spend_warning'}[$__rate_interval])"
"""The events that are marked as trouble."""

"""The PromQL of the panels. Every expression reads the runs and targets chosen above the dashboard, and no other.

Each result has the name of its run under `run_id`, so that several runs stand beside each other and are never added up.
"""

from __future__ import annotations

from typing import NamedTuple

RUN = 'prism_run_info{run_id=~"$run", instance=~"$instance"}'
"""The only series that has the run's name; the others are joined to it, so that one target may serve many runs."""
FORECAST = "15m"
"""Forecasts are by the trend of this time, as those of the alerts are."""


class Query(NamedTuple):
    """An expression, and the name of its series in the legend besides the run's name.

    Args:
        is_limit: whether it is a configured limit, which is drawn as a dashed line.
    """

    expr: str
    legend: str = ""
    is_limit: bool = False


def of_run(expr: str) -> str:
    """Return the series of `expr` that belong to the chosen runs. They must still have `job` and `instance`."""
    return f"{expr} * on (job, instance) group_left (run_id) {RUN}"


def rate(metric: str) -> str:
    """Return the increase a second of a counter of the chosen runs."""
    return of_run(f"rate({metric}[$__rate_interval])")


def trend(metric: str, *by: str) -> str:
    """Return the increase a second that forecasts go by, for each run.

    Until a run is as old as the window, `rate` would be too small, as it divides by the whole of it. `deriv` is right
    from the second scrape on, and what it is used for never falls, not over a resume either. The name of the run is
    joined before, at each step: another run may have had the same address within the window.
    """
    return total(f"deriv(({of_run(metric)})[{FORECAST}:15s])", *by)


def total(expr: str, *by: str) -> str:
    """Return the sum for each run, and for each combination of these labels."""
    return f"sum by ({', '.join(('run_id', *by))}) ({expr})"


def now(metric: str, *by: str) -> str:
    """Return the present value of a metric for each run, and for each combination of these labels."""
    return total(of_run(metric), *by)


def share(part: str, whole: str) -> str:
    """Return a quotient; nothing where the whole is 0."""
    return f"{part} / ({whole} > 0)"


def quantile(level: float, histogram: str, *by: str) -> str:
    """Return a quantile of a histogram over the latest interval, interpolated within a bucket."""
    return f"histogram_quantile({level:g}, {total(rate(f'{histogram}_bucket'), 'le', *by)})"


def quantiles(histogram: str) -> tuple[Query, ...]:
    """Return median, 95th and 99th percentile."""
    return tuple(Query(quantile(level, histogram), f"p{100 * level:g}") for level in (0.5, 0.95, 0.99))


def limit(metric: str, legend: str) -> Query:
    """Return a configured limit, to be drawn as a line beside what it limits."""
    return Query(now(metric), legend, is_limit=True)


def most(count: int, metric: str, *by: str) -> str:
    """Return the rates of a counter for the combinations of labels that grew most over the whole time shown."""
    grown = total(of_run(f"increase({metric}[$__range] @ end())"), *by)
    return f"{total(rate(metric), *by)} and topk by (run_id) ({count}, {grown})"


TICKS_LEFT = f"({now('prism_ticks_planned')} - {now('prism_ticks_total')})"
SECONDS_LEFT = share(TICKS_LEFT, trend("prism_ticks_total"))
END_MS = f"1000 * (time() + {SECONDS_LEFT})"
"""The end of the run at its present speed, in milliseconds of Unix time, as Grafana counts."""

COST = now("prism_llm_cost_usd_total")
COST_AT_END = f"{COST} + {TICKS_LEFT} * {share(trend('prism_llm_cost_usd_total'), trend('prism_ticks_total'))}"

_UNDECIDED, _AMBIGUOUS = 'prism_decisions_total{source=~"fallback|timeout"}', 'prism_decisions_total{source!="rule"}'
FALLBACK_SHARE = share(total(rate(_UNDECIDED)), total(rate(_AMBIGUOUS)))
FALLBACK_SHARE_EVER = share(now(_UNDECIDED), now(_AMBIGUOUS))

"""The PromQL of the panels. Every expression reads the run and target chosen above the dashboard, and no other."""

from __future__ import annotations

from typing import NamedTuple

RUN = 'prism_run_info{run_id=~"$run", instance=~"$instance"}'
"""The only series that has the run's name; the others are joined to it, so that one target may serve many runs."""


class Query(NamedTuple):
    """An expression, and the name of its series in the legend."""

    expr: str
    legend: str


def of_run(expr: str) -> str:
    """Return the series of `expr` that belong to the chosen run. They must still have `job` and `instance`."""
    return f"{expr} * on (job, instance) group_left () {RUN}"


def rate(metric: str) -> str:
    """Return the increase a second of a counter of the chosen run."""
    return of_run(f"rate({metric}[$__rate_interval])")


def total(expr: str, *by: str) -> str:
    """Return the sum, for each combination of these labels."""
    return f"sum by ({', '.join(by)}) ({expr})" if by else f"sum({expr})"


def quantile(share: float, histogram: str, *by: str) -> str:
    """Return a quantile of a histogram over the latest interval, interpolated within a bucket."""
    return f"histogram_quantile({share:g}, {total(rate(f'{histogram}_bucket'), 'le', *by)})"


def quantiles(histogram: str) -> tuple[Query, ...]:
    """Return median, 95th and 99th percentile."""
    return tuple(Query(quantile(share, histogram), f"p{100 * share:g}") for share in (0.5, 0.95, 0.99))

"""Dashboards, and the few kinds of panel in them, as the JSON that Grafana reads.

A panel is told as `title | unit | description`. Where several runs are chosen, numbers and lines have the run's name in
the legend. The parts of two wholes cannot be stacked on one panel: such a panel is repeated, one for each run, side by
side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from actors.core.phase import Phase
from prism.palette import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

RUN = 'prism_run_info{run_id=~"$run", instance=~"$instance"}'
"""The only series that has the run's name; the others are joined to it, so that one target may serve many runs."""
FORECAST = "15m"
"""Forecasts are by the trend of this time, as those of the alerts are."""


def of_run(expr: str) -> str:
    """Return the series of `expr` that belong to the chosen runs. They must still have `job` and `instance`."""
    return f"{expr} * on (job, instance) group_left (run_id) {RUN}"


def total(expr: str, *by: str) -> str:
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


Panel = dict[str, Any]
Queries = str | Mapping[str, str]
"""An expression, or `{the name of its series in the legend besides the run's name: an expression}`."""

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
OF_RUN, RUN_NAME = ": $run", "{{run_id}}"
"""The end of the title of a panel that is repeated for each run, and the run's name in a legend."""
GOOD, WARNING, BAD, PLAIN = GREEN, ORANGE, VERMILION, SKY
"""The colours of a number: as it should be, to be looked at, wrong, and neither good nor bad."""
_LIST = {"showLegend": True, "displayMode": "list", "placement": "bottom", "calcs": []}
_TABLE = {
    "showLegend": True,
    "displayMode": "table",
    "placement": "right",
    "calcs": ["lastNotNull", "max"],
    "sortBy": "Last *",
    "sortDesc": True,
}
_DECIMALS = {"percentunit": 1, "currencyUSD": 2}
"""`{unit: digits after the point in a large number}`; as many as fit in others."""
_WIDTH = 24
"""The columns of the grid."""


def lines(
    told: str,
    queries: Queries,
    limits: Mapping[str, str] | None = None,
    *,
    width: int = 12,
    table: bool = False,
    logarithmic: bool = False,
    nothing: str = "no data",
) -> Panel:
    """Return a panel of numbers over time, with a line for each series of each run.

    Args:
        limits: `{name in the legend: configured limit}`, which are drawn as dashed lines.
        table: whether the legend is a table with the latest and the largest value of each series.
        logarithmic: whether the axis is: for a limit that is far above the usual values.
        nothing: the text where there is no value.
    """
    custom: dict[str, Any] = {"lineWidth": 2, "fillOpacity": 0, "showPoints": "never", "gradientMode": "none"}
    if logarithmic:
        custom["scaleDistribution"] = {"type": "log", "log": 10}
    dashes = {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 10]}}
    overrides = [_override("byRegexp", f"/{name}$/", VERMILION, dashes) for name in limits or {}]
    asked = {**({"": queries} if isinstance(queries, str) else queries), **(limits or {})}
    field, options = {"custom": custom, "noValue": nothing}, _over_time(table=table)
    return _panel("timeseries", told, asked, field, options, (width, 8), overrides)


def stacked(told: str, expr: str, label: str, colors: Mapping[str, str] | None = None) -> Panel:
    """Return a panel of the parts of a whole, which differ by a label, over time, repeated for each run."""
    custom = {"lineWidth": 0, "fillOpacity": 75, "showPoints": "never", "stacking": {"mode": "normal"}}
    overrides = [_override("byName", name, color) for name, color in (colors or {}).items()]
    field, options = {"min": 0, "custom": custom}, _over_time(table=True)
    return _panel("timeseries", told, expr, field, options, (_WIDTH, 8), overrides, label)


def number(
    told: str, queries: Queries, limits: Sequence[tuple[float, str]] = (), *, width: int = 4, nothing: str = "no data"
) -> Panel:
    """Return a panel with the latest known value in large digits; `limits` are the first values of further colours."""
    unit = told.split(" | ")[1]
    field: dict[str, Any] = {"noValue": nothing, "thresholds": _thresholds(limits, GOOD if limits else PLAIN)}
    if unit in _DECIMALS:
        field["decimals"] = _DECIMALS[unit]
    return _panel("stat", told, queries, field, _value("none" if unit.startswith("dateTime") else "area"), (width, 4))


def state(told: str, expr: str, names: Mapping[int, tuple[str, str]]) -> Panel:
    """Return a panel with the name of a state. It is the present one: an ended run must not look active."""
    panel = _panel("stat", told, expr, _named(names), _value("none"), (4, 4))
    panel["targets"][0] |= {"instant": True, "range": False}
    return panel


def states(told: str, expr: str, names: Mapping[int, tuple[str, str]]) -> Panel:
    """Return a panel of something that is in one of a few named states, over time, with a row for each run."""
    options = {"showValue": "auto", "rowHeight": 0.6, "mergeValues": True, "legend": _LIST}
    return _panel("state-timeline", told, expr, _named(names), options, (_WIDTH, 5))


def buckets(told: str, expr: str) -> Panel:
    """Return a panel of a histogram's counts in its buckets of seconds, over time, repeated for each run."""
    options = {
        "calculate": False,
        "cellGap": 1,
        "yAxis": {"unit": "s"},
        "legend": {"show": True},
        "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64},
        "filterValues": {"le": 1e-9},
        "tooltip": {"mode": "single", "yHistogram": True},
    }
    panel = _panel("heatmap", told, expr, {}, options, (_WIDTH, 9), label="le")
    panel["targets"][0]["format"] = "heatmap"
    return panel


def board(name: str, title: str, about: str, rows: Mapping[str, Sequence[Panel]]) -> dict[str, Any]:
    """Return a dashboard, with the variables above it and the marks on its panels."""
    panels, numbers, y = list[Panel](), count(1), 0
    for row, members in rows.items():
        place = {"x": 0, "y": y, "w": _WIDTH, "h": 1}
        panels.append({"type": "row", "id": next(numbers), "title": row, "gridPos": place, "panels": []})
        x, y, height = 0, y + 1, 0
        for panel in members:
            size = panel["gridPos"]
            if x + size["w"] > _WIDTH:
                x, y, height = 0, y + height, 0
            panels.append({**panel, "id": next(numbers), "gridPos": {**size, "x": x, "y": y}})
            x, height = x + size["w"], max(height, size["h"])
        y += height
    link = {"type": "dashboards", "title": "PRISM", "tags": ["prism"], "icon": "external link"}
    runs = "Directories of runs, by name. Several stand beside each other."
    targets = 'label_values(prism_run_info{run_id=~"$run"}, instance)'
    chosen = {"includeAll": True, "allValue": ".*", "current": {"text": "All", "value": "$__all", "selected": True}}
    variables = [
        {"type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus"},
        {**_variable("run", "Runs", runs, "label_values(prism_run_info, run_id)", sort=2), "multi": True},
        {**_variable("instance", "Target", "Where the run is scraped, host:port.", targets, sort=1), **chosen},
    ]
    return {
        "uid": f"prism-{name}",
        "title": f"PRISM / {title}",
        "description": about,
        "tags": ["prism"],
        "editable": False,
        "graphTooltip": 1,
        "refresh": "10s",
        "schemaVersion": 41,
        "timezone": "browser",
        "time": {"from": "now-1h", "to": "now"},
        "links": [{**link, "asDropdown": True, "includeVars": True, "keepTime": True}],
        "templating": {"list": variables},
        "annotations": {"list": _marks()},
        "panels": panels,
    }


def _marks() -> list[dict[str, Any]]:
    """Return the annotations: what has happened to a run, at its time, on every panel.

    Prometheus alone has the phases with their times, and the number of events. What an event says is in `log.jsonl`,
    which a log store such as Loki can show; `docs/operations.md` says how.
    """
    checkpoint = now("1000 * (prism_checkpoint_timestamp_seconds > 0)")
    # Title, expression, title of a mark, colour, and whether the value is the time of the mark in milliseconds.
    marks = (
        ("Phases", total(of_run(PHASE_BEGAN), "phase"), "{{phase}}", BLUE, True),
        ("Trouble", f"{now(EVENTS, 'event')} > 0", "{{event}}", VERMILION, False),
        ("Checkpoints", checkpoint, "checkpoint", GREY, True),
    )
    found = list[dict[str, Any]]()
    for name, expr, said, color, is_time in marks:
        mark = {"name": name, "datasource": SOURCE, "enable": name != "Checkpoints", "iconColor": color, "expr": expr}
        mark |= {"target": {"expr": expr, "refId": "A", "range": True, "instant": False}, "textFormat": ""}
        mark |= {"titleFormat": f"{RUN_NAME}: {said}", "tagKeys": "run_id", "useValueForTime": is_time}
        found.append(mark)
    return found


def _panel(
    kind: str,
    told: str,
    queries: Queries,
    field: Mapping[str, Any],
    options: Mapping[str, Any],
    size: tuple[int, int],
    overrides: Sequence[Mapping[str, Any]] = (),
    label: str = "",
) -> Panel:
    """Return a panel. `label`: the one that its only query has in the legend, if it is repeated for each run."""
    title, unit, about = told.split(" | ")
    width, height = size
    panel: Panel = {"type": kind, "title": title, "description": about, "datasource": SOURCE, "options": options}
    panel["gridPos"] = {"w": width, "h": height}
    panel["fieldConfig"] = {"defaults": {"noValue": "no data", "unit": unit, **field}, "overrides": overrides}
    if label:
        panel |= {"title": title + OF_RUN, "repeat": "run", "repeatDirection": "h", "maxPerRow": 2}
    if isinstance(queries, str):
        queries = {f"{{{{{label}}}}}" if label else "": queries}
    panel["targets"] = []
    for letter, (legend, expr) in zip("ABCDEFGH", queries.items(), strict=False):
        target = {"refId": letter, "datasource": SOURCE, "expr": expr, "format": "time_series", "range": True}
        target |= {"legendFormat": legend if label else f"{RUN_NAME} {legend}".rstrip(), "instant": False}
        panel["targets"].append(target)
    return panel


def _over_time(*, table: bool) -> dict[str, Any]:
    tooltip = {"mode": "multi", "sort": "desc", "hideZeros": True}
    return {"legend": _TABLE if table else _LIST, "tooltip": tooltip}


def _value(graph: str) -> dict[str, Any]:
    return {"colorMode": "value", "graphMode": graph, "reduceOptions": {"calcs": ["lastNotNull"]}}


def _named(names: Mapping[int, tuple[str, str]]) -> dict[str, Any]:
    texts = {str(value): {"text": text, "color": color} for value, (text, color) in names.items()}
    return {"mappings": [{"type": "value", "options": texts}], "thresholds": _thresholds((), PLAIN)}


def _thresholds(limits: Sequence[tuple[float, str]], below: str) -> dict[str, Any]:
    steps = [{"value": value, "color": color} for value, color in ((None, below), *limits)]
    return {"mode": "absolute", "steps": steps}


def _override(matcher: str, name: str, color: str, *more: Mapping[str, Any]) -> dict[str, Any]:
    fixed = {"id": "color", "value": {"mode": "fixed", "fixedColor": color}}
    return {"matcher": {"id": matcher, "options": name}, "properties": [fixed, *more]}


def _variable(name: str, label: str, about: str, query: str, sort: int) -> dict[str, Any]:
    return {
        "type": "query",
        "name": name,
        "label": label,
        "description": about,
        "query": query,
        "datasource": SOURCE,
        "refresh": 2,
        "sort": sort,
    }

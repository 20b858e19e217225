"""Dashboards, and the few kinds of panel in them, as the JSON that Grafana reads.

A panel is told as `title | unit | description`. Where several runs are chosen, numbers and lines have the run's name in
the legend. The parts of two wholes cannot be stacked on one panel: such a panel is repeated, one for each run, side by
side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from deploy.grafana.queries import EVENTS, PHASE_BEGAN, now, of_run, total
from prism.palette import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

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
    """Return a panel of the parts of a whole over time, repeated for each run.

    Args:
        label: by which the parts differ; `colors`: `{its value: colour}`.
    """
    custom = {"lineWidth": 0, "fillOpacity": 75, "showPoints": "never", "stacking": {"mode": "normal"}}
    overrides = [_override("byName", name, color) for name, color in (colors or {}).items()]
    field, options = {"min": 0, "custom": custom}, _over_time(table=True)
    return _panel("timeseries", told, expr, field, options, (_WIDTH, 8), overrides, label)


def number(
    told: str, queries: Queries, limits: Sequence[tuple[float, str]] = (), *, width: int = 4, nothing: str = "no data"
) -> Panel:
    """Return a panel with the latest known value in large digits.

    Args:
        limits: `(the first value with this colour, the colour)`, ascending; below them it is as it should be.
    """
    unit = told.split(" | ")[1]
    field: dict[str, Any] = {"noValue": nothing, "thresholds": _thresholds(limits, GOOD if limits else PLAIN)}
    if unit in _DECIMALS:
        field["decimals"] = _DECIMALS[unit]
    return _panel("stat", told, queries, field, _value("none" if unit.startswith("dateTime") else "area"), (width, 4))


def state(told: str, expr: str, names: Mapping[int, tuple[str, str]]) -> Panel:
    """Return a panel with the name of a state. It is the present one: an ended run must not look active.

    Args:
        names: `{value: its name and colour}`.
    """
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
    """Return a dashboard, with the variables above it and the marks on its panels.

    Args:
        name: the end of its address in Grafana.
        rows: `{title: panels from left to right}`.
    """
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

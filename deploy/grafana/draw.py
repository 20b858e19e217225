"""The script that draws the dashboards where there is no Grafana: their panels, from their JSON and a Prometheus.

python -m deploy.grafana.draw --run study-001 --run study-002 --minutes 10 --out pictures

It shows what the queries come to, in the places, colours and units of the JSON. It is not Grafana's drawing: fonts,
axes and legends are those of matplotlib, and a panel cannot be pointed at.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from deploy.grafana.build import LAYOUTS, filled, render
from deploy.prometheus_process import Line, Prometheus
from prism.palette import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, YELLOW

GROUND, PANEL, INK, FAINT = "#111217", "#181b1f", "#ccccdc", "#8e8e99"
OTHERS = (SKY, ORANGE, GREEN, PURPLE, YELLOW, BLUE, VERMILION, "#B5A9FF", "#A0D6B4", "#F5C8AF", "#C0C0C0")
"""The colours of series that have none in the JSON, in turn."""
COLUMNS, ROW_INCHES, WIDTH_INCHES = 24, 0.4, 16.0
POINTS = 240
"""The most points of a line."""


class Period(NamedTuple):
    """The time that is shown, in Unix time."""

    begin_s: float
    end_s: float

    @property
    def step_s(self) -> float:
        """The time between two points."""
        return max(1.0, (self.end_s - self.begin_s) / POINTS)


class Drawn(NamedTuple):
    """One series of a panel: its name in the legend, its points and its look."""

    name: str
    line: Line
    color: str
    is_dashed: bool


class Board:
    """A dashboard to be drawn.

    Args:
        server: has the data.
        runs: the names of the chosen runs.
        period: the time shown.
        rate_s: the interval of rates: four scrapes at least.
    """

    def __init__(self, server: Prometheus, runs: Sequence[str], period: Period, rate_s: float) -> None:
        self._server = server
        self._runs = runs
        self._period = period
        self._rate_s = rate_s

    def draw(self, dashboard: Mapping[str, Any]) -> Figure:
        """Return the picture of a dashboard, given as the JSON that Grafana reads."""
        panels = list(repeated(dashboard["panels"], self._runs))
        height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
        figure = Figure(figsize=(WIDTH_INCHES, ROW_INCHES * height), facecolor=GROUND, dpi=80)
        marks = list(self._marks(dashboard))
        for panel in panels:
            place = panel["gridPos"]
            left, width = place["x"] / COLUMNS, place["w"] / COLUMNS
            bottom, tall = 1 - (place["y"] + place["h"]) / height, place["h"] / height
            if panel["type"] == "row":
                figure.text(left + 0.004, bottom + tall / 2, panel["title"], color=INK, va="center", size=12)
                continue
            gap_x, gap_y = 0.003, 0.15 / height
            axes = figure.add_axes((left + gap_x, bottom + gap_y, width - 2 * gap_x, tall - 2 * gap_y))
            self._draw_panel(axes, panel, marks)
        return figure

    def _draw_panel(self, frame: Axes, panel: Mapping[str, Any], marks: Sequence[tuple[float, str]]) -> None:
        frame.set(facecolor=PANEL, xticks=[], yticks=[])
        frame.set_title(f"  {panel['title']}", loc="left", color=INK, size=10, y=1.0, pad=-14)
        series = list(self._series(panel))
        if not series:
            frame.text(0.5, 0.45, panel["fieldConfig"]["defaults"]["noValue"], color=FAINT, ha="center", size=12)
            return
        if panel["type"] == "stat":
            draw_numbers(frame, panel, series)
            return
        has_table = panel["options"].get("legend", {}).get("placement") == "right"
        edge = 0.04 if panel["gridPos"]["w"] > COLUMNS / 2 and panel["type"] != "state-timeline" else 0.08
        axes = frame.inset_axes((edge, 0.24, 0.98 - edge - (0.2 if has_table else 0.0), 0.6))
        axes.set(facecolor=PANEL, xlim=self._period)
        DRAWS[panel["type"]](axes, panel, series)
        for at_s, color in marks:
            axes.axvline(at_s, color=color, lw=0.8, ls=":")
        dress(axes, "right" if has_table else "below", series if panel["type"] == "timeseries" else ())

    def _series(self, panel: Mapping[str, Any]) -> Iterator[Drawn]:
        """Yield the series of all queries of a panel."""
        runs = [panel["run"]] if "run" in panel else self._runs
        overrides = panel["fieldConfig"]["overrides"]
        number = 0
        for target in panel["targets"]:
            expr = self._filled(target["expr"], runs)
            if target.get("instant"):
                lines = [Line(each.labels, ((self._period.end_s, each.value),)) for each in self._server.query(expr)]
            else:
                lines = self._server.over(expr, self._period.begin_s, self._period.end_s, self._period.step_s)
            for line in lines:
                name = named(target["legendFormat"], line.labels)
                found = look_of(name, overrides)
                color = found.get("color", {}).get("fixedColor", OTHERS[number % len(OTHERS)])
                number += "color" not in found
                yield Drawn(name, line, color, "custom.lineStyle" in found)

    def _marks(self, dashboard: Mapping[str, Any]) -> Iterator[tuple[float, str]]:
        """Yield `(time, colour)` of what is marked."""
        period = self._period
        for mark in dashboard["annotations"]["list"]:
            if not mark["enable"]:
                continue
            expr = self._filled(mark["expr"], self._runs)
            for line in self._server.over(expr, period.begin_s, period.end_s, period.step_s):
                for at_s in moments_of(line, period.step_s, has_time=mark["useValueForTime"]):
                    if period.begin_s < at_s < period.end_s:
                        yield at_s, mark["iconColor"]

    def _filled(self, expr: str, runs: Sequence[str]) -> str:
        return filled(
            expr,
            {
                "__rate_interval": f"{max(self._rate_s, self._period.step_s):.0f}s",
                "__range": f"{self._period.end_s - self._period.begin_s:.0f}s",
                "instance": ".*",
                "run": "|".join(map(re.escape, runs)).replace("\\", "\\\\"),
            },
        )


def moments_of(line: Line, step_s: float, *, has_time: bool) -> set[float]:
    """Return the times that a series marks: its values in milliseconds, or the beginning of each stretch of points."""
    if has_time:
        return {value / 1000 for _, value in line.points}
    before = [-math.inf, *(at_s for at_s, _ in line.points)]
    return {at_s for last_s, (at_s, _) in zip(before, line.points, strict=False) if at_s - last_s > 1.5 * step_s}


def repeated(panels: Sequence[Mapping[str, Any]], runs: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the panels, those that are repeated once for each run, side by side."""
    for panel in panels:
        if panel.get("repeat") != "run":
            yield dict(panel)
            continue
        place = panel["gridPos"]
        width = place["w"] // len(runs)
        for number, run in enumerate(runs):
            title = panel["title"].replace("$run", run)
            yield {**panel, "title": title, "run": run, "gridPos": {**place, "x": number * width, "w": width}}


def named(legend: str, labels: Mapping[str, str]) -> str:
    """Return the name of a series in the legend."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), legend)


def look_of(name: str, overrides: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `{property: value}` of what the JSON says of a series of this name."""
    found: dict[str, Any] = {}
    for override in overrides:
        kind, wanted = override["matcher"]["id"], override["matcher"]["options"]
        if name == wanted if kind == "byName" else re.search(wanted.strip("/"), name):
            found.update({each["id"]: each["value"] for each in override["properties"]})
    return found


SCALES: Mapping[str, Sequence[tuple[float, str]]] = {
    "s": ((86400.0, " days"), (3600.0, " hours"), (60.0, " min"), (1.0, " s"), (0.0, " ms")),
    "ops": ((1000.0, "k /s"), (0.0, " /s")),
    "bytes": ((2.0**30, " GiB"), (2.0**20, " MiB"), (2.0**10, " KiB"), (0.0, " B")),
    "Bps": ((2.0**20, " MiB/s"), (2.0**10, " KiB/s"), (0.0, " B/s")),
    "short": ((1e6, "M"), (1e3, "k"), (0.0, "")),
}
"""`{unit: (the least value, what is written behind it)}`."""


def text_of(value: float, unit: str) -> str:
    """Return a number with its unit."""
    if unit.startswith("dateTime"):
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value / 1000))
    if unit in SCALES:
        least, end = next((least, end) for least, end in SCALES[unit] if abs(value) >= least)
        return f"{value / (least or (0.001 if unit == 's' else 1.0)):.3g}{end}"
    written = {"percentunit": f"{100 * value:.3g}%", "locale": f"{value:,.0f}", "percent": f"{value:.3g}%"}
    return written.get(unit, f"${value:.3g}" if unit == "currencyUSD" else f"{value:.3g}")


def draw_numbers(axes: Axes, panel: Mapping[str, Any], series: Sequence[Drawn]) -> None:
    """Draw the latest value of each series in large digits."""
    defaults = panel["fieldConfig"]["defaults"]
    names = {key: each for mapping in defaults.get("mappings", ()) for key, each in mapping["options"].items()}
    steps = [(step["value"] or -math.inf, step["color"]) for step in defaults["thresholds"]["steps"]]
    is_alone = len(series) == 1
    for number, drawn in enumerate(series):
        value = drawn.line.points[-1][1]
        color = next(color for least, color in reversed(steps) if value >= least)
        shown = text_of(value, defaults["unit"])
        if names:
            shown, color = (names[f"{value:.0f}"][part] for part in ("text", "color"))
        room = panel["gridPos"]["w"] * (60.0 if is_alone else 30.0) / len(shown)
        y = 0.42 if is_alone else 0.62 - 0.5 * number / (len(series) - 1)
        look: dict[str, Any] = {"va": "center", "transform": axes.transAxes}
        if is_alone:
            axes.text(0.5, y, shown, color=color, size=min(22.0, room), ha="center", **look)
        else:
            axes.text(0.97, y, shown, color=color, size=min(12.0, room), ha="right", **look)
            axes.text(0.03, y, drawn.name, color=FAINT, size=7, **look)


def with_gaps(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return points with one that is no number at both ends of each gap, so that no line is drawn across it."""
    step_s = min((after[0] - before[0] for before, after in pairwise(points)), default=0.0)
    found = list(points[:1])
    for before, after in pairwise(points):
        if after[0] - before[0] > 1.5 * step_s:
            found += [(before[0] + 0.01 * step_s, math.nan), (after[0] - 0.01 * step_s, math.nan)]
        found.append(after)
    return found


def draw_lines(axes: Axes, panel: Mapping[str, Any], series: Sequence[Drawn]) -> None:
    """Draw lines, or areas that are stacked."""
    defaults = panel["fieldConfig"]["defaults"]
    custom = defaults["custom"]
    if custom.get("stacking", {}).get("mode") == "normal":
        times = sorted({at_s for drawn in series for at_s, _ in with_gaps(drawn.line.points)})
        heights = [[dict(drawn.line.points).get(at_s, 0.0) for at_s in times] for drawn in series]
        axes.stackplot(
            times, heights, colors=[drawn.color for drawn in series], labels=[drawn.name for drawn in series]
        )
    else:
        for drawn in series:
            moments, values = zip(*with_gaps(drawn.line.points), strict=True)
            axes.plot(moments, values, color=drawn.color, ls="--" if drawn.is_dashed else "-", lw=1.4, label=drawn.name)
        axes.margins(y=0.15)
    if custom.get("scaleDistribution", {}).get("type") == "log":
        axes.set_yscale("log")
    elif min(axes.get_ylim()) > 0 or custom.get("stacking"):
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: text_of(value, defaults["unit"])))


def draw_states(axes: Axes, panel: Mapping[str, Any], series: Sequence[Drawn]) -> None:
    """Draw a bar for each run, in the colours of its states."""
    (mapping,) = panel["fieldConfig"]["defaults"]["mappings"]
    seen: set[str] = set()
    for row, drawn in enumerate(series):
        points = drawn.line.points
        step_s = min((after[0] - before[0] for before, after in pairwise(points)), default=1.0)
        for at_s, value in points:
            state = mapping["options"][f"{value:.0f}"]
            label = None if state["text"] in seen else state["text"]
            seen.add(state["text"])
            axes.broken_barh([(at_s, step_s * 1.02)], (row - 0.35, 0.7), color=state["color"], label=label, lw=0)
    axes.set_yticks(range(len(series)), [drawn.name for drawn in series])


def draw_buckets(axes: Axes, panel: Mapping[str, Any], series: Sequence[Drawn]) -> None:
    """Draw the counts of a histogram's buckets: the darker, the fewer."""
    rows = sorted(series, key=lambda drawn: float(drawn.line.labels["le"]))
    times = sorted({at_s for drawn in rows for at_s, _ in drawn.line.points})
    upto = [[dict(drawn.line.points).get(at_s, 0.0) for at_s in times] for drawn in rows]
    below = [[0.0] * len(times), *upto[:-1]]
    counts = [[high - low for high, low in zip(*pair, strict=True)] for pair in zip(upto, below, strict=True)]
    shown = [[count if count > 1e-9 else math.nan for count in row] for row in counts]
    axes.pcolormesh(times, range(len(rows)), shown, cmap="Oranges_r", shading="nearest")
    unit = panel["options"]["yAxis"]["unit"]
    every = max(1, len(rows) // 8)
    axes.set_yticks(range(0, len(rows), every), [text_of(float(row.line.labels["le"]), unit) for row in rows[::every]])


DRAWS = {"timeseries": draw_lines, "state-timeline": draw_states, "heatmap": draw_buckets}


def dress(axes: Axes, legend: str, series: Sequence[Drawn]) -> None:
    """Give axes their colours, their times and their legend."""
    axes.tick_params(colors=FAINT, labelsize=7, length=2)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.grid(visible=True, color="#2c2f36", lw=0.5)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at_s, _: time.strftime("%H:%M:%S", time.localtime(at_s))))
    handles, names = axes.get_legend_handles_labels()
    if not handles:
        return
    look: dict[str, Any] = {"frameon": False, "labelcolor": INK, "fontsize": min(7.0, 90.0 / len(names))}
    if legend == "right":
        last = {drawn.name: drawn.line.points[-1][1] for drawn in series}
        names = [f"{name}  {last[name]:.3g}" if name in last else name for name in names]
        axes.legend(handles, names, loc="center left", bbox_to_anchor=(1.01, 0.5), **look)
    else:
        axes.legend(handles, names, loc="upper left", bbox_to_anchor=(-0.02, -0.14), ncol=4, **look)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a picture for each dashboard that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prometheus", default="http://127.0.0.1:9090", help="the address of a Prometheus")
    parser.add_argument("--run", action="append", required=True, help="the name of a run; may be given several times")
    parser.add_argument("--minutes", type=float, default=60.0, help="the time that is shown, until now")
    parser.add_argument("--rate-s", type=float, default=20.0, help="the interval of rates: four scrapes at least")
    parser.add_argument("--out", type=Path, default=Path(), help="the directory for the pictures")
    parser.add_argument("dashboards", nargs="*", help="prism-overview, ...; by default all")
    options = parser.parse_args(arguments)
    server = Prometheus(options.prometheus, Path())
    end_s = server.query("time()")[0].value
    board = Board(server, options.run, Period(end_s - 60 * options.minutes, end_s), options.rate_s)
    options.out.mkdir(parents=True, exist_ok=True)
    for layout in LAYOUTS:
        if not options.dashboards or layout.uid in options.dashboards:
            figure = board.draw(json.loads(render(layout)))
            figure.savefig(options.out / f"{layout.uid}.png", facecolor=GROUND)


if __name__ == "__main__":
    main()

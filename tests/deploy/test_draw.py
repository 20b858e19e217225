"""The drawing of dashboards without a Grafana follows their JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deploy.grafana.build import LAYOUTS, render
from deploy.grafana.draw import SCALES, Board, Period, look_of, moments_of, named, repeated, text_of, with_gaps
from deploy.grafana.overview import OVERVIEW
from deploy.prometheus_process import Line, Prometheus, Sample
from prism.palette import PEOPLE, VERMILION

PERIOD = Period(1000.0, 1100.0)
OVERVIEW_JSON = json.loads(render(OVERVIEW))


def panel(title: str) -> Mapping[str, Any]:
    (found,) = (each for each in OVERVIEW_JSON["panels"] if each["title"] == title)
    return dict(found)


class Canned(Prometheus):
    """A Prometheus that has the same two series for every query, and keeps the queries."""

    def __init__(self) -> None:
        super().__init__("http://nowhere.invalid", Path())
        self.asked: list[str] = []

    def query(self, expr: str) -> list[Sample]:
        return [Sample(line.labels, line.points[-1][1]) for line in self.over(expr, *PERIOD, PERIOD.step_s)]

    def over(self, expr: str, begin_s: float, end_s: float, step_s: float) -> list[Line]:
        self.asked.append(expr)
        times = [begin_s, begin_s + step_s, end_s]
        return [
            Line({"run_id": "a", "state": state, "source": "llm", "le": le}, tuple((at_s, 2.0) for at_s in times))
            for state, le in (("idle", "0.1"), ("scrolling", "+Inf"))
        ]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.uid)
def test_every_dashboard_can_be_drawn_and_no_variable_is_left_in_a_query(layout: Any) -> None:
    server = Canned()
    figure = Board(server, ["a", "b.c"], PERIOD, 20.0).draw(json.loads(render(layout)))
    assert len(figure.axes) > len(layout.rows)
    assert not [expr for expr in server.asked if "$" in expr]
    assert any('run_id=~"a|b\\\\.c"' in expr for expr in server.asked)


def test_a_panel_that_is_repeated_stands_once_for_each_run_side_by_side() -> None:
    found = list(repeated([panel("Agents by state: $run"), panel("Ticks a second")], ["a", "b"]))
    assert [each["title"] for each in found] == ["Agents by state: a", "Agents by state: b", "Ticks a second"]
    assert [(each["gridPos"]["x"], each["gridPos"]["w"]) for each in found[:2]] == [(0, 12), (12, 12)]


def test_a_series_has_the_look_that_the_json_gives_it() -> None:
    assert look_of("idle", panel("Agents by state: $run")["fieldConfig"]["overrides"]) == {
        "color": {"mode": "fixed", "fixedColor": PEOPLE["idle"]}
    }
    limit = look_of("a limit", panel("Fallback share")["fieldConfig"]["overrides"])
    assert limit["color"]["fixedColor"] == VERMILION
    assert "custom.lineStyle" in limit
    assert look_of("a", panel("Fallback share")["fieldConfig"]["overrides"]) == {}


def test_a_legend_is_filled_from_the_labels() -> None:
    assert named("{{run_id}}: {{phase}}", {"run_id": "a"}) == "a: "


def test_a_mark_is_at_its_value_or_where_a_stretch_of_points_begins() -> None:
    points = tuple((float(at), 5000.0) for at in (10, 11, 12, 20, 21))
    assert moments_of(Line({}, points), 1.0, has_time=True) == {5.0}
    assert moments_of(Line({}, points), 1.0, has_time=False) == {10.0, 20.0}


def test_no_line_is_drawn_across_a_gap() -> None:
    points = [(1.0, 5.0), (2.0, 5.0), (9.0, 6.0)]
    found = with_gaps(points)
    assert [point for point in found if not math.isnan(point[1])] == points
    assert [at_s for at_s, value in found if math.isnan(value)] == pytest.approx([2.0, 9.0], abs=0.1)


def test_numbers_are_written_with_their_units() -> None:
    written = [text_of(*each) for each in ((0.25, "s"), (90.0, "s"), (7200.0, "s"), (0.051, "percentunit"))]
    assert written == ["250 ms", "1.5 min", "2 hours", "5.1%"]
    assert [text_of(1536.0, unit) for unit in ("bytes", "short", "locale", "none", "currencyUSD")] == [
        "1.5 KiB",
        "1.54k",
        "1,536",
        "1.54e+03",
        "$1.54e+03",
    ]
    assert all(scale[-1][0] == 0.0 for scale in SCALES.values())

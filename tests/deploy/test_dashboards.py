"""The dashboards: the committed files are what the code builds, and each panel can be read by itself."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest

from deploy.grafana.build import DASHBOARDS, LAYOUTS, every_expression, render
from deploy.grafana.layout import Layout
from tests.deploy.tools import DEPLOY, read_yaml

KINDS = {"timeseries", "stat", "heatmap", "state-timeline"}
"""Those that Grafana still develops: graph, singlestat and table-old have been removed."""

every_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.uid)


def board(layout: Layout) -> Any:
    return json.loads(render(layout))


def panels(layout: Layout) -> list[dict[str, Any]]:
    return [panel for panel in board(layout)["panels"] if panel["type"] != "row"]


@every_layout
def test_the_committed_dashboard_is_the_one_that_the_code_builds(layout: Layout) -> None:
    committed = (DASHBOARDS / f"{layout.uid}.json").read_text(encoding="utf-8")
    assert committed == render(layout), "run: python -m deploy.grafana.build"


def test_there_is_no_dashboard_without_code() -> None:
    assert {path.stem for path in DASHBOARDS.iterdir()} == {layout.uid for layout in LAYOUTS}


@every_layout
def test_a_panel_says_what_it_shows_and_in_which_unit(layout: Layout) -> None:
    for panel in panels(layout):
        assert panel["type"] in KINDS, panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert 0 < len(panel["targets"]) <= 8, panel["title"]
        for target in panel["targets"]:
            assert target["legendFormat"] not in {"", "__auto"}, panel["title"]
            assert target["datasource"]["uid"] == "${datasource}", panel["title"]


@every_layout
def test_panels_fill_the_width_and_none_lies_on_another(layout: Layout) -> None:
    boxes = [panel["gridPos"] for panel in board(layout)["panels"]]
    cells = [{(x, y) for x in range(b["x"], b["x"] + b["w"]) for y in range(b["y"], b["y"] + b["h"])} for b in boxes]
    assert all(not first & second for first, second in combinations(cells, 2))
    height = max(y for box in cells for _, y in box) + 1
    assert sum(map(len, cells)) == 24 * height


@every_layout
def test_panels_have_numbers_of_their_own(layout: Layout) -> None:
    numbers = [panel["id"] for panel in board(layout)["panels"]]
    assert len(set(numbers)) == len(numbers)


@every_layout
def test_run_and_target_are_chosen_above_the_dashboard(layout: Layout) -> None:
    variables = {each["name"]: each["query"] for each in board(layout)["templating"]["list"]}
    assert variables == {
        "datasource": "prometheus",
        "run": "label_values(prism_run_info, run_id)",
        "instance": 'label_values(prism_run_info{run_id=~"$run"}, instance)',
    }


def test_every_panel_looks_at_the_chosen_run_alone() -> None:
    for each in every_expression():
        assert each.expr.count("group_left () prism_run_info{") == each.expr.count("* on (job, instance)"), each
        assert '{run_id=~"$run", instance=~"$instance"}' in each.expr, each


def test_grafana_finds_the_dashboards_where_the_containers_put_them() -> None:
    (provider,) = read_yaml(DEPLOY / "grafana" / "provisioning" / "dashboards" / "prism.yml")["providers"]
    mounts = read_yaml(DEPLOY / "compose.yaml")["services"]["grafana"]["volumes"]
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in mounts


def test_grafana_is_told_how_often_prometheus_scrapes() -> None:
    (source,) = read_yaml(DEPLOY / "grafana" / "provisioning" / "datasources" / "prometheus.yml")["datasources"]
    scraping = read_yaml(DEPLOY / "prometheus" / "prometheus.yml")["global"]["scrape_interval"]
    assert source["jsonData"]["timeInterval"] == scraping

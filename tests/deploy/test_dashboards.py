"""The dashboards: the committed files are what the code builds, and each panel can be read by itself."""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import pytest

from deploy.build import DASHBOARDS, render
from deploy.grafana.boards import BOARDS
from tests.deploy.tools import DEPLOY, read_yaml
from tests.paths import ROOT

KINDS = {"timeseries", "stat", "heatmap", "state-timeline"}
"""Those that Grafana still develops: graph, singlestat and table-old have been removed."""

Board = Mapping[str, Any]
every_board = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board["uid"])


def panels(board: Board) -> list[dict[str, Any]]:
    return [panel for panel in board["panels"] if panel["type"] != "row"]


class Expression(NamedTuple):
    """The expression of one query of a panel or an annotation, with Grafana's variables still in it."""

    dashboard: str
    panel: str
    expr: str

    def filled(self, variables: Mapping[str, str]) -> str:
        """Return the expression as Grafana would send it, with values for the variables such as `$run`."""
        expr = self.expr
        for name, value in variables.items():
            expr = expr.replace(f"${name}", value)
        return expr


def every_expression() -> Iterator[Expression]:
    """Yield every query of every panel, in the order of the dashboards, and then those of the annotations."""
    for board in BOARDS:
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                yield Expression(board["uid"], panel["title"], target["expr"])
    for mark in BOARDS[0]["annotations"]["list"]:
        yield Expression("annotations", mark["name"], mark["expr"])


@every_board
def test_the_committed_dashboard_is_the_one_that_the_code_builds(board: Board) -> None:
    committed = (DASHBOARDS / f"{board['uid']}.json").read_text(encoding="utf-8")
    assert committed == render(board), "run: make dashboards"


@every_board
def test_a_panel_says_what_it_shows_in_which_unit_and_of_which_run(board: Board) -> None:
    for panel in panels(board):
        of_one_run = panel.get("repeat") == "run"
        assert panel["title"].endswith(": $run") == of_one_run, panel["title"]
        assert (panel["gridPos"]["w"] == 24) or not of_one_run, "it is divided among the runs"
        assert panel["type"] in KINDS, panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert 0 < len(panel["targets"]) <= 8, panel["title"]
        for target in panel["targets"]:
            assert target["legendFormat"] not in {"", "__auto"}, panel["title"]
            assert target["legendFormat"].startswith("{{run_id}}") != of_one_run, panel["title"]
            assert target["datasource"]["uid"] == "${datasource}", panel["title"]


@every_board
def test_panels_fill_the_width_and_none_lies_on_another(board: Board) -> None:
    boxes = [panel["gridPos"] for panel in board["panels"]]
    cells = [{(x, y) for x in range(b["x"], b["x"] + b["w"]) for y in range(b["y"], b["y"] + b["h"])} for b in boxes]
    assert all(not first & second for first, second in combinations(cells, 2))
    height = max(y for box in cells for _, y in box) + 1
    assert sum(map(len, cells)) == 24 * height


def test_every_query_looks_at_the_chosen_runs_alone() -> None:
    for each in every_expression():
        joins = each.expr.count("* on (job, instance) group_left (run_id) prism_run_info{")
        assert joins == each.expr.count("group_left"), each
        assert joins == each.expr.count('{run_id=~"$run", instance=~"$instance"}') - each.expr.count(
            "last_over_time(prism_run_info"
        ), each
        for name in re.findall(r"\b(?:sum|max)\b(?! by \(run_id)", each.expr):
            pytest.fail(f"{each}: {name} adds up runs")


def test_grafana_finds_the_dashboards_where_the_containers_put_them() -> None:
    (provider,) = read_yaml(DEPLOY / "grafana" / "provisioning" / "dashboards" / "prism.yml")["providers"]
    mounts = read_yaml(DEPLOY / "compose.yaml")["services"]["grafana"]["volumes"]
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in mounts


def test_the_panels_that_the_runbook_names_are_on_the_dashboard_that_it_names() -> None:
    titles = {board["uid"]: {panel["title"].removesuffix(": $run") for panel in panels(board)} for board in BOARDS}
    runbook = " ".join((ROOT / "docs" / "operations.md").read_text(encoding="utf-8").split())
    named = re.findall(r"\*([A-Z][^*]+)\* on the (\w+) dashboard", runbook)
    assert len(named) >= 6
    for title, name in named:
        assert title in titles[f"prism-{name}"], (title, name)

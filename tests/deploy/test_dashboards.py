"""The dashboards: the committed files are what the code builds, and each panel can be read by itself."""

import math
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from actors.core.phase import Phase
from actors.metrics.instruments import INSTRUMENTS, TIMINGS
from deploy.build import DASHBOARDS, RULE, RULE_FILES, prometheus_rule, render
from deploy.grafana.boards import BOARDS, PHASE_NAMES, PHASES
from prism.agents import MOVED
from prism.economy.nation import ECONOMY_CHART
from prism.palette import HUES, MARK_TEXTS, MARKS, NATIONS, PEOPLE, SOURCES, state_styles
from prism.social.chart import SOCIAL_CHART
from tests.catalogue import catalogue
from tests.deploy.tools import DEPLOY, RULES, alerts, needs, read_yaml, recordings
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


Numbers = NDArray[np.float64]
XYZ = np.array(((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505)))
XYZ /= np.array(((0.95047,), (1.0,), (1.08883,)))
NEIGHBOURS, ANY, GROUND = 24.0, 15.0, 20.0
"""The least differences in CIE L*a*b*, where 2 can just be seen: of neighbours in a stack, of any two, of a ground."""
GROUNDS = ("#181b1f", "#ffffff")
"""The ground of a panel in Grafana's dark and light theme."""
SIGHT: tuple[Numbers, ...] = (
    np.eye(3),
    np.array(((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998))),
    np.array(((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881))),
    np.array(((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039))),
)
"""What is seen of linear RGB with all colours, without red, green or blue.

Source: Machado, Oliveira and Fernandes (2009), full severity.
"""


def lab(color: str, sight: Numbers) -> Numbers:
    """Return CIE L*a*b* of a colour of sRGB, under D65, as this sight has it."""
    parts = np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(sight @ linear, 0.0, 1.0)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array((116 * y - 16, 500 * (x - y), 200 * (y - z)))


def difference(first: str, second: str) -> float:
    """Return the difference of two colours to whoever sees least of it."""
    return min(math.dist(lab(first, sight), lab(second, sight)) for sight in SIGHT)


def test_every_state_of_both_charts_has_a_colour_and_so_have_sources_and_phases() -> None:
    assert PEOPLE.keys() == {state.value for state in SOCIAL_CHART.states}
    assert NATIONS.keys() == {state.value for state in ECONOMY_CHART.states}
    assert SOURCES.keys() == {source.value for source in MOVED}
    assert PHASES.keys() == set(Phase)
    assert len(PHASE_NAMES) == len(Phase) + 1


@catalogue("colors", [PEOPLE, NATIONS, SOURCES])
def test_neighbours_in_a_stack_are_told_apart_by_everybody(colors: Mapping[str, str]) -> None:
    in_order = [colors[name] for name in sorted(colors)]
    assert all(difference(*pair) >= NEIGHBOURS for pair in pairwise(in_order))
    assert all(difference(*pair) >= ANY for pair in combinations(in_order, 2))
    assert all(difference(color, ground) >= GROUND for color in in_order for ground in GROUNDS)


def test_a_state_has_the_same_colour_on_every_panel() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for board in BOARDS:
        for panel in panels(board):
            for override in panel["fieldConfig"]["overrides"]:
                colors = [each["value"]["fixedColor"] for each in override["properties"] if each["id"] == "color"]
                found[override["matcher"]["options"]].update(colors)
    for name, color in {**PEOPLE, **NATIONS, **SOURCES}.items():
        assert found[name] == {color}, name


@pytest.mark.parametrize("fixed", [PEOPLE, NATIONS], ids=["people", "nations"])
def test_the_states_of_a_shipped_chart_have_their_colours_in_any_order(fixed: dict[str, str]) -> None:
    styles = state_styles(list(fixed))
    assert {state: style.color for state, style in styles.items()} == fixed
    assert styles == state_styles(list(reversed(fixed)))
    assert len({style.mark for style in styles.values()}) == len(fixed)


def test_up_to_144_states_of_another_chart_look_different() -> None:
    names = [f"state {number:03}" for number in range(144)]
    styles = state_styles(names)
    assert len(set(styles.values())) == 144
    assert styles["state 000"].color == HUES[0]
    first = [styles[name] for name in names[:12]]
    assert len({style.mark for style in first}) == len({style.color for style in first}) == 12
    assert len(state_styles([str(number) for number in range(150)])) == 150
    assert styles == state_styles(names[::-1])


def test_all_hues_can_be_told_apart_and_each_mark_has_a_character() -> None:
    assert len(HUES) == len(set(HUES)) == 12
    assert all(difference(*pair) >= ANY for pair in combinations(HUES, 2))
    assert all(difference(hue, ground) >= GROUND for hue in HUES for ground in GROUNDS)
    assert len(MARKS) == len(HUES)
    assert len(MARKS) == len(MARK_TEXTS) == len(set(MARK_TEXTS))


PROMETHEUS = DEPLOY / "prometheus"
CASES = sorted((PROMETHEUS / "tests").glob("*.yml"))
LAGS = {"prism_event_loop_lag_seconds", "prism_event_loop_lag_seconds_max"}
LIFECYCLE = {"prism_run_phase", "prism_run_phase_since_timestamp_seconds", "prism_run_ended", "prism_events_total"}
MEASURES = re.compile(
    r"prism_(posts_total|likes_total|economy_(interest_rate|inflation|gdp_growth|unemployment|total_value|proposals_total))"
)


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], cwd=PROMETHEUS, capture_output=True, text=True, check=False)


@needs("promtool")
@pytest.mark.parametrize("config", ["prometheus.yml", "prometheus-remote-write.yml"])
def test_prometheus_accepts_the_configuration_and_the_rules(config: str) -> None:
    checked = promtool("check", "config", config)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_remote_write_is_the_other_configuration_with_an_address_to_send_to_and_a_name_of_its_own() -> None:
    plain, sends = (read_yaml(PROMETHEUS / f"{name}.yml") for name in ("prometheus", "prometheus-remote-write"))
    (remote,) = sends.pop("remote_write")
    assert sends["global"].pop("external_labels").keys() == {"site"}
    assert sends == plain
    (job,) = plain["scrape_configs"]
    assert remote["write_relabel_configs"] == [{"source_labels": ["job"], "regex": job["job_name"], "action": "keep"}]


@pytest.mark.slow
@needs("promtool")
@pytest.mark.parametrize("cases", CASES, ids=lambda path: path.stem)
def test_every_alert_fires_over_the_run_that_it_is_for_and_over_no_other(cases: Path) -> None:
    tested = promtool("test", "rules", str(cases))
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_every_alert_is_tested_where_it_fires_and_where_it_does_not() -> None:
    fires: dict[str, set[bool]] = defaultdict(set)
    for case in (case for cases in CASES for case in read_yaml(cases)["tests"]):
        for look in case.get("alert_rule_test", ()):  # else it tests a recording rule
            fires[look["alertname"]].add(bool(look["exp_alerts"]))
    assert dict(fires) == {rule["alert"]: {True, False} for rule in alerts()}


@catalogue("rule", alerts())
def test_an_alert_says_how_bad_it_is_what_has_happened_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning"}
    run = "instance" if rule in alerts("alerts.yml") else "namespace"
    assert f"{{{{ $labels.{run} }}}}" in rule["annotations"]["summary"]
    assert rule["annotations"]["description"].endswith(".")
    page, anchor = rule["annotations"]["runbook_url"].split("#")
    assert anchor == rule["alert"].lower()
    sections = re.findall(r"^### (\w+)$", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert rule["alert"] in sections


def test_what_an_operator_in_a_cluster_is_given_are_the_rules_as_they_are() -> None:
    assert RULE.read_text(encoding="utf-8") == prometheus_rule()
    groups = [group for path in RULE_FILES for group in read_yaml(path)["groups"]]
    assert read_yaml(RULE)["spec"]["groups"] == groups
    assert set(RULE_FILES) == set(RULES.glob("*.yml"))


def test_rules_and_panels_ask_for_metrics_that_a_run_has() -> None:
    known = {each.name for each in INSTRUMENTS} | LAGS | LIFECYCLE
    known |= {f"{timing.name}_{suffix}" for timing in TIMINGS for suffix in ("bucket", "count", "sum")}
    known |= {rule["record"] for rule in recordings()}
    asked = [rule["expr"] for rule in (*alerts(), *recordings())] + [each.expr for each in every_expression()]
    names = {name for expr in asked for name in re.findall(r"\b(?:instance:)?prism_[a-z0-9_:]+", expr)}
    assert {name for name in names - known if not MEASURES.fullmatch(name)} == set()
    assert len(names) > 30

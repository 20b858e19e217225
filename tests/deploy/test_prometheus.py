"""A real Prometheus scrapes real runs: no panel is empty, no rule looks at nothing, and alerts fire when they should.

The rules are the shipped ones with every duration a sixtieth of what it was (`deploy.prometheus_process.quickened`), so
that what takes ten minutes out there takes ten seconds here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from actors.testing import Fault, FaultPlan, Latency, ModelServer, ServerSettings
from deploy.grafana.build import Expression, every_expression
from deploy.prometheus_process import SHIPPED, Prometheus, prometheus, quickened
from tests.deploy.tools import alerts, eventually, needs, recordings
from tests.deploy.watched_runs import WatchedRun, watched_run
from tests.paths import ROOT

CONFIGS = ROOT / "configs"
SOCIAL = {"simulation.rounds": 100000, "population.size": 200, "run.tick_s": 0.02, "run.checkpoint_every_ticks": 20}
ECONOMY = {"simulation.rounds": 20000, "run.tick_s": 0.05}
VARIABLES = {"instance": ".*", "__rate_interval": "3s"}
PATIENCE_S = 45.0

pytestmark = [needs("prometheus"), pytest.mark.slow, pytest.mark.network, pytest.mark.process]


class Watched(NamedTuple):
    """A Prometheus, and what it watches."""

    server: Prometheus
    social: WatchedRun
    economy: WatchedRun
    hung: WatchedRun
    doomed: WatchedRun

    def run_of(self, dashboard: str) -> WatchedRun:
        """Whose dashboard it is: an economy has no posts, a feed has no interest rate."""
        return self.economy if dashboard == "prism-economy" else self.social


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Four runs: one with a model, an economy, one whose model falls silent, and one that is going to be killed."""
    directory = tmp_path_factory.mktemp("watched")
    with ExitStack() as stack:
        model = stack.enter_context(ModelServer(ServerSettings(latency=Latency(mean_s=0.02))))
        silence = stack.enter_context(ModelServer())
        asks = {**SOCIAL, "oracle.backend": "ollama", "llm.host": model.url}
        waits = {**asks, "llm.host": silence.url, "llm.timeout_s": 600, "oracle.deadline_s": 600}

        def start(name: str, config: str, settings: dict[str, object]) -> WatchedRun:
            return stack.enter_context(watched_run(directory / name, CONFIGS / config, settings))

        social = start("social", "default.yaml", asks)
        economy = start("economy", "economy.yaml", {**ECONOMY})
        hung = start("hung", "default.yaml", waits)
        eventually(hung.is_under_way, "the first tick of a run")
        silence.settings = ServerSettings(faults=FaultPlan(shares={Fault.HANG: 1.0}))
        doomed = start("doomed", "default.yaml", {**SOCIAL})
        targets = [run.target for run in (social, economy, hung, doomed)]
        server = stack.enter_context(prometheus(directory, targets, quick=True))
        eventually(server.is_ready, "Prometheus")
        yield Watched(server, social, economy, hung, doomed)


def finite(server: Prometheus, expr: str) -> bool:
    """Whether the expression comes to a number: a quantile of nothing is NaN, which draws nothing."""
    return any(math.isfinite(sample.value) for sample in server.query(expr))


@pytest.mark.parametrize("expression", list(every_expression()), ids=lambda each: f"{each.dashboard}: {each.panel}")
def test_no_panel_is_empty(watched: Watched, expression: Expression) -> None:
    run = watched.run_of(expression.dashboard)
    expr = expression.filled({**VARIABLES, "run": run.path.name})
    assert "$" not in expr
    eventually(lambda: finite(watched.server, expr), f"{expression.panel}: {expr}", PATIENCE_S)


def test_variables_above_the_dashboards_offer_every_run(watched: Watched) -> None:
    def offered() -> bool:
        found = {each.labels["run_id"] for each in watched.server.query("prism_run_info")}
        return found >= {"social", "economy", "hung"}

    eventually(offered, "run_id of every run")


@pytest.mark.parametrize("name", [rule["record"] for rule in recordings()])
def test_every_rule_records_something(watched: Watched, name: str) -> None:
    expr = f'{name}{{instance="{watched.social.target}"}}'
    eventually(lambda: finite(watched.server, expr), expr, PATIENCE_S)


def operands(expr: str) -> list[str]:
    """What an alert compares, without the comparison, which leaves nothing of a healthy run; numbers left out."""
    parts = re.split(r"\s+(?:and|==|!=|>|<)\s+(?:on \(job, instance\)\s+)?", expr.strip())
    return [part for part in parts if not re.fullmatch(r"[\d.]+", part)]


@pytest.mark.parametrize(
    ("alert", "operand"), [(rule["alert"], part) for rule in alerts() for part in operands(rule["expr"])]
)
def test_no_alert_compares_what_is_not_there(watched: Watched, alert: str, operand: str) -> None:
    quick = re.sub(r"\[(\d+)[mh]\]", "[5s]", operand).replace("offset 15m", "offset 5s")
    eventually(lambda: finite(watched.server, quick), f"{alert}: {operand}", PATIENCE_S)


def test_a_run_whose_model_has_fallen_silent_has_stalled(watched: Watched) -> None:
    wanted = ("PrismRunStalled", watched.hung.target)
    eventually(lambda: wanted in watched.server.firing(), "PrismRunStalled", PATIENCE_S)


def test_a_killed_run_is_reported_and_the_others_are_not(watched: Watched) -> None:
    wanted = ("PrismTargetDown", watched.doomed.target)
    assert wanted not in watched.server.firing()
    watched.doomed.kill()
    eventually(lambda: wanted in watched.server.firing(), "PrismTargetDown", PATIENCE_S)
    assert {alert for alert, instance in watched.server.firing() if instance == watched.social.target} == set()


def test_quick_rules_differ_from_the_shipped_ones_in_nothing_but_time() -> None:
    shipped = (SHIPPED / "rules" / "alerts.yml").read_text(encoding="utf-8")
    assert [len(line.split()) for line in quickened(shipped).splitlines()] == [
        len(line.split()) for line in shipped.splitlines()
    ]
    assert re.search(r"\[\d+[mh]\]|for: \d+[mh]\n|offset \d+[mh]\)", quickened(shipped)) is None

"""A real Prometheus scrapes real runs: no panel is empty, and no rule looks at nothing.

The rules are the shipped ones with every duration a sixtieth of what it was (`deploy.prometheus_process.quickened`), so
that what takes ten minutes out there takes ten seconds here.
"""

import math
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from deploy.prometheus_process import Prometheus, prometheus
from tests.deploy.test_dashboards import Expression, every_expression
from tests.deploy.tools import alerts, needs, recordings
from tests.deploy.watched_runs import WatchedRun, watched_run
from tests.paths import ROOT
from tests.patience import wait_until
from tests.standin import Latency, ModelServer, ServerSettings

CONFIGS = ROOT / "configs"
SOCIAL = {"simulation.rounds": 100000, "population.size": 200, "run.tick_s": 0.1, "run.checkpoint_every_ticks": 20}
ECONOMY = {"simulation.rounds": 20000, "run.tick_s": 0.25}
VARIABLES = {"instance": ".*", "__rate_interval": "3s", "__range": "60s"}
PRICES = {"llm.prices.input": 1.0, "llm.prices.output": 4.0}
PATIENCE_S = 45.0

pytestmark = [needs("prometheus"), pytest.mark.slow]


class Watched(NamedTuple):
    """A Prometheus, and what it watches."""

    server: Prometheus
    social: WatchedRun
    economy: WatchedRun

    def run_of(self, dashboard: str) -> str:
        """Whose dashboard it is: an economy has no posts, a feed has no interest rate."""
        return (self.economy if dashboard == "prism-economy" else self.social).path.name


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Two runs: people who ask a model, with a spend cap, and an economy."""
    directory = tmp_path_factory.mktemp("watched")
    with ExitStack() as stack:
        model = stack.enter_context(ModelServer(ServerSettings(latency=Latency(mean_s=0.02))))
        asks = {**SOCIAL, "oracle.backend": "ollama", "llm.host": model.url, "oracle.max_calls": 10**8, **PRICES}

        def start(name: str, config: str, settings: dict[str, object]) -> WatchedRun:
            return stack.enter_context(watched_run(directory / name, CONFIGS / config, settings))

        social = start("social", "friends.yaml", asks)
        economy = start("economy", "economy.yaml", {**ECONOMY})
        targets = [social.target, economy.target]
        server = stack.enter_context(prometheus(directory, targets, quick=True))
        wait_until(server.is_ready, None, "Prometheus")
        yield Watched(server, social, economy)


def finite(server: Prometheus, expr: str) -> bool:
    """Whether the expression comes to a number: a quantile of nothing is NaN, which draws nothing."""
    return any(math.isfinite(sample.value) for sample in server.query(expr))


WITHOUT_SHARDS = [each for each in every_expression() if "prism_shard" not in each.expr]
"""The panels that any run fills. Those of shards need a cluster: tests/durability/test_shards.py."""


@pytest.mark.parametrize("expression", WITHOUT_SHARDS, ids=lambda each: f"{each.dashboard}: {each.panel}")
def test_no_panel_is_empty(watched: Watched, expression: Expression) -> None:
    run = watched.run_of(expression.dashboard)
    # Of trouble there is none in a healthy run, so its marks are looked for without the threshold of 0.
    expr = expression.filled({**VARIABLES, "run": run}).removesuffix(" > 0")
    assert "$" not in expr
    wait_until(lambda: finite(watched.server, expr), None, f"{expression.panel}: {expr}", PATIENCE_S)


def test_variables_above_the_dashboards_offer_every_run(watched: Watched) -> None:
    def offered() -> bool:
        found = {each.labels["run_id"] for each in watched.server.query("prism_run_info")}
        return found >= {"social", "economy"}

    wait_until(offered, None, "run_id of every run")


@pytest.mark.parametrize("name", [rule["record"] for rule in recordings()])
def test_every_rule_records_something(watched: Watched, name: str) -> None:
    expr = f'{name}{{instance="{watched.social.target}"}}'
    wait_until(lambda: finite(watched.server, expr), None, expr, PATIENCE_S)


def selectors(expr: str) -> list[str]:
    """Return the series that an alert looks at, each with its labels."""
    return re.findall(r"\b(?:instance:prism|prism|process)_[a-z0-9_:]+(?:\{[^}]*\})?", expr)


@pytest.mark.parametrize(
    ("alert", "selector"),
    [(rule["alert"], found) for rule in alerts("alerts.yml") for found in selectors(rule["expr"])],
)
def test_no_alert_looks_at_a_series_that_is_not_there(watched: Watched, alert: str, selector: str) -> None:
    wait_until(lambda: finite(watched.server, selector), None, f"{alert}: {selector}", PATIENCE_S)

"""The rules of Prometheus, and what promtool and the guide say about them."""

import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from actors.metrics.instruments import INSTRUMENTS, TIMINGS
from deploy.build import RULE, RULE_FILES, prometheus_rule
from tests.catalogue import catalogue
from tests.deploy.test_dashboards import every_expression
from tests.deploy.tools import DEPLOY, RULES, alerts, needs, read_yaml, recordings
from tests.paths import ROOT

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

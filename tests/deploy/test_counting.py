"""A real Prometheus counts a run that is killed five times as it counts an undisturbed one, and as its server does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest
import yaml

from actors.record.manifest import SUMMARY
from deploy.prometheus_process import Prometheus, prometheus
from tests.command import without_settings
from tests.deploy.tools import eventually, lasting_port, needs
from tests.paths import ROOT
from tests.standin import Exchange, Fault, FaultPlan, Latency, ModelServer, ServerSettings
from tests.standin.completions import count_tokens

pytestmark = [needs("prometheus"), pytest.mark.slow]

KILLS = 5
TICKS, LAST = 480, 24
"""Ticks in all, and the most that are left to the last process."""
AT_ONCE = 8
CHECKS = 2
"""The calls of the check at a start, which no metric counts."""
PATIENCE_S = 120.0
SETTINGS: dict[str, Any] = {
    "simulation": {"rounds": 20, "ticks_per_round": 24, "seed": 5},
    "population": {"size": 60, "ambiguity": 0.3, "activity": {"mean": 0.9, "sigma": 0.1}},
    "oracle": {"backend": "ollama", "max_concurrency": AT_ONCE, "max_attempts": 10},
    "llm": {"systemone": "off", "method": "json", "prices": {"input": 100.0, "output": 1000.0}},
    "run": {"checkpoint_every_ticks": 60, "tick_s": 0.05},
}
BEHAVIOUR = ServerSettings(
    latency=Latency(mean_s=0.02), faults=FaultPlan(shares={Fault.ERROR: 0.03}), slots=AT_ONCE, keeps=0
)
CONTINUING = (
    "prism_ticks_total",
    "prism_agent_transitions_total",
    "prism_decisions_total",
    "prism_posts_total",
    "prism_likes_total",
    "prism_fallbacks_total",
    "prism_llm_calls_total",
    "prism_llm_tokens_total",
    "prism_llm_cost_usd_total",
    "prism_oracle_retries_total",
    "prism_journal_ticks_total",
    "prism_journal_bytes_total",
)
"""The counters that go on over resumes."""


class Counted:
    """A model's server, with its own counts."""

    def __init__(self) -> None:
        self.ok = self.failed = self.prompt_tokens = self.prompt_tokens_max = 0

    def note(self, exchange: Exchange) -> None:
        """Count an exchange that has ended. The check at a start is not counted."""
        if exchange.call is None or "sky" in json.dumps(exchange.body):
            return
        if exchange.status != 200:
            self.failed += 1
            return
        tokens = sum(4 + count_tokens(str(message["content"])) for message in exchange.body["messages"])
        self.ok += 1
        self.prompt_tokens += tokens
        self.prompt_tokens_max = max(tokens, self.prompt_tokens_max)


@contextmanager
def serving() -> Iterator[tuple[Counted, str]]:
    counted = Counted()
    with ModelServer(BEHAVIOUR, on_exchange=counted.note) as server:
        yield counted, server.url


@contextmanager
def process(place: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A `prism` of its own, killed at the end of the block."""
    environment = without_settings()
    with (place / "prism.err").open("ab") as errors:
        command = [sys.executable, "-m", "actors.cli", *arguments, "--quiet"]
        running = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def ended_well(running: subprocess.Popen[bytes], place: Path) -> dict[str, Any]:
    assert running.wait(PATIENCE_S) == 0, (place / "prism.err").read_text()
    found: dict[str, Any] = json.loads((place / "run" / SUMMARY).read_text())
    return found


def configured(place: Path, url: str, port: int | None = None, **run: float) -> str:
    place.mkdir()
    metrics = {} if port is None else {"metrics": {"enabled": True, "port": port}}
    llm, paced = {**SETTINGS["llm"], "host": url}, {**SETTINGS["run"], **run}
    (place / "run.yaml").write_text(yaml.safe_dump({**SETTINGS, "llm": llm, "run": paced, **metrics}))
    return str(place / "run.yaml")


def totals(server: Prometheus, name: str, label: str = "") -> dict[str, float]:
    """Return `{label: total over all lives}` by the query of docs/operations.md; without zeros."""
    found = server.query(f"sum by ({label}) (last_over_time({name}[30m]))")
    return {each.labels.get(label, ""): each.value for each in found if each.value}


def number(server: Prometheus, expr: str) -> float:
    return sum(each.value for each in server.query(expr))


def await_tick(tick: int, server: Prometheus, running: subprocess.Popen[bytes]) -> None:
    """Wait until Prometheus has seen so many ticks of the run, or the process has ended."""

    def is_there() -> bool:
        return running.poll() is not None or number(server, "last_over_time(prism_ticks_total[30m])") >= tick

    eventually(is_there, f"tick {tick}", PATIENCE_S)


def killed_five_times(place: Path, url: str, server: Prometheus, port: int) -> dict[str, Any]:
    """Run to the end, killed at five moments that Prometheus sees, and return the summary."""
    run, random, pause = str(place / "run"), Random(3), Event()
    command = ["run", configured(place, url, port), "--out", run]
    for kill in range(1, KILLS + 1):
        at = kill * (TICKS - LAST) // KILLS
        with process(place, *command) as running:
            await_tick(at, server, running)
            pause.wait(0.5 * random.random())
            assert running.poll() is None, (place / "prism.err").read_text()
        command = ["resume", run]
    # Slow ticks, and a pause after the last one: so the last number is scraped, too.
    with process(place, *command, "--accept-settings", "--set", "run.tick_s=1.5") as running:
        return ended_well(running, place)


def undisturbed(place: Path) -> tuple[dict[str, Any], Counted]:
    with serving() as (counted, url):
        name = configured(place, url, tick_s=0.0)
        with process(place, "run", name, "--out", str(place / "run")) as running:
            return ended_well(running, place), counted


def test_totals_over_five_kills_are_those_of_an_undisturbed_run_and_of_the_server(tmp_path: Path) -> None:
    whole, alone = undisturbed(tmp_path / "whole")
    assert (alone.ok, alone.failed) == (whole["llm"]["calls"]["ok"], whole["llm"]["calls"]["server_error"])
    assert alone.prompt_tokens == whole["llm"]["prompt_tokens"]
    port = lasting_port()
    with serving() as (counted, url), prometheus(tmp_path, [f"127.0.0.1:{port}"], quick=True) as server:
        eventually(server.is_ready, "Prometheus")
        summary = killed_five_times(tmp_path / "killed", url, server, port)
        eventually(lambda: number(server, "up") == 0, "the end of the run")
        assert_ticks(server, whole, summary)
        assert_calls(server, counted, summary)
        for name in CONTINUING:
            assert number(server, f"resets({name}[30m])") == 0, name
        assert number(server, "max_over_time(prism_ticks_replayed_total[30m])") > 0
        assert number(server, "resets(prism_ticks_replayed_total[30m])") > 0, "it is of each process"
        by_run = (
            "max by (run_id) (last_over_time(prism_ticks_total[30m])"
            " * on (instance) group_left (run_id) last_over_time(prism_run_info[30m]))"
        )
        assert {each.labels["run_id"]: each.value for each in server.query(by_run)} == {"run": TICKS}


def assert_ticks(server: Prometheus, whole: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
    """Assert that what follows from ticks is what an undisturbed run has."""
    assert (summary["digest"], summary["resumes"]) == (whole["digest"], KILLS)
    assert totals(server, "prism_ticks_total") == {"": TICKS} == {"": whole["ticks"]}
    assert totals(server, "prism_agent_transitions_total") == {"": whole["transitions"]}
    decisions = {source: count for source, count in whole["decisions_by_source"].items() if count}
    assert totals(server, "prism_decisions_total", "source") == decisions
    posts = {"original": whole["posts"], "reply": whole["replies"], "reshare": whole["reshares"]}
    assert totals(server, "prism_posts_total", "kind") == {kind: count for kind, count in posts.items() if count}
    assert totals(server, "prism_likes_total") == {"": whole["likes"]}
    assert totals(server, "prism_fallbacks_total") == {} == whole["fallbacks_by_reason"]


def assert_calls(server: Prometheus, counted: Counted, summary: Mapping[str, Any]) -> None:
    """Assert that the calls are the summary's, and the server's but for those under way at a kill."""
    calls = totals(server, "prism_llm_calls_total", "outcome")
    llm = summary["llm"]
    assert calls == {outcome: count for outcome, count in llm["calls"].items() if count}
    assert totals(server, "prism_oracle_retries_total", "reason") == summary["retries_by_reason"]
    tokens = totals(server, "prism_llm_tokens_total", "type")
    assert tokens == {"prompt": llm["prompt_tokens"], "completion": llm["completion_tokens"]}
    assert totals(server, "prism_llm_cost_usd_total")[""] == pytest.approx(llm["cost_usd"])
    lost = counted.ok - calls["ok"], counted.failed - calls["server_error"]
    assert min(lost) >= 0
    assert sum(lost) <= KILLS * AT_ONCE
    assert 0 <= counted.prompt_tokens - tokens["prompt"] <= lost[0] * counted.prompt_tokens_max

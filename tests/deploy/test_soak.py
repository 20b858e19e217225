"""A soak: what its report says of made-up observations, and a short one with real processes."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from deploy.soak.report import MIB, Answer, Observation, Outcome, judge
from tests.paths import ROOT
from tests.standin import Fault, ModelServer, SpellKind

OPTIONS = argparse.Namespace(warm_up=0.25)
COUNTS = msgspec.structs.replace(
    ModelServer().statistics(), faults={Fault.RESET: 7}, spells={SpellKind.BUSY: 40}, outages=4
)
WELL = Outcome(
    changed=["llm.host=http://127.0.0.1:1"],
    code=143,
    absent=0,
    is_whole=True,
    alerts={},
    counts=COUNTS,
    before={"ticks": 2400, "rounds": 100, "oracle_questions": 9000, "oracle_calls": 9000},
    summary={
        "ticks": 2800,
        "oracle_questions": 13_800,
        "oracle_calls": 14_200,
        "retries_by_reason": {"overloaded": 400},
        "fallbacks_by_reason": {"deadline": 2},
    },
)


def observed(
    memory_mib: Callable[[float], float],
    process: Callable[[float], int] = lambda _: 1,
) -> list[Observation]:
    """Twenty minutes of a run whose memory is this, with noise, and whose ticks take this long."""
    noise = np.random.default_rng(3).normal(size=1200)
    total, found = 0.0, []
    for second in range(1200):
        total += 4 * 0.05
        found.append(
            Observation(
                at_s=float(second),
                process=process(second),
                phase="waiting_for_oracle" if 300 < second % 400 < 320 else "running",
                rss_bytes=int((memory_mib(second) + noise[second]) * MIB),
                libraries_bytes=100 * MIB,
                heaps_bytes=50 * MIB,
                objects_bytes=int((memory_mib(second) - 150) * MIB),
                descriptors=20,
                threads=5,
                tasks=10_012.0 + second % 3,
                ticks=4 * (second + 1),
                tick_seconds_total=total,
                calls=40 * second,
                retries=3 * second,
                fallbacks=2 * second,
                in_flight=3,
                limit=16,
                waiting=0,
                lag_s=0.01,
                journal_bytes=1000 * second,
            )
        )
    return found


def answer(memory_mib: Callable[[float], float], outcome: Outcome = WELL) -> Answer:
    return judge(observed(memory_mib), outcome, OPTIONS)


def test_a_leak_of_a_mebibyte_a_minute_is_found_and_its_part_is_named() -> None:
    judged = answer(lambda second: 200.0 + second / 60)
    assert judged.memory_rises
    assert re.search(r"The memory RISES: \+1\d\.\d MiB after the warm-up, \+1\d\.\d in Python objects", judged.text)
    assert "+60" in judged.text  # MiB an hour


def test_the_memory_of_a_run_that_was_resumed_is_judged_for_each_process() -> None:
    lower = observed(lambda second: 300.0 if second < 600 else 200.0, process=lambda second: 1 + (second >= 600))
    judged = judge(lower, WELL, OPTIONS)
    assert [(each.observations, round(each.from_minute)) for each in judged.facts.stretches] == [(450, 2), (450, 12)]
    assert not judged.memory_rises
    leaky = observed(lambda second: 300.0 if second < 600 else second / 6, process=lambda second: 1 + (second >= 600))
    assert judge(leaky, WELL, OPTIONS).memory_rises


def test_the_report_says_what_was_asked_what_failed_and_what_the_run_waited_for() -> None:
    text = answer(lambda _: 200.0).text
    for line in (
        "configs/soak.yaml with llm.host=http://127.0.0.1:1; 20.0 minutes.",
        "A fork of 100 rounds without a server.",
        "400 ticks, 4,800 questions, 5,200 calls.",
        "Calls with a fault: reset 7.",
        "Outages: 4. Calls in a spell: busy 40.",
        "Asked again: overloaded 400. Fallbacks: deadline 2.",
        "Waited 3 times for the oracle, 19 s at most.",
        "Exit code 143; files whole. Prometheus observed the run; no alert fired.",
    ):
        assert line in text.splitlines()


def test_too_short_a_soak_has_no_report() -> None:
    with pytest.raises(ValueError, match="20 samples or more, got 16"):
        judge(observed(lambda _: 200.0)[:21], WELL, OPTIONS)


@pytest.mark.slow
def test_a_short_soak_watches_a_real_run_stops_it_and_verifies_its_files(tmp_path: Path) -> None:
    out = tmp_path / "soak"
    settings = ["--set=population.size=200", "--set=population.ambiguity=0.5", "--set=run.tick_s=0.25"]
    server = ["--fault=error=0.2", "--spell=slow=2:1"]
    arguments = ["--minutes=0.4", "--warm-up=0", "--rounds-before=2", *settings, *server, f"--out={out}"]
    ended = subprocess.run(
        [sys.executable, "-m", "deploy.soak", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    report = (out / "soak.md").read_text(encoding="utf-8")
    assert "Exit code 143; files whole." in report, ended.stderr
    assert ended.returncode == (4 if "RISES" in report else 0)
    assert len((out / "soak.csv").read_text(encoding="utf-8").splitlines()) == 25
    facts = json.loads((out / "soak.json").read_text(encoding="utf-8"))
    assert [each.partition("=")[0] for each in facts["changed"]] == [
        "population.size",
        "population.ambiguity",
        "llm.host",
        "run.tick_s",
        "metrics.port",
    ]
    assert facts["ticks"] > 0
    assert facts["faults"]["error"] > 0
    assert facts["retries"]["server_error"] > 0
    assert facts["spells"]["slow"] > 0

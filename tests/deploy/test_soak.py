"""A soak: what its report says of made-up observations, and a short one with real processes."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from deploy.soak.report import MIB, Answer, Observation, Outcome, judge, tick_durations
from tests.paths import ROOT

OPTIONS = argparse.Namespace(agents=10_000, faults=0.05, warm_up=0.25)
WELL = Outcome(code=143, is_whole=True, alerts={})


def observed(
    memory_mib: Callable[[float], float], tick_s: Callable[[float], float] = lambda _: 0.05
) -> list[Observation]:
    """Twenty minutes of a run whose memory is this, with noise, and whose ticks take this long."""
    noise = np.random.default_rng(3).normal(size=1200)
    total, found = 0.0, []
    for second in range(1200):
        total += 4 * tick_s(second)
        found.append(
            Observation(
                at_s=float(second),
                rss_bytes=int((memory_mib(second) + noise[second]) * MIB),
                descriptors=20,
                threads=5,
                tasks=10_012.0 + second % 3,
                ticks=4 * (second + 1),
                tick_seconds_total=total,
                calls=40 * second,
                retries=3 * second,
                fallbacks=2 * second,
                in_flight=3,
                lag_s=0.01,
                journal_bytes=1000 * second,
            )
        )
    return found


def answer(memory_mib: Callable[[float], float], outcome: Outcome = WELL) -> Answer:
    return judge(observed(memory_mib), outcome, OPTIONS)


def test_level_memory_passes() -> None:
    judged = answer(lambda _: 200.0)
    assert not judged.memory_rises
    assert "The memory does not rise by more than chance." in judged.text


def test_a_leak_of_a_mebibyte_a_minute_is_found() -> None:
    judged = answer(lambda second: 200.0 + second / 60)
    assert judged.memory_rises
    assert "The memory RISES." in judged.text
    assert "+60" in judged.text  # MiB an hour


def test_what_a_run_takes_while_it_warms_up_is_not_held_against_it() -> None:
    assert not answer(lambda second: min(200.0, 100.0 + second)).memory_rises


def test_falling_memory_passes() -> None:
    assert not answer(lambda second: 200.0 - second / 60).memory_rises


def test_the_report_says_what_went_wrong() -> None:
    outcome = Outcome(code=1, is_whole=False, alerts={("PrismRunStalled", "a:1"): 3})
    text = answer(lambda _: 200.0, outcome).text
    assert "Exit code 1; files DAMAGED. Alerts that fired: PrismRunStalled." in text


def test_without_prometheus_the_report_says_that_nobody_watched() -> None:
    assert "no alerts were observed" in answer(lambda _: 200.0, Outcome(143, is_whole=True, alerts=None)).text


def test_a_tick_is_as_long_as_the_mean_of_those_since_the_observation_before() -> None:
    durations = tick_durations(observed(lambda _: 200.0, lambda second: 0.01 if second < 600 else 0.03))
    assert list(durations[0]) == pytest.approx([1.0, 0.01])
    assert list(durations[-1]) == pytest.approx([1199.0, 0.03])


def test_seconds_without_a_tick_have_no_duration() -> None:
    still = observed(lambda _: 200.0)[:1] * 3
    assert tick_durations(still) == []


@pytest.mark.process
@pytest.mark.slow
def test_a_short_soak_watches_a_real_run_stops_it_and_verifies_its_files(tmp_path: Path) -> None:
    out = tmp_path / "soak"
    arguments = ["--minutes=0.4", "--warm-up=0", "--agents=200", "--faults=0.5", f"--out={out}"]
    ended = subprocess.run(
        [sys.executable, "-m", "deploy.soak", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    report = (out / "soak.md").read_text(encoding="utf-8")
    assert "Exit code 143; files whole." in report, ended.stderr
    assert ended.returncode == (4 if "RISES" in report else 0)
    assert len((out / "soak.csv").read_text(encoding="utf-8").splitlines()) == 25
    assert " 0 retries" not in report

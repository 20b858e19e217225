"""A soak: what its report says of made-up samples, and a short one with real processes."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from deploy.soak.report import (
    LATE_MEMORY,
    LEAK_MIB,
    MEMORY,
    MIB,
    OF_MEMORY,
    Memory,
    Quantity,
    Slope,
    is_leak,
    text_of,
)
from deploy.soak.report import slopes_of as slopes_by
from tests.paths import ROOT

MILLION = 1_000_000


class Sample(Memory, frozen=True, kw_only=True):
    tick: int
    journal_bytes: int


JOURNAL = Quantity("journal", "bytes a tick", lambda sample: sample.journal_bytes, adds_up=True)


def slopes_of(memory_mib: Callable[[int], float], samples: int = 1000) -> dict[str, Slope]:
    """Return the slopes of a run of a million ticks whose memory is this, with noise, and whose journal grows."""
    noise = np.random.default_rng(5).normal(size=samples)
    made = [
        Sample(
            tick=tick,
            rss_bytes=int((memory_mib(tick) + 0.05 * noise[place]) * MIB),
            libraries_bytes=30 * MIB,
            heaps_bytes=10 * MIB,
            objects_bytes=int((memory_mib(tick) - 40) * MIB),
            journal_bytes=600 * tick,
        )
        for place, tick in enumerate(range(MILLION // samples, MILLION + 1, MILLION // samples))
    ]
    return slopes_by(made, lambda each: each.tick, (*OF_MEMORY, JOURNAL), per=MILLION, warm_up=0.1)


def test_a_run_on_a_level_has_no_slopes() -> None:
    slopes = slopes_of(lambda _: 80.0)
    assert not is_leak(slopes)
    assert slopes[MEMORY].low < 0 < slopes[MEMORY].high
    assert (slopes["journal"].slope, slopes["journal"].last) == pytest.approx((0, 600), abs=1e-6)
    told = text_of("Soak", ["A line."], slopes, "a million ticks")
    assert "\nA line.\n" in told
    assert "The memory does not rise: " in told
    assert "| journal, bytes a tick | 600 | 600 | 600 | 600 | 0 | 0 to 0 |" in told


def test_a_leak_of_two_bytes_a_tick_is_found_and_its_part_is_named() -> None:
    slopes = slopes_of(lambda tick: 80 + 2 * tick / MIB)
    assert 0 < slopes[LATE_MEMORY].low < 2e6 / MIB < slopes[LATE_MEMORY].high
    assert is_leak(slopes)
    told = text_of("Soak", [], slopes, "a million ticks")
    assert "The memory RISES: +1.7 MiB after the warm-up, +1.7 of it Python objects and large arrays, and" in told


def test_what_fills_in_the_first_half_is_no_leak_and_neither_are_a_few_pages() -> None:
    slopes = slopes_of(lambda tick: min(80.0, 70 + tick / 40_000) + 0.2 * tick / MIB)
    assert slopes[MEMORY].low > LEAK_MIB
    assert slopes[LATE_MEMORY].low > 0
    assert not is_leak(slopes)


def test_too_short_a_soak_has_no_report() -> None:
    with pytest.raises(ValueError, match="20 samples or more, got 19"):
        slopes_of(lambda _: 80.0, samples=21)


@pytest.mark.slow
def test_a_short_soak_watches_a_real_run_stops_it_and_verifies_its_files(tmp_path: Path) -> None:
    out = tmp_path / "soak"
    settings = ["--set=population.size=200", "--set=population.ambiguity=0.5", "--set=run.tick_s=0.25"]
    server = ["--fault=error=0.2", "--spell=slow=2:1"]
    arguments = ["--minutes=0.8", "--warm-up=0", "--rounds-before=2", *settings, *server, f"--out={out}"]
    ended = subprocess.run(
        [sys.executable, "-m", "deploy.soak", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    report = (out / "soak.md").read_text(encoding="utf-8")
    assert "Exit code 143; files whole." in report, ended.stderr
    assert ended.returncode == (4 if "RISES" in report else 0), ended.stderr
    assert report in ended.stdout
    assert len((out / "soak.csv").read_text(encoding="utf-8").splitlines()) == 49
    for words in ("configs/soak.yaml, population.size=200, ", " error.", " slow.", " server_error. Fallbacks: "):
        assert words in report
    assert "\n0 ticks" not in report

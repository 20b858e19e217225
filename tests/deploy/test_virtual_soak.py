"""A soak in virtual time: what its report says of made-up samples, a small one, and one with a planted leak."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import anyio
import msgspec
import numpy as np
import pytest

from actors import read_result
from actors.testing.virtual_time import run_in_virtual_time
from deploy.soak.virtual import Table, settings_of, soak
from deploy.soak.virtual_model import VirtualModel
from deploy.soak.virtual_report import LEAK_MIB, MIB, Census, Sample, grown, is_leak, slopes_of
from prism.config import Config
from prism.llm import ChoiceRequest, Distribution, LLMFailureException
from tests.paths import ROOT
from tests.standin import Fault, FaultPlan, Latency
from tests.standin.spells import Spell, SpellKind

REQUEST = ChoiceRequest(state="at home", instructions="Choose.", options={"idle": None, "scrolling": None})


def sampled(
    memory_mib: Callable[[int], float] = lambda _: 80.0, journal: Callable[[int], int] = lambda t: 600 * t
) -> list[Sample]:
    """Return a thousand samples of a run whose memory and journal are these, with noise in the memory."""
    noise = np.random.default_rng(5).normal(size=1000)
    return [
        Sample(
            tick=tick,
            virtual_s=0.25 * tick,
            wall_s=0.002 * tick,
            cpu_s=0.002 * tick,
            rss_bytes=int((memory_mib(tick) + 0.05 * noise[tick // 1000 - 1]) * MIB),
            libraries_bytes=30 * MIB,
            heaps_bytes=10 * MIB,
            objects_bytes=int((memory_mib(tick) - 40) * MIB),
            objects=65_000,
            tasks=106,
            descriptors=17,
            page_bytes=46_000,
            journal_bytes=journal(tick),
            oracle_log_bytes=40 * tick,
            rounds_bytes=3 * tick,
            log_bytes=300_000,
            checkpoint_bytes=45_000,
            files=12,
        )
        for tick in range(1000, 1_000_001, 1000)
    ]


def test_a_run_on_a_level_has_no_slopes() -> None:
    slopes = slopes_of(sampled(), sampled()[500:])
    assert not is_leak(slopes["resident memory in the second half"])
    assert slopes["resident memory"].low < 0 < slopes["resident memory"].high
    assert (slopes["journal"].slope, slopes["journal"].last) == pytest.approx((0, 600), abs=1e-6)
    assert slopes["processor time"].last == pytest.approx(2.0)


def test_a_leak_of_two_bytes_a_tick_is_found() -> None:
    leaky = sampled(lambda tick: 80 + 2 * tick / MIB)
    memory = slopes_of(leaky, leaky[500:])["resident memory in the second half"]
    assert 0 < memory.low < 2e6 / MIB < memory.high
    assert is_leak(memory)


def test_what_fills_in_the_first_half_is_no_leak_and_neither_are_a_few_pages() -> None:
    filling = sampled(lambda tick: min(80.0, 70 + tick / 40_000) + 0.2 * tick / MIB)
    memory = slopes_of(filling, filling[500:])
    assert memory["resident memory"].low > LEAK_MIB
    assert memory["resident memory in the second half"].low > 0
    assert not is_leak(memory["resident memory in the second half"])


def test_types_are_named_that_have_more_objects_than_ever_in_the_first_half() -> None:
    censuses = [
        Census(tick=tick, objects={"a.Leaked": 10 * tick, "a.Wave": 500 + 300 * (tick % 2), "a.Few": tick})
        for tick in range(1, 21)
    ]
    assert grown(censuses, warm_tick=3) == {"a.Leaked": (30, 200)}
    assert grown(censuses[:3], warm_tick=3) == {}


async def outcomes(model: VirtualModel, count: int, pause_s: float) -> list[tuple[float, str, float]]:
    """Return `(seconds that it took, reason, pause that it asked for)` of calls, the next after a pause."""
    found: list[tuple[float, str, float]] = []
    for _ in range(count):
        begun = anyio.current_time()
        try:
            answer = await model.choose(REQUEST)
        except LLMFailureException as error:
            found.append((anyio.current_time() - begun, error.reason, error.retry_after_s))
        else:
            assert list(answer.probabilities) == list(REQUEST.options)
            found.append((anyio.current_time() - begun, "", 0.0))
        await anyio.sleep(pause_s)
    return found


def test_a_model_in_virtual_time_takes_its_time_and_fails_as_told() -> None:
    faults = FaultPlan(at={2: Fault.HANG, 3: Fault.ERROR, 4: Fault.RESET, 5: Fault.BUSY, 6: Fault.NOT_JSON})
    model = VirtualModel(Latency(mean_s=0.5), faults, (), timeout_s=60)
    assert run_in_virtual_time(lambda: outcomes(model, 7, 0)) == [
        (0.5, "", 0),
        (60, "timeout", 0),
        (0.5, "server_error", 0),
        (0.5, "connection_error", 0),
        (0.5, "overloaded", 0),
        (0.5, "invalid_response", 0),
        (0.5, "", 0),
    ]
    assert model.failures == Counter(["hang", "error", "reset", "busy", "not_json"])


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (SpellKind.OUTAGE, (0, "connection_error", 0)),
        (SpellKind.SILENCE, (60, "timeout", 0)),
        (SpellKind.BUSY, (0, "overloaded", 0)),
        (SpellKind.LIMIT, (0, "overloaded", 100)),
        (SpellKind.SLOW, (5, "", 0)),
    ],
)
def test_a_spell_happens_to_every_call_in_it(kind: SpellKind, outcome: tuple[float, str, float]) -> None:
    spell = Spell(kind=kind, every_s=100, least_s=100, most_s=100)
    model = VirtualModel(Latency(mean_s=0.5), FaultPlan(), (spell,), timeout_s=60)
    assert run_in_virtual_time(lambda: outcomes(model, 1, 0)) == [outcome]


class LeakyModel(VirtualModel):
    """A model that remembers every word, as a cache without a limit would."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.remembered: list[list[str]] = []

    async def choose(self, request: ChoiceRequest) -> Distribution:
        self.remembered += [[word] for word in request.state.split()]
        return await super().choose(request)


def small(ticks: int) -> Config:
    """Return the soak's configuration for few people, whose posts are soon forgotten."""
    config = settings_of(80 if ticks < 1000 else 40, ticks)  # a short run needs more people to have questions
    feed = msgspec.structs.replace(config.feed, horizon_rounds=2)
    return msgspec.structs.replace(config, feed=feed)


def soaked(path: Path, ticks: int, samples: int = 50, model: type[VirtualModel] = VirtualModel) -> Table:
    table = Table(path)
    result, asked = soak(small(ticks), path / "run", ticks // samples, table, model_type=model)
    assert result.is_done
    assert asked.calls > 0
    return table


@pytest.mark.slow
def test_a_small_soak_is_a_run_with_files_that_are_sampled(tmp_path: Path) -> None:
    table = soaked(tmp_path, 60, samples=3)
    last = table.samples()[-1]
    assert [each.tick for each in table.samples()] == [20, 40, 60]
    assert read_result(tmp_path / "run").summary.ticks == last.tick == 60
    size = (tmp_path / "run" / "journal.prism").stat().st_size
    assert 0.9 * size < last.journal_bytes <= size  # the last ticks may have been written after the sample
    assert last.virtual_s >= 0.25 * 59
    assert last.rss_bytes > MIB
    assert [each.tick for each in table.censuses()] == [20, 40, 60]


@pytest.mark.slow
def test_a_planted_leak_is_named(tmp_path: Path) -> None:
    table = soaked(tmp_path, 1000, model=LeakyModel)
    assert "builtins.list" in grown(table.censuses(), warm_tick=300)


@pytest.mark.slow
def test_the_command_soaks_reports_and_verifies(tmp_path: Path) -> None:
    out = tmp_path / "soak"
    command = [sys.executable, "-m", "deploy.soak.virtual", "--ticks=300", "--people=20", "--every=5", f"--out={out}"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode in {0, 4}, ended.stderr
    report = (out / "virtual.md").read_text(encoding="utf-8")
    assert ended.returncode == (4 if "RISES" in report else 0), ended.stderr
    assert report in ended.stdout
    assert "100%" in ended.stdout
    facts = json.loads((out / "virtual.json").read_text(encoding="utf-8"))
    assert (facts["people"], facts["ticks"], facts["is_whole"]) == (20, 300, True)
    assert len((out / "virtual.csv").read_text(encoding="utf-8").splitlines()) == 61


def test_too_few_samples_are_refused_before_the_run(tmp_path: Path) -> None:
    out = tmp_path / "soak"
    command = [sys.executable, "-m", "deploy.soak.virtual", "--ticks=300", "--people=20", "--every=10", f"--out={out}"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "a trend needs 20 samples after the warm-up and in the second half" in ended.stderr
    assert not out.exists()

"""Soaks: their report, their model in virtual time, and short ones with real processes and with a planted leak."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from actors.testing.virtual_time import run_in_virtual_time
from deploy.soak.__main__ import LEAK_MIB, MEMORY, MIB, Samples, Slope, finish, is_leak, main, trend
from deploy.soak.virtual import OBJECTS, VirtualModel, settings_of, soak
from prism.llm import ChoiceRequest, Distribution, LLMFailureException
from tests.paths import ROOT
from tests.standin import Fault, FaultPlan, Latency, ServerSettings, Spell, SpellKind

MILLION = 1_000_000
TIMES = np.arange(900.0)
REQUEST = ChoiceRequest(state="at home", instructions="Choose.", options={"idle": None, "scrolling": None})
JOURNAL = "journal, bytes a tick"


def wandering(rng: np.random.Generator, rho: float) -> NDArray[np.float64]:
    """Return a stationary series without a trend, in which each value resembles the one before it."""
    steps, series = rng.normal(size=TIMES.size), np.empty(TIMES.size)
    series[0] = steps[0] / np.sqrt(1 - rho**2)
    for place in range(1, TIMES.size):
        series[place] = rho * series[place - 1] + steps[place]
    return series


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_a_series_that_only_wanders_is_seldom_called_rising(rho: float) -> None:
    rng = np.random.default_rng(7)
    alarms = sum(trend(TIMES, wandering(rng, rho))[1] > 0 for _ in range(100))
    assert alarms <= 8  # 2.5% by its name


def test_a_slope_is_found_beneath_the_wandering_and_a_level_has_none() -> None:
    series = wandering(np.random.default_rng(7), 0.9)
    for slope in (0.05, -0.05):
        _, low, high = trend(TIMES, series + slope * TIMES)
        assert low < slope < high
        assert low * high > 0
    assert trend(TIMES, np.full(TIMES.size, 5.0)) == (0.0, 0.0, 0.0)


def slopes_of(path: Path, memory_mib: Callable[[int], float], count: int = 1000) -> dict[str, Slope]:
    """Return the slopes of a run of a million ticks whose memory is this, with noise, and whose journal grows."""
    noise, samples = np.random.default_rng(5).normal(size=count), Samples(path, (MEMORY, JOURNAL), {JOURNAL})
    for place, tick in enumerate(range(MILLION // count, MILLION + 1, MILLION // count)):
        samples.add(tick, (memory_mib(tick) + 0.05 * noise[place], 600 * tick))
    return samples.slopes(MILLION)


def test_the_report_tells_a_leak_from_a_level_and_from_room_that_fills(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    level = slopes_of(tmp_path / "level.csv", lambda _: 80.0)
    assert level[MEMORY].low < 0 < level[MEMORY].high
    filled = slopes_of(tmp_path / "filled.csv", lambda tick: min(80.0, 70 + tick / 40_000) + 0.2 * tick / MIB)
    assert filled[MEMORY].last > filled[MEMORY].first + LEAK_MIB
    leak = slopes_of(tmp_path / "leak.csv", lambda tick: 80 + 2 * tick / MIB)
    assert 0 < leak[MEMORY].low < 2e6 / MIB < leak[MEMORY].high
    assert [is_leak(each) for each in (level, filled, leak)] == [False, False, True]
    for slopes, sound, code in ((level, True, 0), (leak, True, 4), (leak, False, 1)):
        with pytest.raises(SystemExit) as ended:
            finish(tmp_path / "report.md", "Soak", ["A line."], slopes, "a million ticks", sound=sound)
        assert ended.value.code == code
        report = (tmp_path / "report.md").read_text(encoding="utf-8")
        assert report in capsys.readouterr().out
        assert "\nA line.\n" in report
        assert "| journal, bytes a tick | 600 | 600 | 600 | 600 | +0 | +0 to +0 |" in report
        assert ("RISES" in report) == (slopes is leak)
    with pytest.raises(ValueError, match="20 samples or more, got 18"):
        slopes_of(tmp_path / "short.csv", lambda _: 80.0, count=35)


async def outcomes(model: VirtualModel, count: int) -> list[tuple[float, str, float]]:
    """Return `(seconds that it took, reason, pause that it asked for)` of calls."""
    found: list[tuple[float, str, float]] = []
    for _ in range(count):
        begun = anyio.current_time()
        try:
            assert list((await model.choose(REQUEST)).probabilities) == list(REQUEST.options)
            told = "", 0.0
        except LLMFailureException as error:
            told = error.reason, error.retry_after_s
        found.append((anyio.current_time() - begun, *told))
    return found


def test_a_model_in_virtual_time_takes_its_time_and_fails_as_told() -> None:
    faults = FaultPlan(at={2: Fault.HANG, 3: Fault.ERROR, 4: Fault.RESET, 5: Fault.BUSY, 6: Fault.NOT_JSON})
    model = VirtualModel(Latency(mean_s=0.5), faults, (), timeout_s=60)
    reasons = ["server_error", "connection_error", "overloaded", "invalid_response", ""]
    expected = [(0.5, "", 0), (60, "timeout", 0), *((0.5, reason, 0) for reason in reasons)]
    assert run_in_virtual_time(partial(outcomes, model, 7)) == expected
    assert model.failures == dict.fromkeys(("timeout", *reasons[:-1]), 1)
    for kind, outcome in (
        (SpellKind.OUTAGE, (0, "connection_error", 0)),
        (SpellKind.SILENCE, (60, "timeout", 0)),
        (SpellKind.BUSY, (0, "overloaded", 0)),
        (SpellKind.LIMIT, (0, "overloaded", 100)),
        (SpellKind.SLOW, (5, "", 0)),
    ):
        spell = Spell(kind=kind, every_s=100, least_s=100, most_s=100)
        model = VirtualModel(Latency(mean_s=0.5), FaultPlan(), (spell,), timeout_s=60)
        assert run_in_virtual_time(partial(outcomes, model, 1)) == [outcome], kind


class LeakyModel(VirtualModel):
    """A model that remembers every word, as a cache without a limit would."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.remembered: list[list[str]] = []

    async def choose(self, request: ChoiceRequest) -> Distribution:
        self.remembered += [[word] for word in request.state.split()]
        return await super().choose(request)


@pytest.mark.slow
def test_a_planted_leak_is_found(tmp_path: Path) -> None:
    config = settings_of(40, 1000)
    config = msgspec.structs.replace(config, feed=msgspec.structs.replace(config.feed, horizon_rounds=2))
    result, model, samples = soak(config, tmp_path, 20, LeakyModel)
    assert result.is_done
    assert model.calls > 0
    assert samples.slopes(1)[OBJECTS].low > 1


@pytest.mark.slow
def test_the_command_soaks_reports_and_verifies(tmp_path: Path) -> None:
    def ended(every: int) -> subprocess.CompletedProcess[str]:
        options = ["--ticks=300", "--people=20", f"--every={every}", f"--out={tmp_path / 'soak'}"]
        command = [sys.executable, "-m", "deploy.soak.virtual", *options]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    refused = ended(every=10)
    assert refused.returncode == 2
    assert "a trend needs 20 samples in the second half" in refused.stderr
    done = ended(every=5)
    report = (tmp_path / "soak" / "virtual.md").read_text(encoding="utf-8")
    assert done.returncode == (4 if "RISES" in report else 0), done.stderr
    assert "\n20 people, 300 ticks; " in report
    assert "\nFiles whole. Digest " in report
    assert len((tmp_path / "soak" / "virtual.csv").read_text(encoding="utf-8").splitlines()) == 61


@pytest.mark.slow
def test_a_short_soak_watches_a_real_run_stops_it_and_verifies_its_files(tmp_path: Path) -> None:
    settings = [f"--set={each}" for each in ("population.size=200", "population.ambiguity=0.5", "run.tick_s=0.25")]
    spell = Spell(kind=SpellKind.SLOW, every_s=2, least_s=1, most_s=1)
    server = ServerSettings(slots=16, faults=FaultPlan(shares={Fault.ERROR: 0.2}), spells=(spell,))
    with pytest.raises(SystemExit) as ended:
        main(["--minutes=0.8", "--rounds-before=2", *settings, f"--out={tmp_path / 'soak'}"], server)
    report = (tmp_path / "soak" / "soak.md").read_text(encoding="utf-8")
    assert "Exit code 143; files whole." in report
    assert ended.value.code == (4 if "RISES" in report else 0)
    assert len((tmp_path / "soak" / "soak.csv").read_text(encoding="utf-8").splitlines()) == 49
    for words in ("configs/soak.yaml, population.size=200, ", " error.", " slow.", " server_error. Fallbacks: "):
        assert words in report
    assert "\n0 ticks" not in report

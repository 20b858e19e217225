"""A soak in virtual time: its model, a small soak, and one with a planted leak."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import anyio
import msgspec
import pytest

from actors import read_result
from actors.testing.virtual_time import run_in_virtual_time
from deploy.soak.report import MIB, Table, slopes_of
from deploy.soak.virtual import QUANTITIES, Sample, settings_of, soak
from deploy.soak.virtual_model import VirtualModel
from prism.config import Config
from prism.llm import ChoiceRequest, Distribution, LLMFailureException
from tests.paths import ROOT
from tests.standin import Fault, FaultPlan, Latency
from tests.standin.spells import Spell, SpellKind

REQUEST = ChoiceRequest(state="at home", instructions="Choose.", options={"idle": None, "scrolling": None})


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
    table = Table(path / "virtual.csv", Sample)
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


@pytest.mark.slow
def test_a_planted_leak_is_found(tmp_path: Path) -> None:
    samples = soaked(tmp_path, 1000, model=LeakyModel).samples()
    slopes = slopes_of(samples, lambda each: each.tick, QUANTITIES, per=1, warm_up=0.3)
    assert slopes["Python objects"].low > 1


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
    assert "\n20 people, 300 ticks, " in report
    assert "\nFiles whole. Digest " in report
    assert len((out / "virtual.csv").read_text(encoding="utf-8").splitlines()) == 61


def test_too_few_samples_are_refused_before_the_run(tmp_path: Path) -> None:
    out = tmp_path / "soak"
    command = [sys.executable, "-m", "deploy.soak.virtual", "--ticks=300", "--people=20", "--every=10", f"--out={out}"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "a trend needs 20 samples after the warm-up and in the second half" in ended.stderr
    assert not out.exists()

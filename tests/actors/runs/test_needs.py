"""What a run needs of its machine is measured on smaller runs of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actors import run
from actors.core.errors import ActorError
from actors.persistence.journal import JOURNAL
from actors.runs.needs import BESIDE, LAST, PACKER_MIB, ROUNDS, SEALING, SIZES, Rehearsed, forecast_of, measure, needs
from prism.config import Config, PopulationConfig, SimulationConfig

SMALL = Config(simulation=SimulationConfig(rounds=15, ticks_per_round=8, seed=3), population=PopulationConfig(size=200))


def rehearsed(agents: int, per_agent_s: float = 0.001) -> Rehearsed:
    return Rehearsed(
        agents=agents,
        start_s=0.5 + agents * 1e-5,
        rounds_s=tuple(agents * per_agent_s * each for each in (1, 2, 3, 4, 4, 4)),
        rounds_bytes=(agents * 100.0,) * 6,
        memory_mib=80 + agents / 1000,
    )


def test_a_larger_run_is_on_the_line_through_two_rehearsals_and_goes_on_as_they_ended() -> None:
    found = forecast_of((rehearsed(10_000), rehearsed(30_000)), 1_000_000, 50)
    assert found.start_s == pytest.approx(10.5)
    assert found.run_s == pytest.approx(1000 * (1 + 2 + 3 + 4 * 47))
    assert found.memory_mib == pytest.approx(1080)
    assert found.journal_bytes == pytest.approx(1e8 * 50)
    assert (found.rehearsed, found.rounds) == ((10_000, 30_000), 6)


def test_of_a_journal_that_is_sealed_only_its_share_and_half_a_segment_are_left() -> None:
    sealing = {"segment_bytes": 8_000_000, "sealed_share": 0.05, "round_ticks": 20}
    small, large = (msgspec.structs.replace(rehearsed(size), **sealing) for size in SIZES)
    # ticks of 5 MB, so a segment has eight times its size, and not sixteen ticks
    assert forecast_of((small, large), 1_000_000, 50).journal_bytes == pytest.approx(1e8 * 50 * 0.05 + 32e6)
    assert forecast_of((small, large), 200_000, 50).journal_bytes == pytest.approx(2e7 * 50 * 0.05 + 8e6)
    assert forecast_of((small,), 10_000, 2).journal_bytes == pytest.approx(2e6)
    assert forecast_of((small,), 10_000, 2).memory_mib == pytest.approx(90)
    assert forecast_of((small,), 10_000, 9).memory_mib == pytest.approx(90 + PACKER_MIB + SEALING * 8e6 / 2**20)


def test_a_run_waits_for_a_part_of_its_sealing_if_it_seals_anything() -> None:
    sealing = {"segment_bytes": 8_000_000, "sealed_share": 0.05, "seal_s": 2e-8}
    small, large = (msgspec.structs.replace(rehearsed(size), **sealing) for size in SIZES)
    unsealed = forecast_of((rehearsed(SIZES[0]), rehearsed(SIZES[1])), 1_000_000, 50)
    assert forecast_of((small, large), 1_000_000, 50).run_s == pytest.approx(unsealed.run_s + BESIDE * 2e-8 * 1e8 * 50)
    assert forecast_of((small,), 10_000, 2).run_s == forecast_of((rehearsed(SIZES[0]),), 10_000, 2).run_s


def test_a_run_that_was_rehearsed_as_it_is_needs_what_was_measured() -> None:
    found = forecast_of((rehearsed(500),), 500, 6)
    assert found.run_s == pytest.approx(9.0)
    assert found.memory_mib == pytest.approx(80.5)
    assert forecast_of((rehearsed(500),), 500, 2).run_s == pytest.approx(1.5)


@pytest.mark.slow
def test_a_rehearsal_measures_each_round_and_its_journal(tmp_path: Path) -> None:
    found = measure(SMALL, 8_000_000, 8_000_000)
    run(SMALL, out=tmp_path / "run")
    assert len(found.rounds_s) == len(found.rounds_bytes) == SMALL.simulation.rounds
    assert min(found.rounds_s) > 0
    size = (tmp_path / "run" / JOURNAL).stat().st_size
    assert 0.5 * size < sum(found.rounds_bytes) <= size, "the journal is written some ticks later"
    assert found.agents == 200
    assert found.segment_bytes == 8_000_000
    assert 0.02 < found.sealed_share < 0.3
    assert 0.0 < found.seal_s < 1e-4


@pytest.mark.slow
def test_needs_are_those_of_a_process_of_its_own() -> None:
    found = needs(SMALL)
    assert found.rehearsed == (200,)
    assert found.rounds == min(ROUNDS, SMALL.simulation.rounds)
    assert 20 < found.memory_mib < 400
    assert found.run_s > 0
    assert LAST < ROUNDS


def test_a_rehearsal_that_fails_says_so_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(ActorError, match="the rehearsal failed: exit code 1"):
        needs(SMALL)

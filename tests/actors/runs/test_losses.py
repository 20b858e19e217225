"""A run that loses a shard goes on from its latest checkpoint, and ends as if nothing had happened."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest

from actors.core.errors import ShardLostError
from actors.factory.config_file import read_settings
from actors.factory.domains import build_domain
from actors.metrics.observer import UNOBSERVED
from actors.runs import execute
from actors.runs.directory import RunDirectory
from actors.runs.execute import LOSSES_MAX, Host, create_run, execute_through_losses
from actors.runs.summary import Summary
from actors.runtime.engine import EngineActor
from actors.runtime.shards import Acts, ShardedEngine, Stepped
from actors.store.lock import locked
from prism.columns import Floats
from prism.config import Config
from prism.domain import Domain
from tests.actors.shards_here import ShardsHere

pytestmark = pytest.mark.usefixtures("logged")

SETTINGS = ["population.size=60", "simulation.rounds=5", "run.checkpoint_every_ticks=24"]


class LosingShards(ShardsHere):
    """Shards of which one is lost at a tick; None to lose none."""

    def __init__(self, config: Config, domain: Domain, at: int | None) -> None:
        super().__init__(config, domain)
        self._at = at

    async def step(self, acts: Acts | None, changes: Floats | None, *, begins: bool) -> Sequence[Stepped]:
        tick = self._shards[0]._engine.tick + (acts is not None)
        if begins and tick == self._at:
            raise ShardLostError(1, "killed by a test")
        return await super().step(acts, changes, begins=begins)


def losing_at(ticks: Sequence[int]) -> Callable[..., object]:
    """Return what stands in for Ray: each attempt of the run loses a shard at the next of these ticks."""
    left = iter(ticks)

    @asynccontextmanager
    async def engine_of(config: Config, domain: Domain, *, is_own: bool) -> AsyncIterator[Callable[..., EngineActor]]:
        assert not is_own
        yield partial(ShardedEngine, shards=LosingShards(config, domain, next(left, None)), domain=domain)

    return engine_of


def run_losing(path: Path, ticks: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> Summary:
    monkeypatch.setattr(execute, "engine_of", losing_at(ticks))
    config = read_settings([*SETTINGS, "run.shards=2"])
    directory = RunDirectory.create(path, "run")
    with locked(directory.path):
        run = create_run(directory, config, build_domain(config))
        return anyio.run(execute_through_losses, run, Host(), UNOBSERVED)


def test_it_ends_with_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run_losing(tmp_path / "whole", (), monkeypatch)
    lost = run_losing(tmp_path / "lost", (30, 29, 80), monkeypatch)
    assert (lost.digest, lost.activations, lost.status) == (whole.digest, whole.activations, "done")
    assert lost.resumes == 3
    assert lost.ticks_replayed > 0
    for name in ("journal.prism", "rounds.csv"):
        assert (tmp_path / "lost" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_losses_without_a_new_tick_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ShardLostError, match="shard 1 is lost"):
        run_losing(tmp_path / "run", [30] * LOSSES_MAX + [99], monkeypatch)

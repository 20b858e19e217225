"""One configuration and one seed are one digest, whatever order the tasks run in, and the runtime names no domain."""

import os
import re
import subprocess
import sys

import anyio
import pytest

from actors.runtime.simulation import Simulation
from tests.actors.social_runs import (
    SMALL,
    digest_of,
    simulation,
    with_deliberation,
)
from tests.catalogue import catalogue
from tests.paths import ROOT
from tests.schedules import run_scheduled
from tests.tiers import Size

PRINT_DIGEST = "from tests.actors.social_runs import digest_of; print(digest_of())"


@pytest.mark.parametrize(("lookahead", "full", "everyday"), [(4, 120, 4), (0, 15, 2), (1, 15, 2)])
def test_every_schedule_gives_the_same_digest(lookahead: int, full: int, everyday: int, size: Size) -> None:
    config, schedules = with_deliberation(lookahead), size(full, everyday=everyday)
    assert {digest_of(config, schedule=seed) for seed in range(schedules)} == {digest_of(config)}


@pytest.mark.slow
def test_the_order_of_hashes_does_not_matter() -> None:
    digests = [
        subprocess.run(
            [sys.executable, "-c", PRINT_DIGEST],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1", "4242")
    ]
    assert set(digests) == {digest_of()}


class Stopped:
    """A run that is told to stop at some instant of some tick: while its triggers are being answered, or after it."""

    def __init__(self, tick: int, pauses: int) -> None:
        self.tick = tick
        self.pauses = pauses
        self.simulation = simulation()

    async def run(self) -> Simulation:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop)
            await self.simulation.run()
            tasks.cancel_scope.cancel()
        return self.simulation

    async def _stop(self) -> None:
        while self.simulation.engine.tick < self.tick:
            await anyio.lowlevel.checkpoint()
        for _ in range(self.pauses):
            await anyio.lowlevel.checkpoint()
        self.simulation.stop()


@catalogue("tick", [1, 20])
def test_a_stopped_run_finishes_its_tick_and_equals_a_run_of_as_many_ticks(tick: int, size: Size) -> None:
    for schedule in range(size(8, everyday=2)):
        stopped = run_scheduled(schedule, Stopped(tick, pauses=schedule).run)
        ticks = stopped.engine.tick
        assert tick <= ticks < stopped.ticks
        whole = simulation(SMALL)
        whole.ticks = ticks
        run_scheduled(schedule, whole.run)
        assert whole.engine.tick == ticks
        assert stopped.engine.digest.hexdigest() == whole.engine.digest.hexdigest()


ACTORS = ROOT / "actors"
NAMES = re.compile(r"social|econom|\bnations?\b", re.IGNORECASE)

ROOMS_OF_ANY_DOMAIN = ("core", "oracle", "runtime", "store", "metrics", "logs", "http")
ROOMS_OF_RESULTS = ("results", "pages", "view")
"""Rooms that say what took place in a run. They draw posts and quarters where the show of a domain has them."""
ASKED = re.compile(r"""["'](social|economy)["']""")
"""The name of a domain as a value: to compare with, or to look up."""


def test_the_rooms_that_run_name_no_domain() -> None:
    files = [path for room in ROOMS_OF_ANY_DOMAIN for path in (ACTORS / room).rglob("*.py")]
    assert len(files) > 50
    assert [path.name for path in files if NAMES.search(path.read_text(encoding="utf-8"))] == []


def test_who_says_what_took_place_asks_no_domain_for_its_name() -> None:
    files = [
        path for room in ROOMS_OF_RESULTS for path in (ACTORS / room).rglob("*.*") if path.suffix in (".py", ".js")
    ]
    assert len(files) > 30
    assert [path.name for path in files if ASKED.search(path.read_text(encoding="utf-8"))] == []

"""One run from its first tick, or from where it was left, to its last: its oracle, its files, its actors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

import anyio
import msgspec
from anyio import to_thread

from actors.backends import open_oracle
from actors.checkpoint import Checkpoint
from actors.checkpointer import Checkpointer, interval, restore
from actors.disk import RealDisk
from actors.engine import nothing
from actors.errors import first_of
from actors.history import History
from actors.run_directory import RunDirectory
from actors.series import RoundSeries, cut_series
from actors.signals import StopOnSignal
from actors.simulation import Progress, Simulation
from actors.store import RunStore
from actors.summary import Summary, summarise
from prism.config import Config
from prism.domain import Domain
from prism.errors import PrismError
from prism.statechart import Oracle

SPEND_CAP = "spend_cap"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is ready to begin or to go on.

    Args:
        history: what its journal holds from the checkpoint on, to be done again and compared.
        checkpoint: where it goes on; None at tick 0.
        lookahead_ticks: the longest that any part of it was run with.
    """

    directory: RunDirectory
    config: Config
    domain: Domain
    history: History
    checkpoint: Checkpoint | None = None
    lookahead_ticks: int = 0


class Spectator:
    """Who watches a run. This one sees nothing; the command line shows progress."""

    def begins(self, run: Run, oracle: str) -> None:
        """The oracle is there, and the run begins."""

    async def watch(self, read: Callable[[], Progress]) -> None:
        """Look on until cancelled."""


async def execute(run: Run, spectator: Spectator) -> Summary:
    """Run to the end, or to the first signal, and leave everything on disk that a resumed run needs.

    Raises:
        PrismError: the oracle, the disk or an actor failed for good. What was committed until then is on disk.
    """
    try:
        async with open_oracle(run.config, run.domain, run.directory.path) as opened:
            await to_thread.run_sync(run.directory.note_oracle, opened.description)
            spectator.begins(run, opened.description)
            return await _run(run, opened.oracle, spectator)
    except BaseExceptionGroup as group:
        if (error := first_of(group, PrismError)) is not None:
            raise error from None
        raise


async def _run(run: Run, oracle: Oracle[Any], spectator: Spectator) -> Summary:
    settings = run.config
    disk = RealDisk(run.directory.path, syncs=settings.run.sync)
    store = RunStore(
        disk,
        run.history,
        keeps_answers=oracle.waits,
        settled_after=run.lookahead_ticks if settings.oracle.mode == "pace" else None,
        keep=settings.run.checkpoints_kept,
    )
    simulation = Simulation(settings, run.domain, oracle, store)
    restore(simulation, run.checkpoint)
    checkpointer = Checkpointer(simulation, store, interval(settings, run.domain))
    has_rows = await to_thread.run_sync(cut_series, disk, run.history.tick)
    series = RoundSeries(store, simulation, is_new=not has_rows)
    begun = perf_counter()
    try:
        async with anyio.create_task_group() as files:
            files.start_soon(store.run)
            try:
                stopped_by = await simulate(simulation, spectator, series.after_tick, checkpointer.between_ticks)
                await checkpointer.take()
            finally:
                with anyio.CancelScope(shield=True):
                    await store.close()
    finally:
        disk.close()
    return summarise(simulation, perf_counter() - begun, stopped_by)


async def simulate(
    simulation: Simulation,
    spectator: Spectator,
    on_tick: Callable[[int], None] = lambda _: None,
    between: Callable[[], Awaitable[None]] = nothing,
) -> str | None:
    """Run a simulation to its end or to the first signal; what stopped it early, if anything did."""
    signals = StopOnSignal(simulation.stop)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(signals.run)
        tasks.start_soon(spectator.watch, simulation.progress)
        await simulation.run(on_tick, between)
        tasks.cancel_scope.cancel()
    if signals.received is not None:
        return signals.received.name
    return SPEND_CAP if simulation.is_spent else None

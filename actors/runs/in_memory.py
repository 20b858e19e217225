"""A run that keeps nothing on the disk."""

from __future__ import annotations

from importlib.metadata import version
from time import perf_counter
from typing import NamedTuple

import anyio
from anyio import to_thread

from actors.core.errors import ungrouped
from actors.core.events import emit, heard_by
from actors.factory.oracle_backends import open_oracle
from actors.logs.setup import open_log
from actors.metrics.observation import Observation
from actors.record.rounds import RoundsTable
from actors.runs.execute import Host, run_started, simulate, tell_end, telling_end
from actors.runs.manifest import OWN_PACKAGE
from actors.runs.ray_shards import engine_of
from actors.runs.rounds_csv import RoundsCollector
from actors.runs.summary import Summary, summarise
from actors.runtime.gc_pause import collector_paused
from actors.runtime.phase import PhaseWatch
from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.domain import Domain

RUN_ID = "in-memory"


class InMemory(NamedTuple):
    """The outcome of a run in memory: its summary and its rounds."""

    summary: Summary
    rounds: RoundsTable


async def execute_in_memory(config: Config, domain: Domain, host: Host, observed: Observation) -> InMemory:
    """Run to the end or to the first signal, and return the summary and the rounds.

    Raises:
        PrismError: the oracle or an actor failed for good.
        ConfigError: the configuration asks for a file, which needs a directory.
    """
    phases = PhaseWatch(anyio.current_time, tick_s=config.run.tick_s)
    own_version = await to_thread.run_sync(version, OWN_PACKAGE)  # it looks into directories
    async with open_log(None) as logs:
        logs.run_id = RUN_ID
        with observed.observing(RUN_ID) as observer, heard_by(observed.hear), ungrouped(), telling_end(logs, phases):
            dividing = engine_of(config, domain, is_own=host.oracle is not None)
            async with open_oracle(config, domain, None, host.oracle) as opened, dividing as engine:
                with collector_paused():
                    watching = host.observer or observer
                    simulation = Simulation(config, domain, opened.oracle, None, watching, RUN_ID, engine)
                logs.tick = lambda: simulation.engine.tick
                collector = RoundsCollector(simulation)
                begun = perf_counter()
                emit(run_started(config, domain, opened.description, own_version))
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(phases.run, simulation.standing, logs.tick)
                    stopped_by = await simulate(
                        simulation, host, collector.after_tick, every=config.simulation.ticks_per_round
                    )
                    tasks.cancel_scope.cancel()
            summary = summarise(simulation, perf_counter() - begun, stopped_by)
            tell_end(summary, phases)
    return InMemory(summary, collector.rounds)

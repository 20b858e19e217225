"""A run that keeps nothing on the disk."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

from actors.core.errors import ungrouped
from actors.core.events import heard_by
from actors.factory.oracle_backends import open_oracle
from actors.logs.setup import open_log
from actors.metrics.observation import Observation
from actors.runs.execute import Host, simulate
from actors.runs.rounds_csv import RoundsCollector, RoundsTable
from actors.runs.summary import Summary, summarise
from actors.runtime.gc_pause import collector_paused
from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.domain import Domain

RUN_ID = "in-memory"


class InMemory(NamedTuple):
    """The outcome of a run in memory: its summary and its rounds."""

    summary: Summary
    rounds: RoundsTable


async def execute_in_memory(config: Config, domain: Domain, host: Host, observed: Observation) -> InMemory:
    """Run to the end or to the first signal, and return what there is to tell.

    Raises:
        PrismError: the oracle or an actor failed for good.
        ConfigError: the configuration asks for a file that only a directory has room for.
    """
    async with open_log(None) as logs:
        logs.run_id = RUN_ID
        with observed.observing(RUN_ID) as observer, heard_by(observed.hear), ungrouped():
            async with open_oracle(config, domain, None, host.oracle) as opened:
                with collector_paused():
                    simulation = Simulation(config, domain, opened.oracle, None, host.observer or observer, RUN_ID)
                logs.tick = lambda: simulation.engine.tick
                collector = RoundsCollector(simulation)
                begun = perf_counter()
                stopped_by = await simulate(simulation, host, collector.after_tick)
    return InMemory(summarise(simulation, perf_counter() - begun, stopped_by), collector.rounds)

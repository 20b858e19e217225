"""The duration of a checkpoint of a very large population, and the longest time it blocks the event loop.

Part of `python -m benchmarks.journal`.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import anyio
import msgspec
import numpy as np

from actors.factory.domains import BuiltDomain
from actors.runs.checkpointing import Checkpointer
from actors.runs.directory import RunDirectory
from actors.runs.execute import create_run
from actors.runs.run_store import RunStore
from actors.runtime.simulation import Simulation
from actors.store.checkpoint import checkpoint_names
from actors.store.disk import RealDisk
from prism.columns import Rows, places_in_lists
from prism.config import Config
from prism.config.interventions import PublishConfig
from prism.social.domain import SocialDomain
from prism.social.people.persona import Persona
from prism.social.people.population import Population
from prism.social.tables import SEES_POST
from prism.social.ties.graph import FollowGraph
from prism.statechart import AgentState


def config_of(**sections: dict[str, Any]) -> Config:
    """Return a configuration with these sections over the defaults."""
    return msgspec.convert(sections, Config)


def crowd(size: int) -> SocialDomain:
    """Return a social world in the middle of a round, with people who are all alike: only their number matters here."""
    persona = Persona(name="Ada Example", interests=("science",), personality="curious, warm and calm")
    people = np.arange(size)
    graph = FollowGraph(size, people, (people + 1) % size)
    config = config_of(population={"size": size}, simulation={"rounds": 10})
    domain = SocialDomain(config, Population(personas=(persona,) * size, graph=graph))
    world, network = domain.world, domain.world.network
    for author in range(0, size, 20):
        network.publish_from_outside(author, 12, PublishConfig(author=author, text="A post.", topics=("science",)))
    posts = len(network.living)
    first = people % (posts - 32)
    for ring, lengths in (("timeline", people % 16), ("seen", people % 32)):  # as after a day
        owners = np.repeat(people, lengths)
        network.state.fill(ring, Rows(people, lengths, first[owners] + places_in_lists(lengths)))
    looking, table, feed = people[::3], world.people, network.state.t.feed
    feed[looking, :4] = first[looking, None] + np.arange(4)
    table["shown"][looking] = table["left"][looking] = looking % 5
    table["state"][looking] = list(AgentState).index(AgentState.SCROLLING)
    table["current"][looking], table["session_round"][looking] = first[looking], 0
    table["entered"][looking] = table["came"][looking] = 12
    world.network.state.t.due[looking], table["next"][looking] = 13, SEES_POST
    return domain


async def _checkpoint(domain: SocialDomain, directory: Path) -> dict[str, float]:
    simulation = Simulation(domain.config, domain)
    gc.collect()
    gc.freeze()  # as while a simulation runs
    run = create_run(RunDirectory(directory), domain.config, BuiltDomain(domain, {}))
    disk = RealDisk(directory)
    store = RunStore(disk, run.recorded, keeps_answers=False)
    simulation.engine.tick = 12
    gaps: list[float] = []

    async def tick() -> None:
        while True:
            begun = perf_counter()
            await anyio.sleep(0.001)
            gaps.append(perf_counter() - begun - 0.001)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(store.run)
        tasks.start_soon(tick)
        await anyio.sleep(0.05)
        gaps.clear()
        begun = perf_counter()
        await Checkpointer(simulation, store, 0).take()
        copied, longest = perf_counter() - begun, max(gaps)
        await store.close()
        written = perf_counter() - begun
        tasks.cancel_scope.cancel()
    gc.unfreeze()
    disk.close()
    size = disk.size(checkpoint_names(disk)[0])
    return {"copied": copied, "written": written, "gap": max(gaps), "gap of the copy": longest, "bytes": size}


def measure_checkpoint(sizes: argparse.Namespace, parent: Path) -> None:
    """Print the duration of a checkpoint, and the time for which it blocks the event loop."""
    domain = crowd(sizes.crowd)
    samples = []
    for _ in range(sizes.repeats):
        with tempfile.TemporaryDirectory(dir=parent) as directory:
            samples.append(anyio.run(_checkpoint, domain, Path(directory)))
    print(f"\ncheckpoint of {sizes.crowd:,} people, {samples[0]['bytes']:,.0f} bytes, medians of {sizes.repeats}")
    for name in ("copied", "written"):
        print(f"{name:20} {median(sample[name] for sample in samples):8.2f} s")
    for name in ("gap of the copy", "gap"):
        gaps = sorted(sample[name] * 1e3 for sample in samples)
        print(f"{name:20} {median(gaps):8.1f} ms, at most {gaps[-1]:.1f} ms")

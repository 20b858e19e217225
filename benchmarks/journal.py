"""The cost of durability: the journal a tick, and a resume; of checkpoints see `benchmarks.large`.

    python -m benchmarks.journal [cost|resume]... [--directory DIR] [--repeats 7]

`cost` runs the same ticks with and without a journal, in turn. `resume` measures each part of the time before the first
tick of a resumed run. Files are written below DIR, so choose one on the disk that runs are kept on.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from subprocess import run as run_process
from time import perf_counter
from typing import Any

import anyio
import msgspec

from actors.factory.domains import BuiltDomain, build_domain
from actors.metrics.observer import UNOBSERVED
from actors.runs.directory import RunDirectory
from actors.runs.execute import Host, create_run, execute
from actors.runs.replay import restore
from actors.runs.run_store import RunStore
from actors.runtime.gc_pause import collector_paused
from actors.runtime.simulation import Simulation
from actors.store.checkpoint import checkpoint_names
from actors.store.disk import RealDisk
from actors.store.journal import journal_size
from actors.store.manifest import CONFIG
from actors.store.recovery import recover
from actors.store.run import read_resolved
from benchmarks.step import SOCIAL, BenchmarkDomain
from prism.config import Config
from prism.domain import Domain

Sizes = argparse.Namespace
WARM_UP_TICKS = 4


class Cost(msgspec.Struct, frozen=True):
    """The seconds a tick, the bytes of a tick's frames and of what is on the disk for it, and the updates of a tick."""

    tick_s: float
    bytes: float = 0.0
    stored: float = 0.0
    updates: float = 0.0


def config_of(**sections: dict[str, Any]) -> Config:
    """Return a configuration with these sections over the defaults."""
    return msgspec.convert(sections, Config)


async def _timed(config: Config, domain: Domain, directory: Path | None) -> Cost:
    """Return the cost of a run in memory, or with its files in a directory, until the last of it is written."""
    if directory is None:
        simulation = Simulation(config, domain)
        return await _ticks(simulation, simulation.run)
    run = create_run(RunDirectory(directory), config, BuiltDomain(domain, {}))
    disk = RealDisk(directory, syncs=config.run.sync)
    store = RunStore(disk, run.recorded, keeps_answers=False, segment_bytes=round(config.run.segment_mb * 1_000_000))
    simulation = Simulation(config, domain, record=store)

    async def recorded(on_tick: Callable[[int], None]) -> None:
        async with anyio.create_task_group() as files:
            files.start_soon(store.run)
            await simulation.run(on_tick)
            await store.close()

    cost = await _ticks(simulation, recorded)
    disk.close()
    written = journal_size(disk) - run.recorded.start
    stored = sum(disk.size(name) for name in disk.names() if name.startswith("journal"))
    return msgspec.structs.replace(cost, bytes=written / simulation.ticks, stored=stored / simulation.ticks)


async def _ticks(simulation: Simulation, run: Callable[..., Any]) -> Cost:
    moments: list[float] = []
    await run(lambda _: moments.append(perf_counter()))
    elapsed = perf_counter() - moments[WARM_UP_TICKS - 1]
    return Cost(
        elapsed / (len(moments) - WARM_UP_TICKS), updates=sum(simulation.counters.rows.values()) / simulation.ticks
    )


def measure_cost(sizes: Sizes, parent: Path) -> None:
    """Print the cost of a tick without a journal, with one, and with one that waits for the medium."""
    for title, config, make in worlds(sizes):
        samples: dict[str, list[Cost]] = {"in memory": [], "journal, not synced": [], "journal, synced": []}
        for _ in range(sizes.repeats):
            for name, costs in samples.items():
                with tempfile.TemporaryDirectory(dir=parent) as directory:
                    gc.collect()
                    where = None if name == "in memory" else Path(directory)
                    chosen = _with_sync(config, synced=name.endswith(", synced"))
                    costs.append(anyio.run(_timed, chosen, make(), where))
        bare = samples["in memory"]
        print(f"\n{title}: {bare[0].updates:,.0f} updates a tick, medians of {sizes.repeats}")
        for name, costs in samples.items():
            ratio = median(cost.tick_s / base.tick_s for cost, base in zip(costs, bare, strict=True))
            each = costs[0]
            written, stored = each.bytes / each.updates, each.stored / each.updates
            size = f"{written:6.1f} bytes an update, {stored:.1f} on the disk" if written else ""
            print(f"{name:20} {median(cost.tick_s for cost in costs) * 1e3:8.1f} ms a tick {ratio:6.3f} x {size}")


def worlds(sizes: Sizes) -> Iterator[tuple[str, Config, Callable[[], Domain]]]:
    """Yield a world that costs almost nothing, where the share of a journal is largest, and the social one."""
    simulation = {"rounds": 1, "ticks_per_round": sizes.ticks}
    cheap = config_of(simulation=simulation, run={"mailbox_capacity": max(1024, sizes.agents)})
    yield "a world that costs nothing", cheap, partial(BenchmarkDomain, sizes.agents, SOCIAL)
    lively = {"size": sizes.agents, "posts_per_session": 0.5, "activity": {"mean": 0.9, "sigma": 0.2}}
    social = config_of(simulation={"rounds": 1, "ticks_per_round": sizes.ticks}, population=lively)
    yield "a social world", social, lambda: build_domain(social).domain


def _with_sync(config: Config, *, synced: bool) -> Config:
    return msgspec.structs.replace(config, run=msgspec.structs.replace(config.run, sync=synced))


def measure_resume(sizes: Sizes, parent: Path) -> None:
    """Print the parts of the time before a resumed run's first tick, each resume in a process of its own."""
    settings = config_of(
        simulation={"rounds": 1, "ticks": 36}, population={"size": sizes.people}, run={"checkpoint_every_ticks": 0}
    )
    with tempfile.TemporaryDirectory(dir=parent) as directory:
        run = create_run(RunDirectory(Path(directory)), settings, build_domain(settings))
        anyio.run(execute, run, Host(), UNOBSERVED)
        disk = RealDisk(Path(directory))
        name = checkpoint_names(disk)[0]
        print(f"\nresume of {sizes.people:,} people: journal {journal_size(disk):,} B, {name} {disk.size(name):,} B")
        command = [sys.executable, "-m", "benchmarks.journal", "--resumes", directory]
        told = [run_process(command, check=True, capture_output=True).stdout for _ in range(sizes.repeats)]
    samples = [msgspec.json.decode(each, type=dict[str, float]) for each in told]
    for phase in samples[0]:
        print(f"{phase:20} {median(sample[phase] for sample in samples):8.2f} s")
    print(f"{'in all':20} {median(sum(sample.values()) for sample in samples):8.2f} s")


def phases_of_resume(path: Path) -> dict[str, float]:
    """Return the seconds of each step before the first tick."""
    seconds: dict[str, float] = {}

    @contextmanager
    def timed(phase: str) -> Iterator[None]:
        begun = perf_counter()
        yield
        seconds[phase] = perf_counter() - begun

    with timed("read and check"):
        config = read_resolved(path / CONFIG)
        recovered = recover(RealDisk(path), repair=False)
    with timed("people and graph"):
        domain = build_domain(config).domain
    with timed("actors"), collector_paused():
        simulation = Simulation(config, domain)
    with timed("restore"), collector_paused():
        restore(simulation, recovered.checkpoint)
    assert simulation.engine.tick == config.simulation.length
    return seconds


def main() -> None:
    """Measure the parts that are asked for, or all of them."""
    measures = {"cost": measure_cost, "resume": measure_resume}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=list(measures), help=f"of {', '.join(measures)}; all without")
    parser.add_argument("--directory", type=Path, default=Path(), help="where files are written, and removed")
    parser.add_argument("--repeats", type=int, default=7, help="measurements of each kind, interleaved")
    parser.add_argument("--agents", type=int, default=10_000, help="agents of `cost`")
    parser.add_argument("--ticks", type=int, default=48, help="ticks of `cost`")
    parser.add_argument("--people", type=int, default=100_000, help="people of `resume`")
    parser.add_argument("--resumes", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.resumes is not None:
        print(msgspec.json.encode(phases_of_resume(options.resumes)).decode())
        return
    for name in options.what:
        measures[name](options, options.directory)


if __name__ == "__main__":
    main()

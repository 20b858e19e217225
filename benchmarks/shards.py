"""Shards beside one process: `python -m benchmarks.shards [--people 1000000] [--rounds 4] [--shards 2]`.

It runs `configs/million.yaml` in memory, each run in a process of its own: without shards, and with shards
on Ray, in turn. The clock runs from the first tick to the last. The digests must be equal. The ratio means something on
quiet processors only, one for each shard; so the work of the engine and of each shard is beside it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from statistics import median
from time import perf_counter, process_time
from typing import Final, NamedTuple

import anyio

from actors.factory.config_file import read_config
from actors.factory.domains import build_domain
from actors.runs.ray_shards import engine_of
from actors.runtime.simulation import Simulation
from prism.config import Config

CONFIG: Final = "configs/million.yaml"


class Measured(NamedTuple):
    """One run.

    Args:
        ready_s: the time until shards are ready; run_s: from then to the end of the last tick.
        engine_s: processor seconds of the engine's process, of which `peak_mb` is the memory; shards_s: the seconds in
            which each shard worked.
        received, sent: bytes a tick.
    """

    ready_s: float
    run_s: float
    engine_s: float
    shards_s: list[float]
    peak_mb: float
    received: float
    sent: float
    activations: int
    digest: str


def settings(people: int, rounds: int, shards: int) -> Config:
    """Return the configuration of a run."""
    overrides = [f"population.size={people}", f"simulation.rounds={rounds}", f"run.shards={shards}"]
    return read_config(CONFIG, overrides)


async def measure(people: int, rounds: int, shards: int) -> Measured:
    """Return what a run takes in this process."""
    config = settings(people, rounds, shards)
    domain, begun = build_domain(config).domain, perf_counter()
    async with engine_of(config, domain) as engine:
        simulation = Simulation(config, domain, engine=engine)
        ready, ends, used = perf_counter(), list[float](), process_time()
        await simulation.run(lambda _: ends.append(perf_counter()), every=config.simulation.ticks_per_round)
        exchange, ticks = simulation.engine.exchange, simulation.tick
        return Measured(
            ready_s=ready - begun,
            run_s=ends[-1] - ready,
            engine_s=process_time() - used,
            shards_s=[] if exchange is None else [*exchange.busy_s.values()],
            peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            received=0.0 if exchange is None else exchange.received / ticks,
            sent=0.0 if exchange is None else exchange.sent / ticks,
            activations=simulation.counters.activations,
            digest=simulation.engine.digest.hexdigest(),
        )


def measure_alone(options: argparse.Namespace, shards: int) -> Measured:
    """Return what a run takes in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.shards", "--alone", "--shards", str(shards)]
    sizes = ["--people", str(options.people), "--rounds", str(options.rounds)]
    ended = subprocess.run([*command, *sizes], check=True, capture_output=True, text=True)
    return Measured(*json.loads(ended.stdout.splitlines()[-1]))


def compare(options: argparse.Namespace) -> None:
    """Print the table.

    Raises:
        SystemExit: the digests differ.
    """
    ways: dict[int, list[Measured]] = {1: [], options.shards: []}
    for _ in range(options.repeats):
        for shards, measured in ways.items():
            measured.append(measure_alone(options, shards))
    if len({each.digest for measured in ways.values() for each in measured}) != 1:
        raise SystemExit("the digests differ")
    print(f"{options.people:,} people, {options.rounds} rounds, {ways[1][0].activations:,} activations")
    for shards, measured in ways.items():
        print(_line(shards, measured))
    pairs = zip(*ways.values(), strict=True)
    print(f"times as fast: {median(one.run_s / other.run_s for one, other in pairs):.2f}")


def _line(shards: int, measured: list[Measured]) -> str:
    def of(name: str) -> float:
        return float(median(getattr(each, name) for each in measured))

    worked = ", ".join(f"{each:.1f}" for each in measured[-1].shards_s) or "0"
    return (
        f"{shards} shards: ready {of('ready_s'):.1f} s, ticks {of('run_s'):.1f} s; "
        f"engine {of('engine_s'):.1f} s of the processor and {of('peak_mb'):.0f} MB, shards worked {worked} s; "
        f"a tick: {of('received') / 1e3:,.0f} KB received, {of('sent') / 1e3:,.0f} KB sent"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1_000_000, help="people")
    parser.add_argument("--rounds", type=int, default=4, help="length of each run")
    parser.add_argument("--shards", type=int, default=2, help="shards beside one process")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each way, in turn")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(anyio.run(measure, options.people, options.rounds, options.shards)))
        return
    compare(options)


if __name__ == "__main__":
    main()

"""The memory of one shard of many: `python -m benchmarks.shard_memory [--people 10000000] [--shards 8] [--only 0,1,7]`.

One machine may have no room for all shards at once, so they run one after the other. First one process with everybody
runs `configs/million.yaml` for a round, and writes down the acts and the answers of each tick. Then each shard, in a
process of its own, is given these acts, as it would be by the others, and its answers must be its part of those.

Beside the memory is the forecast of `prism validate --forecast --shards N`, from the memory of one process.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import anyio

from actors.factory.domains import build_domain
from actors.runs.scaling import memory_in
from actors.runtime.shard import Shard, ShardsHere
from actors.runtime.sharded_engine import ShardedEngine
from actors.runtime.shards import Acts, Turned, ranges_of
from actors.runtime.simulation import Simulation
from benchmarks.shards import settings

ROUNDS = 1


class Noted(ShardedEngine):
    """An engine with everybody that writes down what a shard would be sent.

    Args:
        file: takes the answers and the acts of each tick.
    """

    def __init__(self, *args: Any, file: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._file = file

    async def turn(self, tick: int) -> Turned:
        """Take the turns, and write them down."""
        turned = await super().turn(tick)
        pickle.dump([each.answers.tobytes() for each in turned.waves], self._file)
        return turned

    async def settle(self, acts: Acts) -> None:
        """Apply a tick, and write its acts down."""
        pickle.dump(acts, self._file)
        await super().settle(acts)


def run_whole(people: int, place: Path) -> None:
    """Run everybody in this process."""
    config = settings(people, ROUNDS, 1)
    domain = build_domain(config).domain
    with (place / "ticks").open("wb") as file:
        engine = partial(Noted, shards=ShardsHere(config, domain), domain=domain, file=file)
        simulation = Simulation(config, domain, engine=engine)
        anyio.run(simulation.run)


async def run_shard(people: int, shards: int, number: int, place: Path) -> None:
    """Run one shard in this process, with the acts that were written down.

    Raises:
        SystemExit: its answers are not in those that were written down.
    """
    config = settings(people, ROUNDS, shards)
    domain = build_domain(config).domain
    shard = Shard(config, domain, ranges_of(config, domain)[number])
    before: Acts | None = None
    with (place / "ticks").open("rb") as file:
        for _ in range(config.simulation.length):
            turned = (await shard.step(before, None, begins=True)).turned
            answers, before = pickle.load(file), pickle.load(file)
            if turned is None or not all(
                own.answers.tobytes() in of_all for own, of_all in zip(turned.waves, answers, strict=True)
            ):
                raise SystemExit("its answers are not those of one process")
    await shard.step(before, None, begins=False)


def measured(*words: str) -> dict[str, float]:
    """Return what a part of this takes in a process of its own: `mib` and `seconds`."""
    ended = subprocess.run([sys.executable, "-m", "benchmarks.shard_memory", *words], check=True, capture_output=True)
    found: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print the memory of one process, and of each shard."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=10_000_000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--only", help="the numbers of the shards to run, with commas; 0 is the engine's")
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    begun = perf_counter()
    if options.place is None:
        report(options)
        return
    if options.number is None:
        run_whole(options.people, options.place)
    else:
        anyio.run(run_shard, options.people, options.shards, options.number, options.place)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"mib": peak, "seconds": perf_counter() - begun}))


def report(options: argparse.Namespace) -> None:
    """Run all parts, one after the other."""
    numbers = range(options.shards) if options.only is None else map(int, options.only.split(","))
    with TemporaryDirectory() as place:
        common = "--people", str(options.people), "--shards", str(options.shards), "--place", place
        whole = measured(*common)
        print(f"one process: {whole['mib']:,.0f} MiB, {whole['seconds']:.0f} s")
        print(f"forecast for each of {options.shards} shards: {memory_in(options.shards, whole['mib']):,.0f} MiB")
        for number in numbers:
            one = measured(*common, "--number", str(number))
            print(f"shard {number}: {one['mib']:,.0f} MiB, {one['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()

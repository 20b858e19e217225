"""Futures a second: a run is recorded, and its people fall silent one after the other.

    python -m benchmarks.causes [--people 1000 20000] [--rounds 20] [--futures 60] [--jobs 1 2] [--set KEY=VALUE ...]
    python -m benchmarks.causes --people 200 --set population.posts_per_session=2 population.activity.mean=0.8

A run of `configs/default.yaml` with so many people and these settings; the second is a small busy feed. A future goes
from tick 0 to the end, so it is a whole run without a journal. The time is that of the clock, and includes that of
doing the run again, once for each process.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import perf_counter

import anyio

from actors.results.api import run_async
from actors.studies.causes.search import causes
from prism.config.load import load_config

CONFIG = Path(__file__).resolve().parent.parent / "configs" / "default.yaml"


async def measured(directory: Path, people: int, settings: list[str], futures: int, jobs: list[int]) -> None:
    """Record a run, and print how long it took and how many futures there are a second with so many processes."""
    text = CONFIG.read_text()
    overrides = [f"population.size={people}", "run.activation=compiled", *settings]
    config = load_config(text, overrides=overrides)
    await run_async(config)  # which compiles the kernels
    begun = perf_counter()
    run = directory / f"run-{people}"
    result = await run_async(config, out=run)
    posts = sum(result.summary.world[name] for name in ("posts", "replies", "reshares"))
    print(f"{people:,} people, {' '.join(settings)}: recorded in {perf_counter() - begun:.2f} s, {posts:,} posts")
    told = []
    for number in jobs:
        begun = perf_counter()
        found = await causes(run, "reshares", by=("people",), budget=futures, draws=0, jobs=number)
        lasted_s = perf_counter() - begun
        told.append(found)
        rate = found.futures / lasted_s
        print(f"  {number} processes: {found.futures} futures in {lasted_s:.1f} s, {rate:.2f} a second")
    print(f"  the same answer: {all(each == told[0] for each in told)}")


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[1000, 20_000])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--futures", type=int, default=60)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    settings = [f"simulation.rounds={options.rounds}", *options.set]
    with tempfile.TemporaryDirectory() as directory:
        for people in options.people:
            anyio.run(measured, Path(directory), people, settings, options.futures, options.jobs)


if __name__ == "__main__":
    main()

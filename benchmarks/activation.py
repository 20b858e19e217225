"""The ways in which agents take their turns, side by side: `python -m benchmarks.activation [--people 8000 100000]`.

The default configuration, with other numbers of people, in memory. Each run is a process of its own, the ways take
turns, and the digests must be equal. Time is that of the processor, from the start of the first agent to the last tick.
Building the people and their graph is the same in all ways, and is printed once. Ratios are medians over repeats.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from statistics import median
from time import process_time
from typing import Final, NamedTuple

import anyio

from actors.factory.config_file import read_config
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation

WAYS: Final = ("resident", "compiled")


class Measured(NamedTuple):
    """One run.

    Args:
        build_s: processor seconds until the people are made; `start_s`: from then to the end of the first tick.
        run_s: from the end of the first tick to the end; `activations`: over the whole run.
        peak_mb: the most memory of the process.
    """

    build_s: float
    start_s: float
    run_s: float
    activations: int
    peak_mb: float
    digest: str

    @property
    def all_s(self) -> float:
        """The time of everything but building."""
        return self.start_s + self.run_s


def measure(way: str, people: int, ticks: int) -> Measured:
    """Return what a run takes in this process."""
    settings = [f"run.activation={way}", f"population.size={people}", f"simulation.ticks={ticks}"]
    config = read_config("configs/friends.yaml", settings)
    begun = process_time()
    domain = build_domain(config).domain
    built = process_time()
    simulation, ends = Simulation(config, domain), list[float]()
    anyio.run(simulation.run, lambda _: ends.append(process_time()))
    return Measured(
        build_s=built - begun,
        start_s=ends[0] - built,
        run_s=ends[-1] - ends[0],
        activations=simulation.counters.activations,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        digest=simulation.engine.digest.hexdigest(),
    )


def measure_alone(way: str, people: int, ticks: int) -> Measured:
    """Return what a run takes in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.activation", "--alone", way, "--people", str(people)]
    ended = subprocess.run([*command, "--ticks", str(ticks)], check=True, capture_output=True, text=True)
    return Measured(*json.loads(ended.stdout))


def compare(people: int, ticks: int, repeats: int) -> None:
    """Print one table.

    Raises:
        SystemExit: two ways have different digests.
    """
    measured: dict[str, list[Measured]] = {way: [] for way in WAYS}
    for _ in range(repeats):
        for way in WAYS:
            measured[way].append(measure_alone(way, people, ticks))
    runs = [each for of_way in measured.values() for each in of_way]
    if len({each.digest for each in runs}) != 1:
        raise SystemExit("the ways have different digests")
    built = median(each.build_s for each in runs)
    print(f"{people:,} people, {ticks} ticks, {runs[0].activations:,} activations, built in {built:.1f} s")
    print(f"{'way':10} {'start':>8} {'activation':>11} {'all':>8} {'memory':>8} {'times faster':>13}")
    for way, of_way in measured.items():
        pairs = zip(measured["resident"], of_way, strict=True)
        ratio = median(reference.all_s / each.all_s for reference, each in pairs)
        print(
            f"{way:10} {median(each.start_s for each in of_way):6.2f} s "
            f"{median(each.run_s / each.activations for each in of_way) * 1e6:8.1f} us "
            f"{median(each.all_s for each in of_way):6.2f} s "
            f"{median(each.peak_mb for each in of_way):5.0f} MB {ratio:13.2f}"
        )


def main() -> None:
    """Print a table for each number of people."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[1000, 8000, 100_000], help="numbers of people")
    parser.add_argument("--ticks", type=int, default=48, help="length of each run")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each way, in turn")
    parser.add_argument("--alone", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measure(options.alone, options.people[0], options.ticks)))
        return
    for people in options.people:
        compare(people, options.ticks, options.repeats)


if __name__ == "__main__":
    main()

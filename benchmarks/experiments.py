"""Measure where experiments run: `python -m benchmarks.experiments`, about eleven minutes on two quiet processors.

It prints, for processes and for Ray on this machine:

- two workers against one, for cells of about ten seconds: medians of three, and their ratio. Asked for: 1.8.
- what a cell costs on a warm worker beyond its run in memory, with a graph from a file. Asked for: below 0.3 s.
- a thousand small cells: cells a second, and the memory of driver and workers at the start, in the middle, at the end.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from actors.factory.input_files import inputs_shared
from actors.results.api import run
from actors.studies.experiments.driver import PROCESSES, Executor, Where, opened
from actors.studies.experiments.machine import resident_bytes
from actors.studies.experiments.plan import Cell, make_plan

REPEATS: Final = 3
TRIAL_ROUNDS: Final = 10
WARM: Final = 20
SMALL: Final = "simulation: {ticks: 4}\npopulation: {size: 60}\n"
EXPERIMENT: Final = """\
question: How long does it take?
base: base.yaml
design:
  conditions:
    chronological: {feed.algorithm: chronological}
    hot: {feed.algorithm: hot}
seeds: SEEDS
measures: {likes: likes}
"""


class Bench:
    """The measurements, in a directory of their own.

    Args:
        directory: an empty directory.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._outs = 0

    def cells(self, base: str, count: int) -> Sequence[Cell]:
        """Return so many different cells with a configuration; an even number."""
        (self._directory / "base.yaml").write_text(base)
        path = self._directory / "e.yaml"
        path.write_text(EXPERIMENT.replace("SEEDS", str(max(2, count // 2))))
        return make_plan(path).cells[:count]

    def ran(self, executor: Executor, cells: Sequence[Cell], tell: Callable[[int], None] = lambda _: None) -> float:
        """Run cells in a new directory of an experiment, and return the seconds that it took.

        Args:
            tell: called with the number of cells that are done.
        """
        self._outs += 1
        out = self._directory / f"out-{self._outs}"
        out.mkdir()
        done = iter(range(1, len(cells) + 1))
        begun = time.perf_counter()
        problems = executor.run(cells, out, lambda *_: tell(next(done)))
        if problems:
            raise SystemExit(next(iter(problems.values())))
        return time.perf_counter() - begun

    def warm(self, executor: Executor, jobs: int) -> None:
        """Let every worker run a few cells: Ray starts its processes one after another."""
        self.ran(executor, self.cells(SMALL, WARM * jobs))

    def speed_up(self, on: str, cells: Sequence[Cell], repeats: int) -> None:
        """Print two workers against one."""
        took: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(repeats):
            for jobs, walls in took.items():
                with opened(Where(on=on, jobs=jobs)) as executor:
                    self.warm(executor, jobs)
                    walls.append(self.ran(executor, cells))
        one, two = median(took[1]), median(took[2])
        say(f"{on}: {len(cells)} cells, 1 worker {one:.1f} s, 2 workers {two:.1f} s: {one / two:.2f} times")

    def overhead(self, on: str, base: str, count: int) -> None:
        """Print what a cell costs beyond its run in memory."""
        cells = self.cells(base, count)
        with inputs_shared():
            alone = [seconds(partial(run, cell.config)) for cell in cells]
        with opened(Where(on=on, jobs=1)) as executor:
            self.ran(executor, self.cells(base, 2))
            each = self.ran(executor, cells) / count
        say(f"{on}: a cell {each:.3f} s, its run in memory {median(alone):.3f} s: {each - median(alone):.3f} s beyond")

    def many(self, on: str, count: int) -> None:
        """Print the memory while many small cells are run."""
        at = (count // 20, count // 2, count)
        lines: list[str] = []

        def tell(done: int) -> None:
            if done in at:
                workers = [resident_bytes(each) or 0 for each in workers_below(os.getpid())]
                driver, largest = (resident_bytes(os.getpid()) or 0) / 1e6, max(workers, default=0) / 1e6
                lines.append(f"after {done}: driver {driver:.0f}, worker {largest:.0f}")

        with opened(Where(on=on, jobs=2)) as executor:
            took = self.ran(executor, self.cells(SMALL, count), tell)
        say(f"{on}: {count} small cells, {count / took:.1f} a second; MB {'; '.join(lines)}")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def seconds(do: Callable[[], object]) -> float:
    """Return the seconds that something takes."""
    begun = time.perf_counter()
    do()
    return time.perf_counter() - begun


def workers_below(ancestor: int) -> Iterator[int]:
    """Yield the processes below one that run cells: those that a fork server or Ray has made."""
    parents = {each: parent for each, parent in all_parents() if parent is not None}
    for process in parents:
        above, line = process, []
        while above in parents and above != ancestor:
            above = parents[above]
            line.append(above)
        if ancestor in line and len(line) > 1:
            yield process


def all_parents() -> Iterator[tuple[int, int | None]]:
    """Yield every process with its parent."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            yield int(path.parent.name), int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue


def long_base(cell_s: float) -> str:
    """Return the configuration of a cell that takes about so many seconds on this machine."""
    base = "simulation: {rounds: ROUNDS, ticks_per_round: 24}\npopulation: {size: 300}\n"
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(Path(directory))
        cell = bench.cells(base.replace("ROUNDS", str(TRIAL_ROUNDS)), 2)[0]
        run(cell.config)
        took = seconds(lambda: run(cell.config))
    return base.replace("ROUNDS", str(max(1, round(TRIAL_ROUNDS * cell_s / took))))


def graph(path: Path) -> str:
    """Write a graph of 4,000 people with 88,000 friendships; return the configuration of one tick with it."""
    ties = ((person, (person + step) % 4000) for person in range(4000) for step in range(1, 23))
    path.write_text("".join(f"{one} {other}\n" for one, other in ties), encoding="ascii")
    return f"simulation: {{ticks: 1}}\npopulation: {{graph: {{path: {path}, directed: false}}}}\n"


def main() -> None:
    """Run all measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cell-s", type=float, default=10.0, help="seconds of a long cell")
    parser.add_argument("--small", type=int, default=1000, help="small cells; an even number")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--on", nargs="*", default=[PROCESSES, "ray"])
    given = parser.parse_args()
    base = long_base(given.cell_s)
    for on in given.on:
        with tempfile.TemporaryDirectory() as directory:
            bench = Bench(Path(directory))
            bench.speed_up(on, bench.cells(base, 4), given.repeats)
            bench.overhead(on, graph(Path(directory, "graph.txt")), 10)
            bench.overhead(on, SMALL, 20)
            bench.many(on, given.small)


if __name__ == "__main__":
    main()

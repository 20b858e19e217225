"""The tests of experiments on worlds whose truth is known: false alarms and power.

Values are drawn for each condition and seed instead of run, and go through the real `outcome_of`. A seed has a part
that all its conditions share, as matched pairs have. Printed are shares of simulated experiments, with the standard
error of the simulation. Intervals: `benchmarks.coverage`.

    nice python -m benchmarks.experiments_power [--experiments 2000] [--seeds 20] [--only alarms power]

2,000 experiments take about ten minutes on one core.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from actors.studies.experiments.outcome import Outcome, outcome_of
from actors.studies.experiments.plan import Plan, make_plan

MEASURE = "value"
SHARED = 0.7
"""The standard deviation of the part that a seed's conditions share; that of each cell's own part is 1."""
TESTS = {
    "t": "contrast: [a, b]",
    "wilcoxon": "contrast: [a, b]",
    "mann_whitney": "contrast: [a, b]",
}
EXPERIMENT = """\
question: Is the truth found?
base: base.yaml
design: {{conditions: {{a: {{feed.size: 3}}, b: {{feed.size: 4}}, c: {{feed.size: 5}}}}}}
seeds: {seeds}
measures: {{value: likes}}
hypotheses:
{hypotheses}
"""
Draw = Callable[[np.random.Generator, int], np.ndarray[Any, Any]]
"""Returns the values of so many seeds: a row for each of the three conditions."""


class Counts:
    """Shares of simulated experiments."""

    def __init__(self) -> None:
        self._hits = Counter[str]()
        self._of = Counter[str]()

    def add(self, name: str, *, hit: bool) -> None:
        """Count one experiment."""
        self._of[name] += 1
        self._hits[name] += hit

    def lines(self) -> Iterator[str]:
        """Yield a line for each share, with its standard error."""
        for name, of in self._of.items():
            share = self._hits[name] / of
            yield f"  {name:<52} {share:7.1%} +- {math.sqrt(share * (1 - share) / of):.1%}  of {of:,}"


def planned(directory: Path, seeds: object, tests: Sequence[str] = tuple(TESTS)) -> Plan:
    """Return the plan of an experiment with these tests."""
    (directory / "base.yaml").write_text("population: {size: 50}\n")
    lines = [f"  - {{measure: {MEASURE}, {TESTS[test]}, test: {test}}}" for test in tests]
    (directory / "e.yaml").write_text(EXPERIMENT.format(seeds=seeds, hypotheses="\n".join(lines)))
    return make_plan(directory / "e.yaml")


def drawn(shifts: Sequence[float], shared: float = SHARED, *, skewed: bool = False) -> Draw:
    """Return a world whose conditions differ by `shifts`."""

    def draw(rng: np.random.Generator, seeds: int) -> np.ndarray[Any, Any]:
        own = rng.exponential(size=(3, seeds)) - 1 if skewed else rng.normal(size=(3, seeds))
        of_seeds = rng.exponential(size=seeds) - 1 if skewed else rng.normal(size=seeds)
        return np.asarray(shifts)[:, None] + shared * of_seeds + own

    return draw


def values_of(plan: Plan, table: np.ndarray[Any, Any]) -> dict[tuple[str, int], Mapping[str, float]]:
    """Return drawn values as those of cells."""
    names = [each.name for each in plan.experiment.conditions]
    return {
        (name, seed): {MEASURE: float(table[row, column])}
        for row, name in enumerate(names)
        for column, seed in enumerate(plan.experiment.seeds)
    }


def covers(low: float | None, high: float | None, truth: float) -> bool:
    """Return whether an interval holds the truth; one that is not there does not."""
    return low is not None and high is not None and low <= truth <= high


def count_tests(counts: Counts, outcome: Outcome, alpha: float = 0.05) -> None:
    """Count which tests found something, each alone and by Holm's correction."""
    every = outcome.comparisons
    for each in every:
        counts.add(f"p <= {alpha:g}: {each.hypothesis.test}", hit=each.p <= alpha)
    counts.add("any of them after Holm's correction", hit=any(each.supported for each in every))


def alarms(directory: Path, experiments: int, seeds: int) -> Iterator[str]:
    """Yield false alarms where no condition differs from another."""
    plan = planned(directory, seeds)
    for name, shared, skewed in (("normal", SHARED, False), ("skewed", SHARED, True), ("normal, no pairs", 0.0, False)):
        counts, rng, draw = Counts(), np.random.default_rng(11), drawn([0.0] * 3, shared, skewed=skewed)
        for _ in range(experiments):
            outcome = outcome_of(plan, values_of(plan, draw(rng, seeds)))
            count_tests(counts, outcome)
        yield f"No difference, {name}, {seeds} seeds: false alarms"
        yield from counts.lines()


def power(directory: Path, experiments: int, seeds: int) -> Iterator[str]:
    """Yield how often an effect is found."""
    size = 0.7
    yield f"An effect of {size} standard deviations, {seeds} seeds"
    counts = Counts()
    for test in TESTS:
        plan, rng = planned(directory, seeds, [test]), np.random.default_rng(12)
        if test in ("t", "wilcoxon"):
            draw = drawn([size * math.sqrt(2), 0.0, 0.0])  # paired differences have a variance of 2
        else:
            draw = drawn([size, 0.0, 0.0], shared=0.0)
        for _ in range(experiments):
            outcome = outcome_of(plan, values_of(plan, draw(rng, seeds)))
            p = outcome.comparisons[0].p
            counts.add(f"{test} finds {size:.2f}", hit=p <= plan.experiment.alpha)
    yield from counts.lines()


def main() -> None:
    """Simulate, and print each part when it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=["alarms", "power"])
    given = parser.parse_args()
    importlib.import_module("statsmodels.stats.multitest")
    gc.freeze()  # statsmodels collects garbage in each correction, which takes longer than the rest
    with TemporaryDirectory() as name:
        directory = Path(name)
        parts = {
            "alarms": lambda: alarms(directory, given.experiments, given.seeds),
            "power": lambda: power(directory, given.experiments, given.seeds),
        }
        for part in given.only:
            for line in parts[part]():
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()

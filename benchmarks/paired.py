"""Measure how much the same seeds sharpen a comparison of two feed algorithms: `python -m benchmarks.paired`.

For each pair of algorithms and each outcome it prints the spread of the difference over the seeds: of matched pairs
(the same seed in both conditions) and of independent runs, sqrt(var(a) + var(b)), and the ratio. A ratio of 0.5 means
that a fourth of the runs find a difference as surely.

Every run is in memory and takes a second or two. `--jobs` runs several at once, each in a process of its own.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations, product
from statistics import mean, stdev, variance
from typing import Any, Final

import msgspec

import actors
from prism.config import Config

ALGORITHMS: Final = ("chronological", "hot", "interest", "random")
OUTCOMES: Final = ("likes", "reshares", "engagements", "engagement_per_post_seen", "largest_cascade")
WANTED: Final = 0.5

Outcome = dict[str, float]


def outcome_of(algorithm: str, seed: int, people: int, rounds: int, settings: tuple[str, ...] = ()) -> Outcome:
    """Return the outcomes of one run.

    Args:
        settings: further settings, each as `section.key=number`.
    """
    config: dict[str, Any] = {
        "simulation": {"seed": seed, "rounds": rounds},
        "population": {"size": people},
        "feed": {"algorithm": algorithm},
    }
    for setting in settings:
        key, _, value = setting.partition("=")
        section, _, name = key.partition(".")
        config.setdefault(section, {})[name] = float(value) if "." in value else int(value)
    summary = actors.run(msgspec.convert(config, Config)).summary.world
    engagements = summary["likes"] + summary["replies"] + summary["reshares"]
    return {
        "likes": summary["likes"],
        "reshares": summary["reshares"],
        "engagements": engagements,
        "engagement_per_post_seen": summary["behaviour"]["engagement_per_post_seen"],
        "largest_cascade": summary["largest_cascade"]["size"],
    }


def spreads(first: list[float], second: list[float]) -> tuple[float, float, float]:
    """Return the mean difference, its standard deviation over matched pairs, and that over independent runs."""
    differences = [one - other for one, other in zip(first, second, strict=True)]
    return mean(differences), stdev(differences), (variance(first) + variance(second)) ** 0.5


def table(found: dict[tuple[str, int], Outcome], seeds: range) -> list[str]:
    """Return the lines of the report: a row for each pair of algorithms and outcome, and the misses."""
    lines = ["| pair | outcome | mean difference | spread, matched | spread, independent | ratio |"]
    lines.append("|---|---|---|---|---|---|")
    ratios = []
    for (one, other), outcome in product(combinations(ALGORITHMS, 2), OUTCOMES):
        values = [[found[algorithm, seed][outcome] for seed in seeds] for algorithm in (one, other)]
        difference, matched, independent = spreads(values[0], values[1])
        ratio = matched / independent if independent else 0.0
        ratios.append((ratio, f"{one} - {other}, {outcome}"))
        lines.append(
            f"| {one} - {other} | {outcome} | {difference:.4g} | {matched:.3g} | {independent:.3g} | {ratio:.2f} |"
        )
    misses = [f"{name}: {ratio:.2f}" for ratio, name in ratios if ratio > WANTED]
    lines.append("")
    lines.append(
        f"{len(ratios) - len(misses)} of {len(ratios)} ratios are at most {WANTED}; above it: {misses or 'none'}"
    )
    return lines


def main() -> None:
    """Run every algorithm with every seed, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=300, help="people in a run; default 300")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of a run; default 10")
    parser.add_argument("--seeds", type=int, default=10, help="seeds, from 1 on; default 10")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once; default 1")
    parser.add_argument("--set", action="append", default=[], help="a further setting, section.key=number")
    options = parser.parse_args()
    seeds = range(1, options.seeds + 1)
    cells = list(product(ALGORITHMS, seeds))
    with ProcessPoolExecutor(options.jobs) as pool:
        tasks = [
            pool.submit(outcome_of, algorithm, seed, options.people, options.rounds, tuple(options.set))
            for algorithm, seed in cells
        ]
        found = {cell: task.result() for cell, task in zip(cells, tasks, strict=True)}
    print(f"{options.people} people, {options.rounds} rounds, seeds 1 to {options.seeds}, {' '.join(options.set)}")
    print("\n".join(table(found, seeds)))


if __name__ == "__main__":
    main()

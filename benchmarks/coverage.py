"""The coverage of the intervals that PRISM prints: how often they hold a truth that is known.

Each line is an interval: values are drawn from a known law, the product's own code works out the interval, and the
share of the intervals that hold the truth is printed with its standard error. An interval that is not there does not
count; the last column says how often there is none. Tests: `benchmarks.experiments_power`.

    nice python -m benchmarks.coverage [--samples 1000] [--only means effects ...]

Indices of designs resample, so 200 samples of them take most of an hour; the others take minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count, product
from typing import Any, NamedTuple

import numpy as np

from prism.columns import Floats, Ints
from prism.experiment.design import Design, Range, conditions_of, unit_points
from prism.experiment.effects import effects_on
from prism.experiment.hypothesis_tests import Hypothesis, compared, described
from prism.scorecard.cascades import Shapes
from prism.scorecard.facts import (
    LARGE_PER,
    LARGE_POSTS,
    Feed,
    interval_of_runs,
    social_facts,
)
from prism.sharing.audit import mean_with_interval

Ends = tuple[float | None, float | None]
Law = Callable[[np.random.Generator, int], Floats]
TAIL = 2.5
"""The exponent of the tail of cascades' sizes, of which the largest is a measure that varies much."""
LAWS: dict[str, Law] = {
    "normal": lambda random, size: random.normal(0.5, 1.0, size=size),
    "exponential": lambda random, size: random.exponential(size=size) - 0.5,
    "largest of 40 cascades": lambda random, size: np.floor(random.pareto(TAIL, size=(size, 40)) + 1).max(axis=1),
}
SIZE_TAIL = 1.3  # the exponent of the tail of sizes
SEEDS = (5, 10, 20, 50)
MANY = 400_000
"""Draws from which a truth is found that has no formula."""


class Case(NamedTuple):
    """An interval: its name, its truth, and how one is made from new values."""

    name: str
    truth: float
    make: Callable[[np.random.Generator], Ends]


def means() -> Iterator[Case]:
    """Yield the intervals of a mean, and of differences from a condition whose values are half as large again."""
    for law, draw in LAWS.items():
        truth = float(draw(np.random.default_rng(1), MANY).mean())
        for seeds in SEEDS:

            def mean(random: np.random.Generator, draw: Law = draw, seeds: int = seeds) -> Ends:
                found = described(list(draw(random, seeds)))
                return found.low, found.high

            def pairs(random: np.random.Generator, draw: Law = draw, seeds: int = seeds) -> Ends:
                return _difference("wilcoxon", 1.5 * draw(random, seeds), draw(random, seeds))

            def apart(random: np.random.Generator, draw: Law = draw, seeds: int = seeds) -> Ends:
                return _difference("mann_whitney", 1.5 * draw(random, seeds), draw(random, seeds))

            yield Case(f"mean, {law}, {seeds} seeds", truth, mean)
            yield Case(f"paired difference, {law}, {seeds} pairs", 0.5 * truth, pairs)
            yield Case(f"difference without pairs, {law}, {seeds} seeds each", 0.5 * truth, apart)


def _difference(test: str, one: Floats, other: Floats) -> Ends:
    found = compared(_hypothesis(test), list(one), list(other)).difference
    return found.low, found.high


def _hypothesis(test: str) -> Hypothesis:
    return Hypothesis(measure="m", contrast=("a", "b"), test=test)  # type: ignore[arg-type]


def effects() -> Iterator[Case]:
    """Yield the intervals of the effect sizes of two conditions, half a standard deviation apart."""
    shift = 0.5
    wide = np.random.default_rng(2).normal(shift, 1.0, size=MANY)
    order = np.argsort(np.argsort(np.abs(wide))) + 1.0
    truths = {
        "t": ("d_z", shift),
        "wilcoxon": ("rank-biserial", float((np.sign(wide) * order).sum() / order.sum())),
        "mann_whitney": ("Cliff's delta", math.erf(shift / 2.0)),
    }
    for test, (name, truth) in truths.items():
        for seeds in SEEDS:

            def made(random: np.random.Generator, test: str = test, seeds: int = seeds) -> Ends:
                other = random.normal(0.0, 1.0, size=seeds) if test == "mann_whitney" else np.zeros(seeds)
                found = compared(_hypothesis(test), list(random.normal(shift, 1.0, size=seeds)), list(other))
                return found.effect_low, found.effect_high

            yield Case(f"{name}, normal, {seeds} seeds", truth, made)


def designs() -> Iterator[Case]:
    """Yield the intervals of slopes, Sobol's indices and Morris's measures, with noise in each cell."""
    ranges = {f"x.x{place}": Range(low=0.0, high=1.0) for place in (1, 2)}
    weights, noise, seeds = np.array([2.0, 1.0]), 0.3, 5
    of_plane = float((weights**2).sum() / 12.0)
    for kind, name, exact, sizes in (
        ("latin_hypercube", "slope", math.nan, {"samples": 40}),
        ("sobol", "first_order", float(weights[0] ** 2 / 12.0 / of_plane), {"samples": 64}),
        ("sobol", "total", float(weights[0] ** 2 / 12.0 / of_plane), {"samples": 64}),
        ("morris", "mu_star", float(weights[0]), {"trajectories": 20}),
    ):
        design = Design(kind=kind, factors=ranges, **sizes)  # type: ignore[arg-type]
        conditions, points = conditions_of(design), unit_points(design)
        plane = points @ weights
        # A slope is in standard deviations of these points, and of the noise in their means.
        of_points = float(weights[0] * points[:, 0].std() / math.sqrt(plane.var() + noise**2 / seeds))
        truth = of_points if name == "slope" else exact

        def made(
            random: np.random.Generator,
            design: Design = design,
            conditions: Any = conditions,
            plane: Floats = plane,
            name: str = name,
        ) -> Ends:
            table = plane[:, None] + random.normal(0.0, noise, size=(len(plane), seeds))
            found = effects_on("m", design, conditions, table).effects
            return next((each.low, each.high) for each in found if each.factor == "x.x1" and each.kind == name)

        yield Case(f"{kind}, {name}, {len(plane)} points, {seeds} seeds", truth, made)


def originals() -> Iterator[Case]:
    """Yield the intervals of shares of all originals, by authors who differ in how many they write and how well."""
    for name, spread, followed in (("few write most", 1.5, 0.5), ("people differ less", 1.0, 0.25)):

        def drawn(random: np.random.Generator, people: int, spread: float = spread, followed: float = followed) -> Any:
            rates = random.lognormal(0.0, spread, size=people)
            authors = np.repeat(np.arange(people), 1 + random.poisson(rates))
            levels = (followed * np.log(rates) + random.normal(0.0, 0.8, size=people))[authors]
            is_alone = random.random(len(authors)) < 1.0 / (1.0 + np.exp(0.8 * levels - 1.2))
            reached = np.floor(2.0 * np.exp(levels) * random.random(len(authors)) ** (-1.0 / SIZE_TAIL)) + 1.0
            return authors, np.where(is_alone, 1.0, np.minimum(reached, LARGE_POSTS))

        sizes = drawn(np.random.default_rng(8), MANY)[1]
        truths = {
            "posts without reaction": float((sizes == 1.0).mean()),
            f"{LARGE_POSTS}+ posts, of {LARGE_PER:,}": LARGE_PER * float((sizes == LARGE_POSTS).mean()),
        }
        for people, (fact, truth) in product((20, 70, 1000), truths.items()):

            def made(random: np.random.Generator, drawn: Any = drawn, people: int = people, fact: str = fact) -> Ends:
                found = {each.name: each for each in social_facts([_feed(*drawn(random, people))])}[fact]
                return found.low, found.high

            yield Case(f"{fact}, {name}, {people:,} authors", truth, made)


def _feed(authors: Ints, sizes: Floats) -> Feed:
    """Return a run with stars of these sizes."""
    nothing = np.zeros(len(sizes))
    return Feed(
        shapes=Shapes(sizes.astype(np.int64), nothing.astype(np.int64), nothing.astype(np.int64), nothing, nothing),
        authors=authors,
        posts_by_person=np.empty(0, np.int64),
        ticks=np.empty(0, np.int64),
        epoch=datetime(2025, 1, 1, tzinfo=UTC),
        tick_seconds=3600.0,
        length=24,
        engagement_per_post_seen=None,
    )


def others() -> Iterator[Case]:
    """Yield the intervals of surveys, of audits, and of the runs of an economy."""

    def answers(random: np.random.Generator) -> Ends:
        moves = random.choice((0.0, 1.0, -1.0), p=(0.8, 0.13, 0.07), size=100)
        return _difference("wilcoxon", moves, np.zeros(100))

    def scale(random: np.random.Generator) -> Ends:
        was = random.integers(1, 6, size=100)
        now = np.clip(was + random.choice(3, p=(0.15, 0.7, 0.15), size=100) - 1, 1, 5)
        return _difference("wilcoxon", now.astype(np.float64), was.astype(np.float64))

    def audit(random: np.random.Generator) -> Ends:
        found = mean_with_interval(random.exponential(size=30), (0.0, 10.0))
        return found.low, found.high

    def run(random: np.random.Generator) -> Ends:
        low, high = interval_of_runs(list(random.normal(size=20)))
        another = random.normal()
        return low - another, high - another

    yield Case("two options of a survey, 100 people", 0.06, answers)
    yield Case("scale of a survey, 100 people", 0.0, scale)
    yield Case("mean of 30 audits, exponential (Hall)", 1.0, audit)
    yield Case("another run of an economy beside 20, 90%", 0.0, run)


PARTS = {
    "means": means,
    "effects": effects,
    "designs": designs,
    "originals": originals,
    "others": others,
}


def line_of(case: Case, samples: int) -> str:
    """Return a row of the table."""
    held, missing = 0, 0
    for seed, _ in zip(count(), range(samples), strict=False):
        low, high = case.make(np.random.default_rng([17, seed]))
        if low is None or high is None:
            missing += 1
        else:
            held += low <= case.truth <= high
    made = max(1, samples - missing)
    share = held / made
    error = math.sqrt(share * (1.0 - share) / made)
    return f"| {case.name} | {share:.1%} ({error:.1%}) | {missing / samples:.0%} |"


def main() -> None:
    """Print a row for each interval."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=list(PARTS))
    given = parser.parse_args()
    print("| 95% interval of | holds the truth | none |\n|---|---|---|")
    for part in given.only:
        for case in PARTS[part]():
            print(line_of(case, given.samples), flush=True)


if __name__ == "__main__":
    main()

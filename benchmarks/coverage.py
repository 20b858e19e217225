"""The coverage of the intervals that PRISM prints: how often they hold a truth that is known.

Each line is an interval: values are drawn from a known law, the product's own code works out the interval, and the
share of the intervals that hold the truth is printed with its standard error. An interval that is not there does not
count; the last column says how often there is none. Tests: `benchmarks.experiments_power`.

    nice python -m benchmarks.coverage [--samples 1000] [--only means effects ...]

Indices of designs and scorecards resample, so 1,000 samples of them take most of an hour; the others take minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from itertools import count, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.divergence import ComparedChoices, Distance, Ratio, Reference, jensen_shannon
from prism.experiment import Design, Hypothesis, compared, decomposed, described, effects_on
from prism.experiment.design import Range
from prism.experiment.sampling import sampled_conditions, unit_points
from prism.scorecard.concentration import month_share, top_share
from prism.scorecard.macro import interval_of_runs
from prism.scorecard.matched import INTERVAL, Matching, distance
from prism.sharing.audit import mean_with_interval
from prism.survey.outcome import mcnemar

Floats = NDArray[np.float64]
Ends = tuple[float | None, float | None]
Law = Callable[[np.random.Generator, int], Floats]
TAIL = 2.5
"""The exponent of the tail of cascades' sizes, of which the largest is a measure that varies much."""
LAWS: dict[str, Law] = {
    "normal": lambda random, size: random.normal(0.5, 1.0, size=size),
    "exponential": lambda random, size: random.exponential(size=size) - 0.5,
    "largest of 40 cascades": lambda random, size: np.floor(random.pareto(TAIL, size=(size, 40)) + 1).max(axis=1),
}
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


def shares() -> Iterator[Case]:
    """Yield the intervals of shares of variance: three conditions, a part that seeds share, and the rest."""
    parts = {"conditions": 1.0, "seeds": 0.49, "rest": 1.0}
    for seeds in (5, 20, 60):
        for place, (name, part) in enumerate(parts.items()):

            def made(random: np.random.Generator, place: int = place, seeds: int = seeds) -> Ends:
                table = np.array([[1.0], [0.0], [-1.0]]) + 0.7 * random.normal(size=seeds)
                found = decomposed(table + random.normal(size=(3, seeds)))[place]
                return found.low, found.high

            yield Case(f"share of variance of {name}, {seeds} seeds", part / sum(parts.values()), made)


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
        conditions, points = sampled_conditions(design), unit_points(design)
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


def divergences() -> Iterator[Case]:
    """Yield the intervals of the distance between an oracle and the embedded choice, in bits and by a ratio."""
    options = ("scroll_on", "like", "reshare", "reply")
    embedded = (0.90, 0.06, 0.025, 0.015)
    for name, oracle in (
        ("a tenth engage, the oracle 4%", (0.96, 0.03, 0.005, 0.005)),
        ("as the embedded", embedded),
    ):
        for questions, is_ratio in product((100, 300, 3000), (False, True)):

            def made(
                random: np.random.Generator,
                oracle: tuple[float, ...] = oracle,
                questions: int = questions,
                is_ratio: bool = is_ratio,
            ) -> Ends:
                counted = ComparedChoices()
                for agent, chosen in enumerate(random.choice(4, p=oracle, size=questions)):
                    named = (agent, int(random.integers(1 << 30)), "decides")
                    reference = Reference(0.5, embedded)
                    counted.add(
                        named, "evaluating", options, chosen=options[chosen], other=options[0], reference=reference
                    )
                found = counted.divergences()[0]
                told: Distance | Ratio = found.ratios["embedded"]["like"] if is_ratio else found.against["embedded"]
                return told.low, told.high

            truth = oracle[1] / embedded[1] if is_ratio else jensen_shannon(oracle, embedded)
            yield Case(f"{'ratio of likes' if is_ratio else 'bits'}, {name}, {questions:,} questions", truth, made)


def scorecards() -> Iterator[Case]:
    """Yield the intervals of a scorecard: 40 authors with a level each, and 120 cascades of theirs."""
    real = np.random.default_rng(4).normal(size=1400)
    wide = np.random.default_rng(5).normal(0.3, 1.2, size=MANY)
    apart = distance(wide, np.ones(MANY), real, np.ones(len(real)))

    def matching(random: np.random.Generator) -> tuple[Floats, Matching]:
        authors = random.integers(40, size=120)
        levels, own = random.normal(0.0, 0.8, size=40), math.sqrt(1.2**2 - 0.8**2)
        values = 0.3 + levels[authors] + random.normal(0.0, own, size=120)
        seed = int(random.integers(1 << 30))
        return values, Matching(np.full(120, 100.0), np.full(len(real), 100.0), authors, seed=seed)

    def median(random: np.random.Generator) -> Ends:
        values, matched = matching(random)
        found = matched.compare(values, real)
        return found.simulated_low, found.simulated_high

    def far(random: np.random.Generator) -> Ends:
        values, matched = matching(random)
        found = matched.compare(values, real)
        return found.distance_low, found.distance_high

    yield Case("median of cascades, 120 by 40 authors", 0.3, median)
    yield Case("distance of cascades, 120 by 40 authors", apart, far)
    rates = np.random.default_rng(6).lognormal(-1.0, 1.5, size=MANY)
    months = np.random.default_rng(7).poisson(30.0 * rates).astype(np.float64)

    def tenth(random: np.random.Generator) -> Ends:
        posts = random.poisson(random.lognormal(-1.0, 1.5, size=2000)).astype(np.float64)
        drawn = [month_share(random.choice(posts, size=len(posts)), 1.0) for _ in range(100)]
        low, high = np.percentile(drawn, INTERVAL)
        return float(low), float(high)

    yield Case("posts of the top tenth in a month, 2,000 people, one day", top_share(months[months > 0], 0.1), tenth)


def others() -> Iterator[Case]:
    """Yield the intervals of surveys, of audits, and of the runs of an economy."""

    def answers(random: np.random.Generator) -> Ends:
        moves = random.choice(3, p=(0.8, 0.13, 0.07), size=100)
        found = mcnemar(int((moves == 1).sum()), int((moves == 2).sum()), 100)
        return found["low"], found["high"]

    def scale(random: np.random.Generator) -> Ends:
        was = random.integers(1, 6, size=100)
        now = np.clip(was + random.choice(3, p=(0.15, 0.7, 0.15), size=100) - 1, 1, 5)
        return _difference("wilcoxon", now.astype(np.float64), was.astype(np.float64))

    def audit(random: np.random.Generator) -> Ends:
        found = mean_with_interval(random.exponential(size=30), None, (0.0, 10.0))
        return found.low, found.high

    def run(random: np.random.Generator) -> Ends:
        low, high = interval_of_runs(list(random.normal(size=20)))
        another = random.normal()
        return low - another, high - another

    yield Case("two options of a survey, 100 people (Wald)", 0.06, answers)
    yield Case("scale of a survey, 100 people", 0.0, scale)
    yield Case("mean of 30 audits, exponential (Hall)", 1.0, audit)
    yield Case("another run of an economy beside 20, 90%", 0.0, run)


PARTS = {
    "means": means,
    "effects": effects,
    "shares": shares,
    "designs": designs,
    "divergences": divergences,
    "scorecards": scorecards,
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

"""Charts of an experiment: comparisons, means, main effects, sizes of cascades and courses over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from actors.pages.card import Chart, Table, chart_of
from actors.pages.words import MINUS, short, span
from actors.plots.lines import Course, Panel, curves, over_time
from actors.plots.rows import Row, rows
from actors.plots.theme import color_of
from actors.studies.experiments.over_time import Band, OverTime
from actors.studies.experiments.record import ExperimentRecord
from prism.answers import named
from prism.experiment import Comparison, Effect, Interval, conditions_for, described
from prism.palette import BLUE, GREY, ORANGE
from prism.quoting import as_text

LINES_MAX = 4
"""The most conditions whose lines are drawn in one picture."""
JOINED_MAX = 8
"""The most conditions whose pairs are joined by lines."""
LEVELS_MAX = 9
"""The most levels of a factor that are drawn one by one; more are taken together in as many ranges."""
TEXTS_MAX = 4 * LEVELS_MAX
"""The most levels of a factor that are texts, which cannot be taken together."""
MEASURES_MAX = 6
"""The most measures that have pictures of their own."""


def contrast_words(first: str, second: str) -> str:
    """Return two conditions as a difference; if their names are made of levels, shared levels come last."""
    ours, theirs = first.split(), second.split()
    shared = [level for level in ours if level in theirs and "=" in level]
    if not shared:
        return f"{first} {MINUS} {second}"
    own, other = (" ".join(level for level in each if level not in shared) for each in (ours, theirs))
    return f"{own} {MINUS} {other}, {' '.join(shared)}"


Named = tuple[str, Comparison]
"""A comparison with its number in the plan, such as H2."""


SCALES: Mapping[str, str] = {
    "d_z": (
        "the mean difference in units of the spread of differences: at 0.2 about 58 of 100 seeds differ in this "
        "direction, at 0.8 about 79"
    ),
    "rank-biserial": (
        "1 if the first condition is above the second under every seed, \N{MINUS SIGN}1 if it is below under every "
        "seed, and 0 if neither prevails; large differences weigh more"
    ),
    "Cliff's delta": (
        "1 if every seed of the first condition is above every seed of the second, \N{MINUS SIGN}1 if all are below, "
        "and 0 if neither prevails"
    ),
}
"""`{effect size: its meaning}`."""


def forest(named: Sequence[Named], exploratory: Sequence[str]) -> list[Chart]:
    """Return a forest plot for each measure, with its comparisons in its unit; the table has their effect sizes."""
    measures = list(dict.fromkeys(each.hypothesis.measure for _, each in named))
    return [
        _forest(measure, [pair for pair in named if pair[1].hypothesis.measure == measure], exploratory)
        for measure in measures
    ]


def p_words(p: float) -> str:
    """Return a p value: three digits, or that it is below 0.001."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _forest(measure: str, named: Sequence[Named], exploratory: Sequence[str]) -> Chart:
    bars, cells = [], []
    for name, each in named:
        difference = each.difference
        bars.append(
            Row(
                f"{name} {contrast_words(*each.hypothesis.contrast)}",
                *(difference.mean, difference.low, difference.high),
                BLUE if each.supported else GREY,
                each.hypothesis.with_test not in exploratory,
            )
        )
        cells.append(
            (
                name,
                str(each.hypothesis),
                difference.mean,
                span(difference.low, difference.high),
                each.effect,
                each.effect_value,
                span(each.effect_low, each.effect_high),
                "not tested" if each.untested else p_words(each.p),
                p_words(each.p_holm),
                *(each.among, difference.count, each.zeros),
            )
        )
    margins = {each.hypothesis.margin for _, each in named if each.hypothesis.margin is not None}
    shared = next(iter(margins)) if len(margins) == 1 else None
    within = "" if shared is None else " The shaded range is the margin within which conditions count as equal."
    sizes = dict.fromkeys(each.effect for _, each in named)
    meanings = "".join(f" {effect} is {SCALES[effect]}." for effect in sizes if effect in SCALES)
    reading = (
        f"The differences in the unit of {measure}, the first condition minus the second. A line is a 95% interval for "
        "this comparison alone, without correction for the others. One that leaves out 0 does not make a hypothesis "
        "supported: the corrected p value of its test does, which the colour tells. The table has effect sizes."
        f"{meanings}{within}"
    )
    columns = (
        *("", "comparison", "difference", "95% interval", "effect size", "value", "its 95% interval"),
        *("p", "p (Holm)", "among", "seeds", "no difference"),
    )
    names = [("supported", BLUE, "circle")] if any(each.supported for _, each in named) else []
    names += [] if all(each.supported for _, each in named) else [("not supported", GREY, "circle")]
    if any(each.hypothesis.with_test in exploratory for _, each in named):
        names.append(("open: exploratory, not planned before the results", GREY, "circle"))
    unit, title = f"difference in {measure}", f"Differences in {measure}"
    drawn = rows(bars, unit, title, reading, margin=shared, names=names)
    return chart_of(drawn, Table(columns, cells))


def mean_charts(record: ExperimentRecord, conditions: Sequence[str]) -> list[Chart]:
    """Return for each measure its values in each condition, pairs joined, with means and their intervals."""
    found = []
    for measure in list(record.plan.experiment.measures)[:MEASURES_MAX]:
        kept = [
            (each.condition, each.over_seeds)
            for condition in conditions
            for each in record.outcome.conditions
            if (each.condition, each.measure) == (condition, measure)
        ]
        if kept:
            is_joined = len(kept) <= JOINED_MAX
            seeds = _by_seed(record, measure, [name for name, _ in kept]) if is_joined else {}
            lines = [[line.get(at) for at in range(len(kept))] for line in seeds.values()]
            table = Table(
                ("condition", "mean", "95% interval", "standard deviation", "seeds"),
                [(name, each.mean, span(each.low, each.high), each.sd, each.count) for name, each in kept],
            )
            joined = "A thin line is a seed, from condition to condition. " if is_joined else ""
            reading = f"{joined}Blue is the mean over the seeds with its 95% interval."
            bars = [Row(name, each.mean, each.low, each.high) for name, each in kept]
            found.append(chart_of(rows(bars, measure, measure, reading, has_zero=False, seeds=lines), table))
    return found


def _by_seed(record: ExperimentRecord, measure: str, names: Sequence[str]) -> dict[int, dict[int, float]]:
    """Return `{seed: {place of the condition: value}}`."""
    found: dict[int, dict[int, float]] = {}
    for place, name in enumerate(names):
        for cell in record.cells:
            if cell.condition == name:
                value = record.values.get((name, cell.seed), {}).get(measure)
                if value is not None:
                    found.setdefault(cell.seed, {})[place] = value
    return found


class _Levels(NamedTuple):
    """The shown levels of a factor, or ranges of them, with the measure there; and the number of those not shown."""

    kept: list[tuple[str, Interval]]
    left_out: int


def effect_charts(record: ExperimentRecord) -> list[Chart]:
    """Return the main effects of each factor on each measure; none for a design without factors."""
    factors = list(dict.fromkeys(name for each in record.plan.experiment.conditions for name in each.factors))
    found = []
    for measure in list(record.plan.experiment.measures)[:MEASURES_MAX] if factors else ():
        seeds = _complete_seeds(record, measure)
        if seeds:
            effects = {name: _levels(record, name, measure, seeds) for name in factors}
            found.append(_effects(record, measure, effects, seeds))
    return found


def effects_left_out(record: ExperimentRecord) -> list[str]:
    """Return the measures whose main effects are not drawn, because no seed has a value in all conditions."""
    if not record.values or not any(each.factors for each in record.plan.experiment.conditions):
        return []
    return [each for each in record.plan.experiment.measures if not _complete_seeds(record, each)]


def _complete_seeds(record: ExperimentRecord, measure: str) -> set[int]:
    """Return the seeds with a value in all conditions: other seeds would compare levels over different seeds."""
    counts = Counter(seed for (_, seed), found in record.values.items() if measure in found)
    return {seed for seed, conditions in counts.items() if conditions == len(record.plan.experiment.conditions)}


def _levels(record: ExperimentRecord, factor: str, measure: str, seeds: Collection[int]) -> _Levels:
    """Return the levels of a factor: each with the mean over the conditions that have it, and its interval.

    Of many numbers, ranges of about equal sizes are taken.
    """
    experiment = record.plan.experiment
    alone = conditions_for(factor, experiment.design.kind, experiment.conditions)
    given: dict[str, Any] = {each.name: each.factors[factor] for each in alone if factor in each.factors}
    by_level: dict[str, list[str]] = {}
    for name, level in given.items():
        by_level.setdefault(as_text(level), []).append(name)
    if all(isinstance(level, int | float) and not isinstance(level, bool) for level in given.values()):
        names = sorted(given, key=lambda name: given[name])
        if len(by_level) <= LEVELS_MAX:
            by_level = {text: by_level[text] for text in sorted(by_level, key=float)}
        else:
            parts = [list(part) for part in np.array_split(np.array(names, dtype=object), LEVELS_MAX)]
            by_level = {f"{short(given[part[0]])} to {short(given[part[-1]])}": part for part in parts}
    kept = [
        (text, described([_mean(record, members, seed, measure) for seed in sorted(seeds)]))
        for text, members in list(by_level.items())[:TEXTS_MAX]
    ]
    return _Levels(kept, len(by_level) - len(kept))


def _mean(record: ExperimentRecord, conditions: Sequence[str], seed: int, measure: str) -> float:
    return sum(record.values[name, seed][measure] for name in conditions) / len(conditions)


def _effects(record: ExperimentRecord, measure: str, effects: Mapping[str, _Levels], seeds: Collection[int]) -> Chart:
    levels = [(factor, *level) for factor, each in effects.items() for level in each.kept]
    bars = [Row(f"{factor}: {name}", each.mean, each.low, each.high) for factor, name, each in levels]
    of = len({cell.seed for cell in record.cells})
    only = (
        f" Only the {len(seeds):,} of {of:,} seeds with a result in every condition count: with others, levels would "
        "mix unequal conditions."
    )
    cut_off = "".join(
        f" Of {factor} the first {len(each.kept)} levels are shown, and {each.left_out:,} more are not: "
        "results.csv has all."
        for factor, each in effects.items()
        if each.left_out
    )
    reading = (
        f"The mean of {measure} at each level, over the conditions that have it, with its 95% interval over the "
        f"seeds.{only if len(seeds) < of else ''}{cut_off}"
    )
    cells = [(factor, name, each.mean, span(each.low, each.high)) for factor, name, each in levels]
    table = Table(("factor", "level", f"mean of {measure}", "95% interval"), cells)
    return chart_of(rows(bars, measure, f"Main effects on {measure}", reading, has_zero=False), table)


SEEDS_AND_BANDS = "A thin line is a seed, a thick one the median; bands hold nine of ten seeds."


def _bands_table(place: str, bands: Mapping[str, Band]) -> Table:
    """Return about eight places of each band."""
    cells = [
        (name, int(band.x[at]), *(float(each[at]) for each in (band.low, band.middle, band.high)))
        for name, band in bands.items()
        for at in sorted({round(at) for at in np.linspace(0, len(band.x) - 1, 8)})
    ]
    return Table(("condition", place, "low (5%)", "median", "high (95%)"), cells)


def size_chart(courses: OverTime) -> Chart | None:
    """Return the distributions of cascade sizes as bands, one for each condition; None without cascades."""
    if not courses.sizes:
        return None
    shares = np.concatenate(
        [100.0 * each[each > 0] for band in courses.sizes.values() for each in (band.middle, band.each.ravel())]
    )
    floor = float(shares.min()) if len(shares) else 1.0
    percent = {
        name: band._replace(**{part: 100.0 * getattr(band, part) for part in ("low", "middle", "high", "each")})
        for name, band in courses.sizes.items()
    }
    # On a logarithmic axis a line ends where it is 0, and a band goes down to the lowest share that is drawn.
    seen = {
        name: Course(
            band.x,
            np.where(band.middle > 0, band.middle, np.nan),
            np.clip(band.low, floor, 100.0),
            np.where(band.high > 0, np.clip(band.high, floor, 100.0), np.nan),
            np.where(band.each > 0, band.each, np.nan),
        )
        for name, band in percent.items()
    }
    reading = f"{SEEDS_AND_BANDS} A thick line ends where half of the seeds have no cascade as large."
    axes: dict[str, Any] = {
        "x": "posts in a cascade, with the original",
        "y": "% of cascades that have at least so many",
    }
    drawn = curves(seen, "Sizes of cascades", reading, log="xy", **axes)
    return chart_of(drawn, _bands_table("posts or more", percent))


def course_charts(courses: OverTime) -> list[Chart]:
    """Return the chosen columns over the rounds, as a band for each condition."""
    charts = []
    for column, bands in courses.over_time.items():
        lines = {name: Course(band.x, band.middle, band.low, band.high, band.each) for name, band in bands.items()}
        marks = [
            (float(number - 1), color_of(place))
            for place, name in enumerate(bands)
            for number in courses.interventions.get(name, ())
        ]
        name = named(column, courses.columns)
        reading = f"{SEEDS_AND_BANDS}{' Dotted lines: interventions.' if marks else ''}"
        title = f"{name.name[:1].upper()}{name.name[1:]} by round"
        drawn = over_time({str(name): Panel(lines)}, title, reading, x="round", marks=marks, legend=True)
        charts.append(chart_of(drawn, _bands_table("round", bands)))
    return charts


# What a measure depends on

SLOPE, FIRST, TOTAL, MU, MU_STAR, SIGMA = "slope", "first_order", "total", "mu", "mu_star", "sigma"
DRAWN = {
    SLOPE: "standard deviations of the measure for one of the factor",
    FIRST: "share of the variance",
    TOTAL: "share of the variance",
    MU_STAR: "mean size of an elementary effect",
}
"""`{kind of effect: its unit}` of those that are drawn; the others stand in the table."""
NAMES = {
    SLOPE: "slope",
    FIRST: "first-order index",
    TOTAL: "total index",
    MU: "mean effect (mu)",
    MU_STAR: "mean size (mu*)",
    SIGMA: "spread (sigma)",
}
READINGS = {
    SLOPE: "The slope of the measure on each factor, standardised, with its 95% interval (linear regression).",
    TOTAL: (
        "The share of the variance between points that each factor explains alone (open) and with all its "
        "interactions (filled), with 95% intervals (Sobol 2001)."
    ),
    MU_STAR: (
        "The mean size of what a step of each factor does, with its 95% interval (Morris 1991, Campolongo et al. "
        "2007). The spread in the table tells whether it depends on the other factors."
    ),
}


def sensitivity_charts(effects: Sequence[Effect]) -> list[Chart]:
    """Return for each measure the indices of its factors, the largest first; none for designs of levels."""
    measures = list(dict.fromkeys(each.measure for each in effects if each.kind in DRAWN))
    return [_indices(name, [each for each in effects if each.measure == name]) for name in measures[:MEASURES_MAX]]


def _indices(measure: str, effects: Sequence[Effect]) -> Chart:
    kinds = {each.kind for each in effects}
    leading = TOTAL if TOTAL in kinds else MU_STAR if MU_STAR in kinds else SLOPE
    size = {each.factor: abs(each.value) for each in effects if each.kind == leading}
    order = sorted(size, key=lambda factor: -size[factor])
    bars = [
        Row(
            factor if kind == leading else f"{factor}, alone",
            each.value,
            each.low,
            each.high,
            BLUE if kind == leading else ORANGE,
            kind == leading,
        )
        for factor in order
        for kind in (leading, FIRST)
        for each in effects
        if (each.factor, each.kind) == (factor, kind)
    ]
    table = Table(
        ("factor", "", "value", "95% interval"),
        [
            (each.factor, NAMES.get(each.kind, each.kind), each.value, span(each.low, each.high))
            for factor in order
            for each in effects
            if each.factor == factor
        ],
    )
    return chart_of(rows(bars, DRAWN[leading], f"What {measure} depends on", READINGS[leading]), table)

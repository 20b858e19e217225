"""Charts of an experiment: comparisons, means, main effects, sizes of cascades and courses over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actors.pages.card import Chart, Table, chart_of
from actors.pages.words import MINUS, span
from actors.plots.lines import Course, Panel, curves, over_time
from actors.plots.rows import Row, rows
from actors.plots.theme import color_of
from actors.studies.experiments.record import Band, ExperimentRecord, OverTime
from prism.answers import named
from prism.experiment.design import conditions_for
from prism.experiment.effects import Effect
from prism.experiment.hypothesis_tests import Comparison, Interval, described
from prism.palette import BLUE, GREY, ORANGE
from prism.quoting import as_text

LINES_MAX = 4
"""The most conditions whose lines are drawn in one picture."""
JOINED_MAX = 8
"""The most conditions whose pairs are joined by lines."""
MEASURES_MAX = 6
"""The most measures that have pictures of their own."""


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


def p_words(p: float) -> str:
    """Return a p value: three digits, or that it is below 0.001."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def forest(named: Sequence[Named], exploratory: Sequence[str]) -> list[Chart]:
    """Return a forest plot for each measure, with its comparisons in its unit; the table has their effect sizes."""
    by_measure: dict[str, list[Named]] = {}
    for pair in named:
        by_measure.setdefault(pair[1].hypothesis.measure, []).append(pair)
    return [_forest(measure, pairs, exploratory) for measure, pairs in by_measure.items()]


def _forest(measure: str, named: Sequence[Named], exploratory: Sequence[str]) -> Chart:
    bars, cells = [], []
    for name, each in named:
        found, said = each.difference, each.hypothesis
        color, is_planned = BLUE if each.supported else GREY, said.with_test not in exploratory
        words = f"{name} {f' {MINUS} '.join(said.contrast)}"
        bars.append(Row(words, found.mean, found.low, found.high, color, is_planned))
        effect = (each.effect, each.effect_value, span(each.effect_low, each.effect_high))
        tested = ("not tested" if each.untested else p_words(each.p), p_words(each.p_holm), each.among)
        told = (name, str(said), found.mean, span(found.low, found.high))
        cells.append((*told, *effect, *tested, found.count, each.zeros))
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
            seeds = dict.fromkeys(cell.seed for cell in record.cells) if is_joined else ()
            lines = [[record.values.get((name, seed), {}).get(measure) for name, _ in kept] for seed in seeds]
            table = Table(
                ("condition", "mean", "95% interval", "standard deviation", "seeds"),
                [(name, each.mean, span(each.low, each.high), each.sd, each.count) for name, each in kept],
            )
            joined = "A thin line is a seed, from condition to condition. " if is_joined else ""
            reading = f"{joined}Blue is the mean over the seeds with its 95% interval."
            bars = [Row(name, each.mean, each.low, each.high) for name, each in kept]
            found.append(chart_of(rows(bars, measure, measure, reading, has_zero=False, seeds=lines), table))
    return found


def effect_charts(record: ExperimentRecord) -> list[Chart]:
    """Return the main effects of each factor on each measure; none for a design without factors.

    An effect is the mean at each level, over the conditions that have it, with its interval over the seeds that have a
    value in all conditions: others would compare levels over different seeds.
    """
    experiment, found = record.plan.experiment, list[Chart]()
    factors = list(dict.fromkeys(name for each in experiment.conditions for name in each.factors))
    for measure in list(experiment.measures)[:MEASURES_MAX] if factors else ():
        counts = Counter(seed for (_, seed), values in record.values.items() if measure in values)
        seeds = sorted(seed for seed, conditions in counts.items() if conditions == len(experiment.conditions))
        if not seeds:
            continue
        levels = list[tuple[str, str, Interval]]()
        for factor in factors:
            alone = conditions_for(factor, experiment.design.kind, experiment.conditions)
            given: dict[str, Any] = {each.name: each.factors[factor] for each in alone if factor in each.factors}
            by_level: dict[str, list[str]] = {}
            numbers = all(isinstance(each, int | float) for each in given.values())
            for name in sorted(given, key=given.__getitem__) if numbers else given:
                by_level.setdefault(as_text(given[name]), []).append(name)
            for text, names in by_level.items():
                values = [sum(record.values[name, seed][measure] for name in names) / len(names) for seed in seeds]
                levels.append((factor, text, described(values)))
        of = len({cell.seed for cell in record.cells})
        only = (
            f" Only the {len(seeds):,} of {of:,} seeds with a result in every condition count: with others, levels "
            "would mix unequal conditions."
        )
        reading = (
            f"The mean of {measure} at each level, over the conditions that have it, with its 95% interval over the "
            f"seeds.{only if len(seeds) < of else ''}"
        )
        bars = [Row(f"{factor}: {name}", each.mean, each.low, each.high) for factor, name, each in levels]
        cells = [(factor, name, each.mean, span(each.low, each.high)) for factor, name, each in levels]
        drawn = rows(bars, measure, f"Main effects on {measure}", reading, has_zero=False)
        found.append(chart_of(drawn, Table(("factor", "level", f"mean of {measure}", "95% interval"), cells)))
    return found


SEEDS_AND_BANDS = "A thin line is a seed, a thick one the median; bands hold nine of ten seeds."


def _bands_table(place: str, bands: Mapping[str, Band], scale: float = 1.0) -> Table:
    """Return about eight places of each band."""
    cells = [
        (name, int(band.x[at]), *(scale * float(each[at]) for each in (band.low, band.middle, band.high)))
        for name, band in bands.items()
        for at in sorted({round(at) for at in np.linspace(0, len(band.x) - 1, 8)})
    ]
    return Table(("condition", place, "low (5%)", "median", "high (95%)"), cells)


def size_chart(courses: OverTime) -> Chart | None:
    """Return the distributions of cascade sizes as bands, one for each condition; None without cascades."""
    if not courses.sizes:
        return None
    floor = min(float(band.each[band.each > 0].min(initial=1.0)) for band in courses.sizes.values())
    seen = {}
    for name, band in courses.sizes.items():
        # On a logarithmic axis a line ends where it is 0, and a band goes down to the lowest share that is drawn.
        low = np.where((band.low == 0) & (band.high > 0), floor, band.low)
        parts = (np.where(part > 0, 100.0 * part, np.nan) for part in (band.middle, low, band.high, band.each))
        seen[name] = Course(band.x, *parts)
    reading = f"{SEEDS_AND_BANDS} A thick line ends where half of the seeds have no cascade as large."
    x, y = "posts in a cascade, with the original", "% of cascades that have at least so many"
    drawn = curves(seen, "Sizes of cascades", reading, log="xy", x=x, y=y)
    return chart_of(drawn, _bands_table("posts or more", courses.sizes, 100.0))


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

INDICES: Mapping[str, tuple[str, str]] = {
    "total": (
        "share of the variance",
        "The share of the variance that each factor explains alone (open) and with all its interactions (Sobol 2001).",
    ),
    "mu_star": (
        "mean size of an elementary effect",
        "The mean size of what a step of each factor does (Morris 1991). A large spread: it depends on other factors.",
    ),
    "slope": (
        "standard deviations of the measure for one of the factor",
        "The slope of the measure on each factor, standardised (linear regression).",
    ),
}
"""`{kind of effect: its unit, and what its chart shows}` of those that are drawn; the others stand in the table."""
NAMES = {
    "slope": "slope",
    "first_order": "first-order index",
    "total": "total index",
    "mu": "mean effect (mu)",
    "mu_star": "mean size (mu*)",
    "sigma": "spread (sigma)",
}


def sensitivity_charts(effects: Sequence[Effect]) -> list[Chart]:
    """Return for each measure the indices of its factors, the largest first; none for designs of levels."""
    measures = list(dict.fromkeys(each.measure for each in effects if each.kind in INDICES))
    return [_indices(name, [each for each in effects if each.measure == name]) for name in measures[:MEASURES_MAX]]


def _indices(measure: str, effects: Sequence[Effect]) -> Chart:
    leading = next(kind for kind in INDICES if any(each.kind == kind for each in effects))
    size = {each.factor: abs(each.value) for each in effects if each.kind == leading}
    ordered = sorted((each for each in effects if each.factor in size), key=lambda each: -size[each.factor])
    bars = [
        Row(each.factor, each.value, each.low, each.high, BLUE)
        if each.kind == leading
        else Row(f"{each.factor}, alone", each.value, each.low, each.high, ORANGE, is_filled=False)
        for each in ordered
        if each.kind in (leading, "first_order")
    ]
    cells = [(each.factor, NAMES.get(each.kind, each.kind), each.value, span(each.low, each.high)) for each in ordered]
    unit, reading = INDICES[leading]
    table = Table(("factor", "", "value", "95% interval"), cells)
    return chart_of(rows(bars, unit, f"What {measure} depends on", f"{reading} Lines are 95% intervals."), table)

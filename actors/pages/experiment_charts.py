"""Charts of an experiment: comparisons, means, main effects, sizes of cascades and courses over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from actors.pages.card import Chart, Table
from actors.pages.picture import (
    LINE,
    WIDTH,
    WORDS,
    figure,
    label,
    log_numbers,
    number,
    plain_numbers,
    words_at,
    wrapped,
)
from actors.pages.series import GROUP_DASHES, color_of, dashes_note, draw_seeds, mark_places
from actors.pages.words import NO_VALUE, count, plural
from actors.pages.words import figure as digits
from actors.studies.experiments.over_time import Band, OverTime
from actors.studies.experiments.record import ExperimentRecord
from prism.answers import NumberName, named
from prism.experiment import P_WORDS, Comparison, Interval, conditions_for, described
from prism.palette import BLUE, GREY, ORANGE
from prism.quoting import as_text

MINUS = "\N{MINUS SIGN}"
ROWS_MAX = 24
"""The most rows of a picture; of more, the first ones are drawn and the table has the others."""
ROW, EDGE = 36, 46
"""The height of a row, with its words above it, and of all that is around the rows, in pixels."""
WORDS_LINE = 12
"""The height of each further line of words."""
ABOVE, BELOW = 9, 12
"""The room between a row's mark and its words, and between the mark and the next row."""
BAR = 11
"""The height of a bar."""
LINES_MAX = 4
"""The most conditions whose lines are drawn in one picture."""
JOINED_MAX = 8
"""The most conditions whose pairs are joined by lines."""
LEVEL_LETTERS = 14
"""The letters in which a level's name is written, on several lines if it is longer."""
LEVELS_MAX = 9
"""The most levels of a factor that are drawn one by one; more are taken together in as many ranges."""
TEXTS_MAX = 4 * LEVELS_MAX
"""The most levels of a factor that are texts, which cannot be taken together."""
LEVELS_PAD = 7
"""The room between an axis and the names of levels, in points: the first name may reach below the lowest number."""
FACTORS_MAX = 6
MEASURES_MAX = 6
"""The most measures that have pictures of their own."""


class Row(NamedTuple):
    """A row of a picture of intervals."""

    words: str  # the text above the row
    mean: float | None  # the number that is drawn as a dot; None if there is no dot
    low: float | None  # low, high: the ends of its interval; None if it has no interval
    high: float | None
    color: str
    is_filled: bool = True  # whether the dot is filled; an open one stands out from the others
    bar: float | None = None  # another number, drawn as a bar from 0; None if there is no bar


def contrast_words(first: str, second: str) -> str:
    """Return two conditions as a difference; if their names are made of levels, shared levels come last."""
    ours, theirs = first.split(), second.split()
    shared = [level for level in ours if level in theirs and "=" in level]
    if not shared:
        return f"{first} {MINUS} {second}"
    own, other = (" ".join(level for level in each if level not in shared) for each in (ours, theirs))
    return f"{own} {MINUS} {other}, {' '.join(shared)}"


def pages_number(value: float | None) -> str:
    """Return a measured number with three significant digits and a proper minus; a dash if there is none."""
    if value is None or not math.isfinite(value):
        return NO_VALUE
    sign = MINUS if value < 0 else ""
    return f"{sign}{digits(abs(value))}"


def span(low: float | None, high: float | None) -> str:
    """Return an interval; a dash if there is none."""
    return NO_VALUE if low is None or high is None else f"{pages_number(low)} to {pages_number(high)}"


Named = tuple[str, Comparison]
"""A comparison with its number in the plan, such as H2."""


class _Scale(NamedTuple):
    """An effect size: its name below its axis and in a sentence."""

    axis: str
    meaning: str


SCALES: Mapping[str, _Scale] = {
    "d_z": _Scale(
        "d_z: mean difference over the standard deviation of the differences",
        "the mean difference, the first condition minus the second, over the standard deviation of the differences",
    ),
    "rank-biserial": _Scale(
        "rank-biserial correlation",
        f"the ranks of the pairs in which the first condition is above minus those in which it is below, from {MINUS}1 "
        "to 1; pairs without a difference have no rank, so few others can make it large",
    ),
    "Cliff's delta": _Scale(
        "Cliff's delta",
        f"how much more often a seed of the first condition is above one of the second than below it, from {MINUS}1 "
        "to 1",
    ),
}


def forest(named: Sequence[Named], exploratory: Sequence[str]) -> list[Chart]:
    """Return the comparisons as forest plots: those of each measure in its unit, then those of each effect size."""
    effects = list(dict.fromkeys(each.effect for _, each in named))
    measures = list(dict.fromkeys(each.hypothesis.measure for _, each in named))
    raw = [
        _raw_forest(measure, [pair for pair in named if pair[1].hypothesis.measure == measure], exploratory)
        for measure in measures[:MEASURES_MAX]
    ]
    sizes = [_sizes(effect, [pair for pair in named if pair[1].effect == effect], exploratory) for effect in effects]
    return [*raw, *sizes]


def _sizes(effect: str, named: Sequence[Named], exploratory: Sequence[str]) -> Chart:
    """Return the comparisons whose tests have the same effect size."""
    rows = []
    for name, each in named:
        if each.effect_value is not None:
            named_with = f"{name}  {each.hypothesis.measure}:"
            rows.append(_row(named_with, each, (each.effect_value, each.effect_low, each.effect_high), exploratory))
    scale = SCALES.get(effect, _Scale(effect, effect))
    left = len(named) - len(rows)
    equal = f" {plural(left, 'comparison')} without any spread cannot stand here." if left else ""
    reading = f"The effect size of these tests is {scale.meaning}. {INTERVALS_ALONE}{equal}{_more(rows)}"
    columns = (
        "",
        "comparison",
        effect,
        "95% interval",
        "p",
        "p is",
        "p (Holm)",
        "among",
        "seeds",
        "no difference",
        "tied",
    )
    table = Table(columns, [_size_row(name, each) for name, each in named], frozenset({0, 1, 5}))
    drawn = rows_picture(rows, scale.axis)
    return Chart(f"Effect sizes: {effect}", drawn, reading, table, key=_forest_key(named, exploratory))


INTERVALS_ALONE = (
    "A line is a 95% interval for this comparison alone, without correction for the others. One that leaves out 0 does "
    "not make a hypothesis supported: the corrected p value of its test does, which the colour tells."
)


def _size_row(name: str, each: Comparison) -> tuple[str, ...]:
    basis = each.basis
    return (
        name,
        str(each.hypothesis),
        pages_number(each.effect_value),
        span(each.effect_low, each.effect_high),
        p_words(each.p),
        "not tested" if basis.untested else P_WORDS[basis.p_from],
        p_words(each.p_holm),
        count(each.among),
        count(each.difference.count),
        count(basis.zeros),
        count(basis.ties),
    )


def p_words(p: float) -> str:
    """Return a p value: three digits, or that it is below 0.001."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _raw_forest(measure: str, named: Sequence[Named], exploratory: Sequence[str]) -> Chart:
    rows = [
        _row(name, each, (each.difference.mean, each.difference.low, each.difference.high), exploratory)
        for name, each in named
    ]
    margins = {each.hypothesis.margin for _, each in named if each.hypothesis.margin is not None}
    shared = next(iter(margins)) if len(margins) == 1 else None
    drawn = rows_picture(rows, f"difference in {measure}", margin=shared)
    within = "" if shared is None else " The shaded range is the margin within which conditions count as equal."
    table = Table(
        ("", "comparison", "difference", "95% interval", "pairs"),
        [
            (
                name,
                str(each.hypothesis),
                pages_number(each.difference.mean),
                span(each.difference.low, each.difference.high),
                count(each.difference.count),
            )
            for name, each in named
        ],
        frozenset({0, 1}),
    )
    reading = (
        f"The differences in the unit of {measure}, the first condition minus the second, each with its own 95% "
        f"interval.{within}{_more(rows)}"
    )
    return Chart(f"Differences in {measure}", drawn, reading, table, key=_forest_key(named, exploratory))


def _row(
    name: str, each: Comparison, ends: tuple[float, float | None, float | None], exploratory: Sequence[str]
) -> Row:
    words = f"{name} {contrast_words(*each.hypothesis.names)}"
    is_planned = each.hypothesis.with_test not in exploratory
    return Row(words, *ends, BLUE if each.supported else GREY, is_planned)


def _forest_key(named: Sequence[Named], exploratory: Sequence[str]) -> tuple[tuple[str, str, str], ...]:
    key = []
    if any(each.supported for _, each in named):
        key.append(("", BLUE, "supported"))
    if not all(each.supported for _, each in named):
        key.append(("", GREY, "not supported"))
    if any(each.hypothesis.with_test in exploratory for _, each in named):
        key.append(("○", "transparent", "exploratory: not planned before the results"))
    return tuple(key)


def _more(rows: Sequence[object]) -> str:
    return f" The first {ROWS_MAX} of {len(rows):,} are drawn." if len(rows) > ROWS_MAX else ""


def rows_picture(rows: Sequence[Row], unit: str, *, margin: float | None = None) -> Figure:
    """Return a figure with an interval in each row, below its words."""
    kept = rows[:ROWS_MAX]
    drawn, axes, ys = _rows_axes([row.words for row in kept], wrapped(unit))
    if margin is not None:
        axes.axvspan(-margin, margin, color=ORANGE, alpha=0.18, linewidth=0)
    axes.axvline(0.0, color=LINE, linewidth=1.0)
    for y, row in zip(ys, kept, strict=True):
        if row.bar is not None:
            axes.plot([0.0, row.bar], [y, y], color=BLUE, linewidth=BAR, solid_capstyle="butt")
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [y, y], color=row.color, linewidth=2.2, solid_capstyle="butt")
        face = row.color if row.is_filled else "none"
        if row.mean is not None:
            axes.plot([row.mean], [y], "o", color=row.color, markerfacecolor=face, markersize=6, zorder=3)
    return drawn


def _rows_axes(words: Sequence[str], unit: str) -> tuple[Figure, Axes, list[int]]:
    """Return a figure with words above each of its rows, and the place of each row, in pixels from the top."""
    texts = [wrapped(each) for each in words]
    heights = [ROW + WORDS_LINE * text.count("\n") for text in texts] or [ROW]
    ys = [sum(heights[: place + 1]) - BELOW for place in range(len(texts))]
    drawn = figure(WIDTH, EDGE + WORDS_LINE * unit.count("\n") + sum(heights))
    axes = drawn.subplots()
    axes.set_ylim(sum(heights), 0)
    for y, text in zip(ys, texts, strict=True):
        words_at(axes, y - ABOVE, text)
    axes.yaxis.set_major_locator(NullLocator())
    axes.spines["left"].set_visible(False)
    axes.margins(x=0.06)
    plain_numbers(axes.xaxis, ticks=5)
    label(axes, unit, grid="x")
    return drawn, axes, ys


def mean_charts(record: ExperimentRecord, conditions: Sequence[str]) -> list[Chart]:
    """Return for each measure its values in each condition, pairs joined, with means and their intervals."""
    found = []
    for measure in list(record.plan.experiment.measures)[:MEASURES_MAX]:
        rows = [
            (each.condition, each.over_seeds)
            for condition in conditions
            for each in record.outcome.conditions
            if (each.condition, each.measure) == (condition, measure)
        ]
        if rows:
            found.append(_means(record, measure, rows))
    return found


def _means(record: ExperimentRecord, measure: str, rows: Sequence[tuple[str, Interval]]) -> Chart:
    kept = rows[:ROWS_MAX]
    drawn, axes, ys = _rows_axes([name for name, _ in kept], wrapped(measure))
    by_seed = _by_seed(record, measure, [name for name, _ in kept])
    if len(kept) <= JOINED_MAX:
        for line in by_seed.values():
            axes.plot(
                list(line.values()), [ys[at] for at in line], color=LINE, linewidth=1.0, marker="o", markersize=3.0
            )
    for y, (_, each) in zip(ys, kept, strict=True):
        if each.low is not None and each.high is not None:
            axes.plot([each.low, each.high], [y, y], color=BLUE, linewidth=3.2, solid_capstyle="butt", zorder=3)
        axes.plot([each.mean], [y], "o", color=BLUE, markersize=6.5, zorder=4)
    joined = "A thin line is a seed, from condition to condition. " if len(kept) <= JOINED_MAX else ""
    table = Table(
        ("condition", "mean", "95% interval", "standard deviation", "seeds"),
        [
            (name, pages_number(each.mean), span(each.low, each.high), pages_number(each.sd), count(each.count))
            for name, each in rows
        ],
    )
    reading = f"{joined}Blue is the mean over the seeds with its 95% interval.{_more(rows)}"
    return Chart(measure, drawn, reading, table)


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


class _Level(NamedTuple):
    """A level of a factor, or a range of levels, with the measure there."""

    name: str
    place: float
    over_seeds: Interval


class _Levels(NamedTuple):
    """The levels of a factor that are shown, and the number of those that are not."""

    kept: list[_Level]
    left_out: int


def effect_charts(record: ExperimentRecord) -> list[Chart]:
    """Return the main effects of each factor on each measure; none for a design without factors."""
    factors = list(dict.fromkeys(name for each in record.plan.experiment.conditions for name in each.factors))
    found = []
    for measure in list(record.plan.experiment.measures)[:MEASURES_MAX] if factors else ():
        seeds = _complete_seeds(record, measure)
        if seeds:
            effects = {name: _levels(record, name, measure, seeds) for name in factors}
            found.append(_effects(measure, effects, _of_seeds(record, seeds)))
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


def _of_seeds(record: ExperimentRecord, seeds: set[int]) -> str:
    """Return a sentence on the seeds that count, if some do not count."""
    of = len({cell.seed for cell in record.cells})
    if len(seeds) == of:
        return ""
    few = f"{len(seeds):,} of {of:,} seeds"
    return f" Only the {few} with a result in every condition count: with others, levels would mix unequal conditions."


def _levels(record: ExperimentRecord, factor: str, measure: str, seeds: Collection[int]) -> _Levels:
    """Return the levels of a factor: each with the mean over the conditions that have it, and its interval."""
    experiment = record.plan.experiment
    kind = "" if experiment.design is None else experiment.design.kind
    alone = conditions_for(factor, kind, experiment.conditions)
    given = {each.name: each.factors[factor] for each in alone if factor in each.factors}
    groups = _grouped(given)
    kept = [
        _Level(name, place, described([_mean(record, members, seed, measure) for seed in sorted(seeds)]))
        for name, place, members in groups
    ]
    levels = len({as_text(level) for level in given.values()})
    return _Levels(kept, levels - TEXTS_MAX if len(groups) == TEXTS_MAX else 0)


def _mean(record: ExperimentRecord, conditions: Sequence[str], seed: int, measure: str) -> float:
    return sum(record.values[name, seed][measure] for name in conditions) / len(conditions)


def _grouped(given: Mapping[str, Any]) -> list[tuple[str, float, list[str]]]:
    """Return `(name, place, conditions)` of each level; many numbers are put into ranges of about equal sizes."""
    texts = {name: as_text(level) for name, level in given.items()}
    order = sorted(set(texts.values()), key=list(texts.values()).index)
    is_number = all(isinstance(level, int | float) and not isinstance(level, bool) for level in given.values())
    if len(order) <= LEVELS_MAX or not is_number:
        if is_number:
            order.sort(key=float)
        return [
            (text, float(text) if is_number else float(place), [name for name, own in texts.items() if own == text])
            for place, text in enumerate(order[:TEXTS_MAX])
        ]
    names = sorted(given, key=lambda name: given[name])
    parts = [list(part) for part in np.array_split(np.array(names, dtype=object), LEVELS_MAX)]
    return [
        (f"{number(given[part[0]])} to {number(given[part[-1]])}", float(np.mean([given[name] for name in part])), part)
        for part in parts
    ]


def _effects(measure: str, effects: Mapping[str, _Levels], of_seeds: str) -> Chart:
    kept = {name: levels.kept for name, levels in list(effects.items())[:FACTORS_MAX]}
    drawn = figure(WIDTH, 30 + 118 * len(kept))
    grid: Any = drawn.subplots(len(kept), 1, sharey=True, squeeze=False)
    for row, (factor, levels) in zip(grid, kept.items(), strict=True):
        axes = row[0]
        places = list(range(len(levels)))
        means = [each.over_seeds.mean for each in levels]
        for place, each in zip(places, levels, strict=True):
            if each.over_seeds.low is not None and each.over_seeds.high is not None:
                axes.plot([place, place], [each.over_seeds.low, each.over_seeds.high], color=BLUE, linewidth=2.2)
        axes.plot(places, means, color=BLUE, marker="o", markersize=5, linewidth=1.0)
        axes.set_xlim(-0.4, len(levels) - 0.6)
        _level_ticks(axes, levels)
        plain_numbers(axes.yaxis, ticks=4)
        label(axes, y=wrapped(factor))
    left = len(effects) - len(kept)
    more = f" The first {FACTORS_MAX} of {len(effects)} factors are drawn." if left > 0 else ""
    cut_off = "".join(
        f" Of {factor} the first {len(levels.kept)} levels are shown, and {levels.left_out:,} more are not: "
        "results.csv has all."
        for factor, levels in effects.items()
        if levels.left_out
    )
    reading = (
        f"The mean of {measure} at each level, over the conditions that have it, with its 95% interval over the "
        f"seeds.{of_seeds}{more}{cut_off}"
    )
    rows = [
        (factor, each.name, pages_number(each.over_seeds.mean), span(each.over_seeds.low, each.over_seeds.high))
        for factor, levels in effects.items()
        for each in levels.kept
    ]
    table = Table(("factor", "level", f"mean of {measure}", "95% interval"), rows, frozenset({0, 1}))
    return Chart(f"Main effects on {measure}", drawn, reading, table)


def _level_ticks(axes: Axes, levels: Sequence[_Level]) -> None:
    """Name the levels below the axis: every one, or every second or third where they would touch; long names wrap."""
    letters = min(max(len(each.name) for each in levels) + 2, LEVEL_LETTERS)
    step = max(1, math.ceil(len(levels) * letters / WORDS))
    room = WORDS // math.ceil(len(levels) / step) - 2
    names = [wrapped(each.name, max(1, room)) for each in levels]
    axes.xaxis.set_major_locator(FixedLocator(list(range(0, len(levels), step))))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: names[round(value)]))
    axes.tick_params(axis="x", pad=LEVELS_PAD)


SEEDS_AND_BANDS = "A thin line is a seed, a thick one the median; bands hold nine of ten seeds."


def size_chart(courses: OverTime) -> Chart | None:
    """Return the distributions of cascade sizes as bands, one for each condition; None without cascades."""
    if not courses.sizes:
        return None
    kept = dict(list(courses.sizes.items())[:LINES_MAX])
    drawn = figure(height=250)
    axes = drawn.subplots()
    curves = [each for band in kept.values() for each in (band.middle, band.each.ravel())]
    shares = np.concatenate([100.0 * each[each > 0] for each in curves])
    floor = float(shares.min()) if len(shares) else 1.0
    for place, band in enumerate(kept.values()):
        low, high = (np.clip(100.0 * each, floor, 100.0) for each in (band.low, band.high))
        middle = np.where(band.middle > 0, 100.0 * band.middle, np.nan)
        axes.fill_between(band.x, low, high, where=list(band.high > 0), color=color_of(place), alpha=0.12, lw=0)
        draw_seeds(axes, band.x, np.where(band.each > 0, 100.0 * band.each, np.nan), color_of(place))
        axes.plot(band.x, middle, color=color_of(place), linestyle=GROUP_DASHES[place])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(0.8 * floor, 125.0)
    log_numbers(axes.xaxis)
    log_numbers(axes.yaxis)
    label(axes, "posts in a cascade, with the original", "% of cascades that have at least so many", grid="both")
    reading = (
        f"{SEEDS_AND_BANDS}{_first_of(kept, courses.sizes)} "
        "A thick line ends where half of the seeds have no cascade as large."
    )
    table = Table(
        ("condition", "seeds", "at least", "low (5%)", "median", "high (95%)"),
        [
            (
                name,
                count(band.cells),
                count(band.x[at]),
                *(_share(each[at]) for each in (band.low, band.middle, band.high)),
            )
            for name, band in kept.items()
            for at in _marks(band)
        ],
    )
    return Chart("Sizes of cascades", drawn, reading, table, key=_lines_key(list(kept)))


def _share(part: float) -> str:
    return f"{100.0 * part:.2f}%"


def _marks(band: Band) -> list[int]:
    """Return the places of a band that its table has: about eight."""
    return sorted({round(at) for at in np.linspace(0, len(band.x) - 1, 8)})


def _first_of(kept: Mapping[str, object], found: Mapping[str, object]) -> str:
    return f" The first {len(kept)} of {len(found):,} conditions are drawn." if len(kept) < len(found) else ""


def _lines_key(names: Sequence[str]) -> tuple[tuple[str, str, str], ...]:
    return tuple(("", color_of(place), f"{name}{dashes_note(place)}") for place, name in enumerate(names))


def course_charts(courses: OverTime) -> list[Chart]:
    """Return the chosen columns over the rounds, as a band for each condition."""
    return [
        _course(named(column, courses.columns), bands, courses.interventions)
        for column, bands in courses.over_time.items()
    ]


def _course(column: NumberName, bands: Mapping[str, Band], interventions: Mapping[str, Sequence[int]]) -> Chart:
    kept = dict(list(bands.items())[:LINES_MAX])
    drawn = figure()
    axes = drawn.subplots()
    for place, band in enumerate(kept.values()):
        axes.fill_between(band.x, band.low, band.high, color=color_of(place), alpha=0.12, linewidth=0)
        draw_seeds(axes, band.x, band.each, color_of(place))
        axes.plot(band.x, band.middle, color=color_of(place), linestyle=GROUP_DASHES[place])
    axes.margins(x=0)
    marked = {name: [number - 1 for number in interventions.get(name, ())] for name in kept}
    for place, numbers in enumerate(marked.values()):
        mark_places(axes, numbers, color_of(place))
    plain_numbers(axes.xaxis, whole=True)
    plain_numbers(axes.yaxis)
    label(axes, "round", wrapped(str(column)))
    rows = [
        (name, count(band.x[at]), *(pages_number(float(each[at])) for each in (band.low, band.middle, band.high)))
        for name, band in kept.items()
        for at in _marks(band)
    ]
    table = Table(("condition", "round", "low (5%)", "median", "high (95%)"), rows)
    dotted = " Dotted lines: interventions." if any(marked.values()) else ""
    reading = f"{SEEDS_AND_BANDS}{dotted}{_first_of(kept, bands)}"
    name = column.name
    return Chart(f"{name[:1].upper()}{name[1:]} by round", drawn, reading, table, key=_lines_key(list(kept)))

"""The report of an experiment: its answer in words, the plan behind it, and charts of its conditions."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from actors.factory.shipped import replications
from actors.pages.counterfactuals import audit_section
from actors.pages.page import (
    SHOWN_MAX,
    Chart,
    Element,
    Node,
    Section,
    Table,
    document,
    figures,
    grid,
    lead_of,
    missing,
    noticed,
    table_of,
    tag,
)
from actors.pages.words import MINUS, count, listed, pages_number, place_of, span
from actors.plots.lines import Course, Panel, curves, over_time
from actors.plots.rows import Row, rows
from actors.plots.theme import color_of
from actors.studies.experiments.cells import CELLS
from actors.studies.experiments.record import Band, CellState, ExperimentRecord, OverTime, read_over_time
from actors.studies.replications import HERE_SAID, LINE, NONE, OUT, Line, cells_of, hits, read_line
from prism.answers import named
from prism.experiment.design import conditions_for
from prism.experiment.effects import Effect
from prism.experiment.hypothesis_tests import Comparison, Interval, described
from prism.palette import BLUE, GREY, ORANGE
from prism.quoting import as_text
from prism.wording import counted

SEEDS_SHOWN = 12
WORDS_MAX = 40
LINES_MAX = 4  # the most conditions whose lines are drawn in one picture
JOINED_MAX = 8  # the most conditions whose pairs are joined by lines
MEASURES_MAX = 6
Named = tuple[str, Comparison]  # a comparison with its number in the plan, such as H2


def experiment_report(record: ExperimentRecord, on_step: Callable[[str], None] = lambda _: None) -> str:
    """Return the report of an experiment as an HTML document. The same files give the same bytes."""
    title = "Report of an experiment"
    return document(title, header(record, title), experiment_sections(record), on_step)


def header(record: ExperimentRecord, title: str) -> Element:
    experiment = record.plan.experiment
    states = Counter(cell.state for cell in record.cells)
    planned = (
        "before any result" if not record.plan.cells_done else f"after {counted(record.plan.cells_done, 'result')}"
    )
    told = [
        ("conditions", count(len(experiment.conditions))),
        ("seeds", count(len({cell.seed for cell in record.cells}))),
        ("cells done", f"{states[CellState.DONE]:,} of {len(record.cells):,}"),
        ("hypotheses", count(len(experiment.hypotheses))),
        ("false alarms accepted", f"{experiment.alpha:g}"),
        ("planned", planned),
        ("plan", record.plan.hash[:16]),
    ]
    answers, *remarks = lead(record)
    warned = [*noticed(_notices(record, states)), *remarks]
    return tag("header", missing(title), tag("h1", experiment.question), answers, *warned, figures(told))


def lead(record: ExperimentRecord) -> list[Node]:
    """Return the answers in sentences, as the terminal prints them, and what was not as configured or had no effect."""
    outcome = record.outcome
    return [lead_of(outcome.answers, " ".join([*outcome.caveats, str(outcome.made_of)])), *noticed(outcome.remarks)]


def _notices(record: ExperimentRecord, states: Counter[CellState]) -> Iterator[str]:
    left = len(record.cells) - states[CellState.DONE]
    if left and not record.is_final:
        going = f", {counted(states[CellState.RUNNING], 'cell')} under way" if states[CellState.RUNNING] else ""
        yield (
            f"The experiment has not ended: {left:,} of its {counted(len(record.cells), 'cell')} are missing{going}. "
            "What is below was worked out of the others, and will change. Measures of your own and thresholds "
            "are only known at the end."
        )
    elif not record.is_final:
        yield "All cells are done, but the outcome is not written yet: run the experiment again to have it."
    if record.is_final and record.outcome.missing:
        lost = sum(map(len, record.outcome.missing.values()))
        yield f"{counted(lost, 'cell')} of {len(record.cells):,} {'has' if lost == 1 else 'have'} no result."
    if record.plan.cells_done:
        yield (
            f"This plan was made when {counted(record.plan.cells_done, 'cell')} had a result already. Hypotheses that "
            "no plan before the first result had, or that meant something else then, are exploratory."
        )


def experiment_sections(record: ExperimentRecord) -> Iterator[Section | None]:
    outcome, line = record.outcome, read_line(record.path / LINE)
    if line is not None:
        yield _published(line)
    yield audit_section(record.path)
    notes = (missing(f"{note[:1].upper()}{note[1:]}.") for note in outcome.notes)
    yield Section("statistics", "Statistics", [*_statistics(record), *notes])
    by_measure: dict[str, list[Named]] = {}
    for pair in _named(record):
        by_measure.setdefault(pair[1].hypothesis.measure, []).append(pair)
    if charts := [_forest(measure, pairs, outcome.exploratory) for measure, pairs in by_measure.items()]:
        yield Section("comparisons", "Comparisons", [grid(charts, "comparisons")])
    # Means: first those of the conditions that are compared.
    compared = [name for each in record.plan.experiment.hypotheses for name in each.contrast]
    chosen = list(dict.fromkeys([*compared, *record.conditions]))
    charts = _mean_charts(record, chosen)
    yield Section(
        "means", "Means over the seeds", [grid(charts, "means") if charts else missing("No cell has a value yet.")]
    )
    # Main effects, and the indices of a sampled design.
    parts: list[Node] = [grid(charts, "effects")] if (charts := effect_charts(record)) else []
    sampled = list(dict.fromkeys(each.measure for each in outcome.effects if each.kind in INDICES))[:MEASURES_MAX]
    if sampled:  # a design of levels has no indices
        indices = [_indices(name, [each for each in outcome.effects if each.measure == name]) for name in sampled]
        parts.append(grid(indices, "indices"))
    yield Section("effects", "What the measures depend on", parts) if parts else None
    # The cells over time.
    courses = read_over_time(record, chosen[:LINES_MAX])
    sizes = _size_chart(courses)
    if charts := [*([sizes] if sizes else []), *_course_charts(courses)]:
        parts = [grid(charts, "courses")]
        if courses.left_out:
            why = "two hundred of a condition are enough for a median and a band."
            left = counted(courses.left_out, "cell")
            parts.append(missing(f"{left} more are left out of these pictures: {why}"))
        yield Section("courses", "Inside the runs", parts)
    if record.plan.experiment.thresholds:
        limits = [
            (str(each.threshold), each.mean, each.condition, "met" if each.is_met else "missed")
            for each in outcome.thresholds
        ]
        table = Table(("threshold", "mean", "of the condition", ""), limits)
        shown = table_of(table, "The mean that is nearest to the limit")
        judged = shown if record.is_final else missing("Thresholds are judged at the end.")
        yield Section("thresholds", "Thresholds", [judged])
    if outcome.missing:
        lost = [(name, len(seeds), listed([*map(str, seeds)], SEEDS_SHOWN)) for name, seeds in outcome.missing.items()]
        shown = table_of(Table(("condition", "cells", "seeds"), lost), "Cells without a result")
        yield Section("missing", "What is missing", [shown])
    yield _design(record)
    yield _again(record, line)


def _statistics(record: ExperimentRecord) -> Iterator[Node]:
    outcome, experiment = record.outcome, record.plan.experiment
    if more := outcome.answers[SHOWN_MAX:]:
        yield tag("h3", "Further answers")
        yield tag("ul", *(tag("li", f"{each.hypothesis}: {each.text}") for each in more[:WORDS_MAX]))
    pairs = _named(record)
    if not experiment.hypotheses:
        yield missing("No hypothesis was planned, so nothing is supported or not: what follows is a description.")
        return
    if not pairs:
        yield missing("No two cells of a pair are done yet, so nothing can be compared.")
        return
    kept: dict[str, list[Node]] = {"Supported": [], "Not supported": [], "Exploratory": []}
    among = dict[bool, int]()
    for name, each in pairs:
        is_late, difference = each.hypothesis.with_test in outcome.exploratory, each.difference
        among[is_late] = each.among
        interval = "" if difference.low is None else f" (95% interval {span(difference.low, difference.high)})"
        p = _p_words(each.p_holm) if each.p_holm < 0.001 else f"= {_p_words(each.p_holm)}"
        told = f"difference {pages_number(difference.mean)}{interval}, p {p}, {each.counted}"
        heading = "Exploratory" if is_late else "Supported" if each.supported else "Not supported"
        kept[heading].append(tag("li", f"{name}. {each.hypothesis}: {told}, test {each.hypothesis.test}."))
    for heading, items in kept.items():
        if items:
            yield tag("h3", heading)
            yield tag("ul", *items[:WORDS_MAX])
            if len(items) > WORDS_MAX:
                yield missing(f"{len(items) - WORDS_MAX:,} more stand in the table below the forest plot.")
    # The number used in the correction.
    late = len(outcome.exploratory)
    if first := among.get(False, len(experiment.hypotheses) - late):
        corrected = f", corrected for the {first} planned hypotheses (Holm 1979)," if first > 1 else ""
        accepted = f"is at most {experiment.alpha:g}, the accepted share of false alarms"
        yield missing(f"Supported: the p value{corrected} {accepted}. An interval is of one comparison alone.")
    if kept["Not supported"]:
        yield missing(
            "Not supported does not mean equal: the interval says which differences the data leave possible. That two "
            "conditions are equal takes the test equivalence, with a margin."
        )
    if late:
        every = among.get(True, len(experiment.hypotheses))
        yield missing(
            "Exploratory: the hypothesis was made after there were results, so it needs new seeds to count. Its p "
            f"value is corrected for all {every:,} hypotheses together; those of planned ones are not changed by it."
        )


def _named(record: ExperimentRecord) -> list[Named]:
    """Return the comparisons of two conditions with their numbers."""
    numbers = {each.with_test: f"H{place}" for place, each in enumerate(record.plan.experiment.hypotheses, start=1)}
    return [(numbers.get(each.hypothesis.with_test, "H"), each) for each in record.outcome.comparisons]


def _published(line: Line) -> Section:
    rows = [(*cells_of(each), each.source) for each in line.figures]
    columns = ("figure", "published", "here", "outcome", "kind", "source")
    kinds = [(kind, hits(line, fitted=kind == "fitted")) for kind in ("predicted", "fitted")]
    told = " and ".join(f"{found} {kind} figures" for kind, found in kinds if found != NONE)
    said = f"Hits: {told}. In the table, {HERE_SAID}."
    table = table_of(Table(columns, rows), "Figures")
    return Section("published", "Published figures", [tag("p", said), table])


def _design(record: ExperimentRecord) -> Section:
    experiment = record.plan.experiment
    rows = [(each.name, _settings(each.settings) or "as the base") for each in experiment.conditions]
    parts: list[Node] = [table_of(Table(("condition", "settings"), rows), "Conditions")]
    if experiment.settings:
        parts.append(tag("p", f"All conditions have {_settings(experiment.settings)}."))
    measures = Table(("measure", "found in"), list(experiment.measures.items()))
    parts.append(table_of(measures, "Measures"))
    return Section("design", "Conditions and measures", parts)


def _settings(settings: Mapping[str, Any]) -> str:
    texts = ((name, as_text(value)) for name, value in settings.items())
    return "; ".join(f"{name}: {text if len(text) <= 300 else f'{text[:299]}…'}" for name, text in texts)


def _again(record: ExperimentRecord, line: Line | None) -> Section:
    experiment = record.plan.experiment
    source, out = shlex.quote(experiment.source), place_of(record.path)
    if line is None:
        lines = [f"prism experiment plan {source} --out {out}", f"prism experiment {source} --out {out}"]
    else:
        name = shlex.quote(line.name if line.name in replications() else f"{line.name}.yaml")
        lines = [f"prism replicate {name}{'' if record.path == OUT / line.name else f' --out {out}'}"]
    lines += [f"prism report {out}", f"prism view {out}"]
    seeds = list(dict.fromkeys(str(cell.seed) for cell in record.cells))
    facts = [
        ("file", experiment.source),
        ("base", experiment.base),
        ("seeds", listed(seeds, SEEDS_SHOWN)),
        ("plan", record.plan.hash),
        ("plans made", count(record.plans)),
        ("results when this plan was made", count(record.plan.cells_done)),
    ]
    if record.cells:
        first = record.cells[0]
        facts.append((f"run of {first.condition}, seed {first.seed}", f"{CELLS}/{first.key}"))
    table = table_of(Table(("", ""), facts), "What it was made of")
    said = "What is done is not done again: a second run of the same plan only writes the table anew."
    return Section(
        "again", "How to run it again", [tag("p", said), tag("pre", tag("code", "\n".join(lines)), tabindex=0), table]
    )


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


def _p_words(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _forest(measure: str, named: Sequence[Named], exploratory: Sequence[str]) -> Chart:
    """Return a forest plot of the comparisons of a measure, in its unit; the table has their effect sizes."""
    bars, cells = [], []
    for name, each in named:
        found, said = each.difference, each.hypothesis
        color, is_planned = BLUE if each.supported else GREY, said.with_test not in exploratory
        words = f"{name} {f' {MINUS} '.join(said.contrast)}"
        bars.append(Row(words, found.mean, found.low, found.high, color, is_planned))
        effect = (each.effect, each.effect_value, span(each.effect_low, each.effect_high))
        tested = ("not tested" if each.untested else _p_words(each.p), _p_words(each.p_holm), each.among)
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
    return Chart(drawn, Table(columns, cells))


def _mean_charts(record: ExperimentRecord, conditions: Sequence[str]) -> list[Chart]:
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
            found.append(Chart(rows(bars, measure, measure, reading, has_zero=False, seeds=lines), table))
    return found


def effect_charts(record: ExperimentRecord) -> list[Chart]:
    """Return the main effects of each factor on each measure; none for a design without factors.

    An effect is the mean at each level, over the seeds that have a value in all conditions: others would mix seeds.
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
        found.append(Chart(drawn, Table(("factor", "level", f"mean of {measure}", "95% interval"), cells)))
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


def _size_chart(courses: OverTime) -> Chart | None:
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
    return Chart(drawn, _bands_table("posts or more", courses.sizes, 100.0))


def _course_charts(courses: OverTime) -> list[Chart]:
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
        charts.append(Chart(drawn, _bands_table("round", bands)))
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


def _indices(measure: str, effects: Sequence[Effect]) -> Chart:
    """Return the indices of the factors of a measure, the largest first."""
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
    return Chart(rows(bars, unit, f"What {measure} depends on", f"{reading} Lines are 95% intervals."), table)

"""The report of an experiment: its answer in words, the plan behind it, and charts of its conditions."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from actors.factory.shipped import replications
from actors.pages.audit_section import audit_section
from actors.pages.card import Table, table_of
from actors.pages.experiment_charts import (
    LINES_MAX,
    course_charts,
    effect_charts,
    forest,
    mean_charts,
    p_words,
    sensitivity_charts,
    size_chart,
)
from actors.pages.html import Element, Node, tag
from actors.pages.page_frame import SHOWN_MAX, Section, document, figures, grid, lead_of, missing
from actors.pages.words import count, listed, pages_number, place_of, span
from actors.studies.experiments.cells import CELLS
from actors.studies.experiments.record import CellState, ExperimentRecord, read_over_time
from actors.studies.replications import (
    HERE_SAID,
    LINE,
    NONE,
    OUT,
    Line,
    cells_of,
    hits,
    read_line,
)
from prism.experiment.hypothesis_tests import Comparison
from prism.quoting import as_text
from prism.wording import counted

SEEDS_SHOWN = 12
WORDS_MAX = 40
"""The most hypotheses that are answered in words, of each kind."""


def experiment_report(record: ExperimentRecord, on_step: Callable[[str], None] = lambda _: None) -> str:
    """Return the report of an experiment as an HTML document. The same files give the same bytes.

    `on_step`: called with each section, before it is made.
    """
    title = "Report of an experiment"
    return document(title, header(record, title), experiment_sections(record), on_step)


def header(record: ExperimentRecord, title: str) -> Element:
    """Return the top of the page: the question, its answer, what is missing, and what was run."""
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
    warned = [*(tag("p", text, class_="notice") for text in _notices(record, states)), *remarks_of(record)]
    question = tag("h1", experiment.question)
    return tag("header", tag("p", title, class_="quiet"), question, lead(record), *warned, figures(told))


def lead(record: ExperimentRecord) -> Element:
    """Return the answers in sentences, as the terminal prints them."""
    outcome = record.outcome
    return lead_of(outcome.answers, " ".join([*outcome.caveats, str(outcome.made_of)]))


def remarks_of(record: ExperimentRecord) -> list[Element]:
    """Return what was not as configured in the cells, what had no effect, and which measures did not move."""
    return [tag("p", line, class_="notice") for line in record.outcome.remarks]


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
    """Yield the sections of the page; None for those without content."""
    outcome, line = record.outcome, read_line(record.path / LINE)
    if line is not None:
        yield _published(line)
    yield audit_section(record.path)
    notes = (missing(f"{note[:1].upper()}{note[1:]}.") for note in outcome.notes)
    yield Section("statistics", "Statistics", [*_statistics(record), *notes])
    if charts := forest(_named(record), outcome.exploratory):
        yield Section("comparisons", "Comparisons", [grid(charts, "comparisons")])
    # Means: first those of the conditions that are compared.
    compared = [name for each in record.plan.experiment.hypotheses for name in each.contrast]
    chosen = list(dict.fromkeys([*compared, *record.conditions]))
    charts = mean_charts(record, chosen)
    yield Section(
        "means", "Means over the seeds", [grid(charts, "means") if charts else missing("No cell has a value yet.")]
    )
    # Main effects, and the indices of a sampled design.
    parts: list[Node] = [grid(charts, "effects")] if (charts := effect_charts(record)) else []
    if indices := sensitivity_charts(outcome.effects):
        parts.append(grid(indices, "indices"))
    yield Section("effects", "What the measures depend on", parts) if parts else None
    # The cells over time.
    courses = read_over_time(record, chosen[:LINES_MAX])
    sizes = size_chart(courses)
    if charts := [*([sizes] if sizes else []), *course_charts(courses)]:
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
        shown = table_of(table, "The mean that is nearest to the limit", is_shown=True)
        judged = shown if record.is_final else missing("Thresholds are judged at the end.")
        yield Section("thresholds", "Thresholds", [judged])
    if outcome.missing:
        lost = [(name, len(seeds), listed([*map(str, seeds)], SEEDS_SHOWN)) for name, seeds in outcome.missing.items()]
        shown = table_of(Table(("condition", "cells", "seeds"), lost), "Cells without a result", is_shown=True)
        yield Section("missing", "What is missing", [shown])
    yield _design(record)
    yield _again(record, line)


def _statistics(record: ExperimentRecord) -> Iterator[Node]:
    """Yield what is supported, what is not, and what is exploratory, in words."""
    outcome, experiment = record.outcome, record.plan.experiment
    if more := outcome.answers[SHOWN_MAX:]:
        yield tag("h3", "Further answers")
        yield tag("ul", *(tag("li", f"{each.hypothesis}: {each.text}") for each in more[:WORDS_MAX]))
    named = _named(record)
    if not experiment.hypotheses:
        yield missing("No hypothesis was planned, so nothing is supported or not: what follows is a description.")
        return
    if not named:
        yield missing("No two cells of a pair are done yet, so nothing can be compared.")
        return
    kept: dict[str, list[Node]] = {"Supported": [], "Not supported": [], "Exploratory": []}
    among = dict[bool, int]()
    for name, each in named:
        is_late = each.hypothesis.with_test in outcome.exploratory
        among[is_late] = each.among
        difference = each.difference
        interval = "" if difference.low is None else f" (95% interval {span(difference.low, difference.high)})"
        p = p_words(each.p_holm) if each.p_holm < 0.001 else f"= {p_words(each.p_holm)}"
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


def _named(record: ExperimentRecord) -> list[tuple[str, Comparison]]:
    """Return the comparisons of two conditions with their numbers."""
    numbers = {each.with_test: f"H{place}" for place, each in enumerate(record.plan.experiment.hypotheses, start=1)}
    return [(numbers.get(each.hypothesis.with_test, "H"), each) for each in record.outcome.comparisons]


def _published(line: Line) -> Section:
    """Return the published figures beside those of the runs, of an experiment that replicates a study."""
    rows = [(*cells_of(each), each.source) for each in line.figures]
    columns = ("figure", "published", "here", "outcome", "kind", "source")
    kinds = [(kind, hits(line, fitted=kind == "fitted")) for kind in ("predicted", "fitted")]
    told = " and ".join(f"{found} {kind} figures" for kind, found in kinds if found != NONE)
    said = f"Hits: {told}. In the table, {HERE_SAID}."
    table = table_of(Table(columns, rows), "Figures", is_shown=True)
    return Section("published", "Published figures", [tag("p", said), table])


def _design(record: ExperimentRecord) -> Section:
    experiment = record.plan.experiment
    rows = [(each.name, _settings(each.settings) or "as the base") for each in experiment.conditions]
    parts: list[Node] = [table_of(Table(("condition", "settings"), rows), "Conditions", is_shown=True)]
    if experiment.settings:
        parts.append(tag("p", f"All conditions have {_settings(experiment.settings)}."))
    measures = Table(("measure", "found in"), list(experiment.measures.items()))
    parts.append(table_of(measures, "Measures", is_shown=True))
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
    table = table_of(Table(("", ""), facts), "What it was made of", is_shown=True)
    said = "What is done is not done again: a second run of the same plan only writes the table anew."
    return Section(
        "again", "How to run it again", [tag("p", said), tag("pre", tag("code", "\n".join(lines)), tabindex=0), table]
    )

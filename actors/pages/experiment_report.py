"""The report of an experiment: its answer in words, the plan behind it, and charts of its conditions."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator

from actors.factory.shipped import replications
from actors.pages.audit_section import audit_section
from actors.pages.card import Table, table_of
from actors.pages.experiment_charts import (
    LINES_MAX,
    course_charts,
    effect_charts,
    effects_left_out,
    forest,
    mean_charts,
    p_words,
    sensitivity_charts,
    size_chart,
)
from actors.pages.html import Element, Node, tag
from actors.pages.page_frame import SHOWN_MAX, Section, document, figures, grid, lead_of, missing
from actors.pages.words import count, listed, pages_number, place_of, plural, span
from actors.studies.experiments.cells import CELLS
from actors.studies.experiments.over_time import read_over_time
from actors.studies.experiments.record import CellState, ExperimentRecord
from actors.studies.experiments.seals import SCORE_COLUMNS, SCORES_SAID, score_cells
from actors.studies.replications.ledger import (
    HERE_SAID,
    LINE,
    NONE,
    OUT,
    Line,
    hits,
    kind_of,
    outcome_of_figure,
    read_line,
    said_here,
)
from prism.experiment import Comparison, Condition
from prism.quoting import as_text

SEEDS_SHOWN = 12
WORDS_MAX = 40
"""The most hypotheses that are answered in words, of each kind."""


def experiment_report(record: ExperimentRecord, on_step: Callable[[str], None] = lambda _: None) -> str:
    """Return the report of an experiment as an HTML document. The same files give the same bytes.

    `on_step`: called with each section, before it is made.
    """
    title = "Report of an experiment"
    return document(title, header(record, title), list(experiment_sections(record, on_step)))


def header(record: ExperimentRecord, title: str) -> Element:
    """Return the top of the page: the question, its answer, what is missing, and what was run."""
    experiment = record.plan.experiment
    states = Counter(cell.state for cell in record.cells)
    planned = "before any result" if not record.plan.cells_done else f"after {plural(record.plan.cells_done, 'result')}"
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
    said = lead_of(outcome.answers, " ".join([*outcome.caveats, str(outcome.made_of)]))
    return said if outcome.predictions is None else tag("div", said, tag("p", outcome.predictions.text))


def remarks_of(record: ExperimentRecord) -> list[Element]:
    """Return what was not as configured in the cells, what had no effect, and which measures did not move."""
    return [tag("p", line, class_="notice") for line in record.outcome.remarks]


def _notices(record: ExperimentRecord, states: Counter[CellState]) -> Iterator[str]:
    left = len(record.cells) - states[CellState.DONE]
    if left and not record.is_final:
        going = f", {plural(states[CellState.RUNNING], 'cell')} under way" if states[CellState.RUNNING] else ""
        yield (
            f"The experiment has not ended: {left:,} of its {plural(len(record.cells), 'cell')} are missing{going}. "
            "What is below was worked out of the others, and will change. Measures of your own and thresholds "
            "are only known at the end."
        )
    elif not record.is_final:
        yield "All cells are done, but the outcome is not written yet: run the experiment again to have it."
    if record.is_final and record.outcome.missing:
        lost = sum(map(len, record.outcome.missing.values()))
        yield f"{plural(lost, 'cell')} of {len(record.cells):,} {'has' if lost == 1 else 'have'} no result."
    if record.plan.cells_done:
        yield (
            f"This plan was made when {plural(record.plan.cells_done, 'cell')} had a result already. Hypotheses that "
            "no plan before the first result had, or that meant something else then, are exploratory."
        )


def experiment_sections(record: ExperimentRecord, on_step: Callable[[str], None] = lambda _: None) -> Iterator[Section]:
    """Yield the sections of the page; those without content are left out."""
    for section in _sections(record):
        if section is not None:
            on_step(section.title)
            yield section


def _sections(record: ExperimentRecord) -> Iterator[Section | None]:
    outcome, line = record.outcome, read_line(record.path / LINE)
    if line is not None:
        yield _published(line)
    yield audit_section(record.path)
    yield Section("statistics", "Statistics", list(_statistics(record)))
    if charts := forest(_named(record), outcome.exploratory):
        yield Section("comparisons", "Comparisons", [grid(charts, "comparisons")])
    # Means: first those of the conditions that are compared.
    compared = [name for each in record.plan.experiment.hypotheses for name in each.contrast]
    chosen = list(dict.fromkeys([*compared, *record.conditions]))
    charts = mean_charts(record, chosen)
    yield Section(
        "means", "Means over the seeds", [grid(charts, "means") if charts else missing("No cell has a value yet.")]
    )
    if (found := outcome.predictions) is not None:
        table = Table(SCORE_COLUMNS, [score_cells(each) for each in found.scores])
        shown = table_of(table, "Predictions beside their outcomes", is_shown=True)
        told = f"Sealed by {found.by} at {found.at}, with the seal {found.seal}. {SCORES_SAID}."
        notes = (tag("p", f"{note[:1].upper()}{note[1:]}.", class_="notice") for note in found.notes)
        yield Section("predictions", "Predictions", [shown, *notes, missing(told)])
    # Main effects, and the indices of a sampled design.
    parts: list[Node] = [grid(charts, "effects")] if (charts := effect_charts(record)) else []
    if left_out := effects_left_out(record):
        why = "no seed has a result in every condition, and means over unequal conditions would be no effects."
        parts.append(missing(f"No main effects on {listed(left_out, SEEDS_SHOWN)}: {why}"))
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
            left = plural(courses.left_out, "cell")
            parts.append(missing(f"{left} more are left out of these pictures: {why}"))
        yield Section("courses", "Inside the runs", parts)
    if record.plan.experiment.thresholds:
        limits = [
            (str(each.threshold), each.mean, each.condition, "met" if each.is_met else "missed")
            for each in outcome.thresholds
        ]
        table = Table(("threshold", "mean", "of the condition", ""), limits)
        shown = table_of(table, "The mean that is nearest to the limit", is_shown=True)
        yield Section(
            "thresholds",
            "Thresholds",
            [shown if record.is_final else missing("Thresholds are judged at the end.")],
        )
    if outcome.missing:
        lost = [(name, len(seeds), listed([*map(str, seeds)], SEEDS_SHOWN)) for name, seeds in outcome.missing.items()]
        shown = table_of(Table(("condition", "cells", "seeds"), lost), "Cells without a result", is_shown=True)
        yield Section("missing", "What is missing", [shown])
    yield _design(record)
    yield _again(record, line)


def _statistics(record: ExperimentRecord) -> Iterator[Node]:
    """Yield what is supported, what is not, and what is exploratory, in words."""
    more = record.outcome.answers[SHOWN_MAX:]
    if more:
        yield tag("h3", "Further answers")
        yield tag("ul", *(tag("li", f"{each.hypothesis}: {each.text}") for each in more[:WORDS_MAX]))
    named = _named(record)
    planned = [pair for pair in named if pair[1].hypothesis.with_test not in record.outcome.exploratory]
    supported = [pair for pair in planned if pair[1].supported]
    others = [pair for pair in planned if not pair[1].supported]
    explored = [pair for pair in named if pair not in planned]
    if not record.plan.experiment.hypotheses:
        yield missing("No hypothesis was planned, so nothing is supported or not: what follows is a description.")
        return
    if not named:
        yield missing("No two cells of a pair are done yet, so nothing can be compared.")
        return
    for heading, kept in (("Supported", supported), ("Not supported", others), ("Exploratory", explored)):
        if kept:
            yield tag("h3", heading)
            alpha = record.plan.experiment.alpha
            yield tag("ul", *(tag("li", _sentence(name, each, alpha)) for name, each in kept[:WORDS_MAX]))
            if len(kept) > WORDS_MAX:
                yield missing(f"{len(kept) - WORDS_MAX:,} more stand in the table below the forest plot.")
    experiment, late = record.plan.experiment, len(record.outcome.exploratory)
    # The number used in the correction: a hypothesis that was removed after the results counts, too.
    among = {each.hypothesis.with_test in record.outcome.exploratory: each.among for each in record.outcome.comparisons}
    first = among.get(False, len(experiment.hypotheses) - late)
    every = among.get(True, len(experiment.hypotheses))
    if first:
        corrected = f", corrected for the {first} planned hypotheses (Holm 1979)," if first > 1 else ""
        yield missing(
            f"Supported: the p value{corrected} is at most {experiment.alpha:g}, the accepted share of false alarms."
        )
    if others:
        yield missing(
            "Not supported does not mean equal: the interval says which differences the data leave possible. That two "
            "conditions are equal takes the test equivalence, with a margin."
        )
    if late:
        yield missing(
            "Exploratory: the hypothesis was made after there were results, so it needs new seeds to count. Its p "
            f"value is corrected for all {every:,} hypotheses together; those of planned ones "
            "are not changed by it."
        )
    yield from (missing(f"{note[:1].upper()}{note[1:]}.") for note in record.outcome.notes)


def _named(record: ExperimentRecord) -> list[tuple[str, Comparison]]:
    """Return the comparisons of two conditions with their numbers."""
    numbers = {each.with_test: f"H{place}" for place, each in enumerate(record.plan.experiment.hypotheses, start=1)}
    return [(numbers.get(each.hypothesis.with_test, "H"), each) for each in record.outcome.comparisons]


def _p(each: Comparison) -> str:
    """Return the corrected p value in words, with the number of hypotheses that it is corrected for."""
    p = f"p {p_words(each.p_holm)}" if each.p_holm < 0.001 else f"p = {p_words(each.p_holm)}"
    return f"{p} (of {each.among:,} together; alone {p_words(each.p)})" if each.among > 1 else p


def _sentence(name: str, each: Comparison, alpha: float) -> str:
    """Return a comparison in words: the difference with its interval, its size and its p value."""
    difference, hypothesis = each.difference, each.hypothesis
    known = difference.low is not None and difference.high is not None
    interval = f" (95% interval of it alone {span(difference.low, difference.high)})" if known else ""
    ends = f" ({span(each.effect_low, each.effect_high)})" if each.effect_low is not None else ""
    effect = "" if each.effect_value is None else f", {each.effect} {pages_number(each.effect_value)}{ends}"
    made = f"{_p(each)}, {each.counted}, test {hypothesis.test}"
    size = f"Difference {pages_number(difference.mean)}{interval}{effect}, {made}."
    return f"{name}. {hypothesis}. {size}{_discord(each, alpha)}"


def _discord(each: Comparison, alpha: float) -> str:
    """Return a sentence if interval and test disagree about 0; nothing where they agree."""
    low, high = each.difference.low, each.difference.high
    if low is None or high is None or each.hypothesis.test == "equivalence" or each.untested:
        return ""
    leaves_out = not low <= 0.0 <= high
    if leaves_out == each.supported:
        return ""
    if each.p <= alpha and not each.supported:
        return (
            f" The interval leaves out 0 for this hypothesis alone; over all {each.among:,} that are corrected "
            "together, it is not supported."
        )
    return f" The interval {'leaves out' if leaves_out else 'holds'} 0, but the test decides."


def _published(line: Line) -> Section:
    """Return the published figures beside those of the runs, of an experiment that replicates a study."""
    rows = [
        (each.figure, each.published, said_here(each), outcome_of_figure(each), kind_of(each), each.source)
        for each in line.figures
    ]
    columns = ("figure", "published", "here", "outcome", "kind", "source")
    kinds = [(kind, hits(line, fitted=kind == "fitted")) for kind in ("predicted", "fitted")]
    told = " and ".join(f"{found} {kind} figures" for kind, found in kinds if found != NONE)
    said = f"Hits: {told}. In the table, {HERE_SAID}."
    table = table_of(Table(columns, rows), "Figures", is_shown=True)
    return Section("published", "Published figures", [tag("p", said), table])


def _design(record: ExperimentRecord) -> Section:
    experiment = record.plan.experiment
    rows = [(each.name, _settings(each)) for each in experiment.conditions]
    parts: list[Node] = [table_of(Table(("condition", "settings"), rows), "Conditions", is_shown=True)]
    shared = [(name, _json(value)) for name, value in experiment.settings.items()]
    if shared:
        table = Table(("setting", "value"), shared)
        parts.append(table_of(table, "Settings of all conditions", is_shown=True))
    measures = Table(("measure", "found in"), list(experiment.measures.items()))
    parts.append(table_of(measures, "Measures", is_shown=True))
    return Section("design", "Conditions and measures", parts)


def _settings(condition: Condition) -> str:
    return "; ".join(f"{name}: {_json(value)}" for name, value in condition.settings.items()) or "as the base"


def _json(value: object) -> str:
    """Return a setting as a text, cut if it is long."""
    text = as_text(value)
    return text if len(text) <= 300 else f"{text[:299]}…"


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
    return Section(
        "again",
        "How to run it again",
        [
            tag("p", "What is done is not done again: a second run of the same plan only writes the table anew."),
            tag("pre", tag("code", "\n".join(lines)), tabindex=0),
            table,
        ],
    )

"""The report of runs: one HTML file that needs no network and no script.

The report of one run has pictures of all that it holds. That of several runs compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from actors.core.errors import RunDirectoryError
from actors.pages import run_tables
from actors.pages.attribute_charts import attribute_charts, attributes_in_words
from actors.pages.audit_section import audit_section
from actors.pages.card import Table, table_of
from actors.pages.cascade_charts import shape_charts, tree_charts
from actors.pages.cause_charts import anchor, cause_parts
from actors.pages.html import Element, Node, tag
from actors.pages.oracle_charts import call_parts, fallback_table, feed_table, sharing_parts, sources_chart
from actors.pages.page_frame import Section, document, figures, grid, lead_of, missing
from actors.pages.time_charts import (
    chart_with_counts,
    flow_table,
    indicators_chart,
    measures_chart,
    moments_table,
    only_state,
    states_chart,
    world_chart,
)
from actors.pages.words import listed
from actors.results.beside import compared_runs, made_of, read_beside, side_in_words
from actors.results.observed import Real, read_real
from actors.results.run_record import Difference, RunGroup, RunRecord, feed_of_run, groups_of
from actors.store.run import names_of
from actors.studies.causes.record import Kept, kept_causes
from actors.studies.causes.track import CASCADE
from prism.economy.moments import QUARTERS_MIN
from prism.errors import InputError
from prism.experiment.answer import Answer
from prism.wording import counted

COMMANDS_MAX = 8
"""The most runs whose commands are shown."""
NOTHING_REAL = Real()


class Told(NamedTuple):
    """What a report says of runs of one domain."""

    lead: Element | None  # the outcome, or the comparison, in sentences; None before the end
    notices: list[str]  # a sentence for each run that is not whole
    remarks: list[str]  # what was not as configured, and what had no effect
    sections: Iterator[Section | None]


def told_of_runs(runs: Sequence[RunRecord], real: Real = NOTHING_REAL) -> Told:
    """Return the parts of the report of runs."""
    groups, differences = groups_of(runs)
    sections = _sections(groups, differences, real)
    return Told(_lead(groups, differences), run_tables.notices(runs), run_tables.remarks_of(groups), sections)


def report(
    runs: Sequence[RunRecord], real: Real = NOTHING_REAL, on_step: Callable[[str], None] = lambda _: None
) -> str:
    """Return the report of runs of one domain as an HTML document.

    The same runs give the same bytes: there is no clock in it.

    Args:
        real: real figures to stand beside them.
        on_step: called with each section, before it is made.
    """
    told = told_of_runs(runs, real)
    title = f"Report of run {runs[0].name}" if len(runs) == 1 else f"Report of {len(runs)} runs"
    questions = list(dict.fromkeys(run.config.run.question for run in runs if run.config.run.question))
    asked = [tag("p", question, class_="question") for question in questions[:3]]
    warned = [tag("p", text, class_="notice") for text in (*told.notices, *told.remarks)]
    named = tag("p", listed([run.name for run in runs], 12), class_="quiet") if len(runs) > 1 else None
    header = tag("header", tag("h1", title), named, *asked, told.lead, *warned)
    return document(title, header, told.sections, on_step)


def read_runs(
    paths: Sequence[Path],
    on_step: Callable[[str], None] = lambda _: None,
    names: Sequence[str] = (),
) -> list[RunRecord]:
    """Read runs of one domain; a single run with its people.

    Args:
        on_step: called with the next step, in words.
        names: what each is called; by default as its directory.

    Raises:
        RunDirectoryError: a run is damaged, or they are of several domains.
    """
    runs: list[RunRecord] = []
    for path, name in zip(paths, names or names_of(paths), strict=True):
        on_step(f"reading {name}")
        runs.append(RunRecord(path, name))
    domains = list(dict.fromkeys(run.domain_name for run in runs))
    if len(domains) > 1:
        raise RunDirectoryError(f"expected runs of one domain, got {' and '.join(domains[:3])}: make a report of each")
    if len(runs) == 1 and "network" in runs[0].show.pictures:
        runs[0].read_people(on_step)
    return runs


def read_real_of(run: RunRecord, files: Sequence[str] = ()) -> Real:
    """Return the real figures of files; for an economy without one, those of the file that it starts from."""
    real, path = read_real(files, run.config), run.config.economy.initial.path
    if "quarters" in run.show.pictures and not real.quarters and path is not None:
        with suppress(InputError):  # the run has its quarters without it
            return read_real([path], run.config)
    return real


def _lead(groups: Sequence[RunGroup], differences: Sequence[Difference]) -> Element | None:
    groups = [group for group in groups if not group.first.is_damaged]
    if not groups:
        return None
    first = groups[0].first
    if len(groups) == 1 and len(groups[0].runs) == 1:
        if first.summary is None or not first.summary.in_words:
            return None
        told = Answer(finding="described", text=" ".join([*attributes_in_words(first)[:1], *first.summary.in_words]))
        return lead_of([told], str(made_of([read_beside(first.path, ())])))
    sides = {}
    for place, group in enumerate(groups):
        settings = {each.key: each.values[place] for each in differences}
        sides[side_in_words(group.label or "these runs", settings)] = [run.path for run in group.runs]
    compared = compared_runs(first.show.compared, sides)
    return lead_of(compared.answers, compared.limits) if compared.answers else None


def _sections(groups: Sequence[RunGroup], differences: Sequence[Difference], real: Real) -> Iterator[Section | None]:
    runs = [run for group in groups for run in group.runs]
    alone, pictures = runs[0] if len(runs) == 1 else None, runs[0].show.pictures
    kept = Kept(found=()) if alone is None else kept_causes(alone.path)
    yield _glance(runs, groups, differences)
    if "cascades" in pictures:
        yield _cascades(groups, real, alone, kept)
    yield _people(groups, alone)
    if "quarters" in pictures:
        chart = indicators_chart(groups, real.quarters, real.source)
        parts: list[Node] = [grid([chart], "quarters") if chart else missing("No whole quarter was run.")]
        if not real.quarters:
            parts.append(missing("No file of history is given: name one with --against."))
        if (told := moments_table(groups, real.quarters, real.source)) is not None:
            parts.append(table_of(*told, is_shown=True))
        elif chart:
            parts.append(missing(f"Moments need {QUARTERS_MIN} quarters or more."))
        yield Section("quarters", "The economy", parts)
    if not {"cascades", "quarters"} & {*pictures}:
        chart = world_chart(groups)
        nothing = "The world tells no numbers over time, or fewer than two rounds were run."
        yield Section("world", "The world", [grid([chart], "world") if chart else missing(nothing)])
    if alone is not None:
        found = cause_parts(kept, alone.course.ticks)
        yield Section("causes", "Causes", found) if found else None
        yield audit_section(alone.path, [alone.listed.digest])
    yield _states(groups, alone)
    chart = sources_chart(groups)
    parts = [grid([chart], "decisions") if chart else missing("Nobody made a transition."), *call_parts(groups)]
    if alone is not None:
        parts += sharing_parts(alone)
    if all(run.oracle is None for run in runs):
        parts.append(missing("No model was asked, so there are no latencies, no failed calls and no cost."))
    if (fallbacks := fallback_table(runs)) is None:
        parts.append(missing("Every choice was made by the oracle: there were no fallbacks."))
    else:
        parts.append(table_of(fallbacks, "Choices that were made without the oracle", is_shown=True))
    yield Section("decisions", "Decisions and the oracle", parts)
    yield _again(runs)


def _glance(runs: Sequence[RunRecord], groups: Sequence[RunGroup], differences: Sequence[Difference]) -> Section:
    shown = table_of(run_tables.glance(runs), "The runs, and how far they went", is_shown=True)
    if len(runs) == 1:
        named = runs[0].show.named
        ends = [(key, named(key), value) for key, value in run_tables.world_ends(runs[0]).items()]
        parts: list[Node] = [
            figures([(each.name, run_tables.end_text(key, value, each.unit)) for key, each, value in ends]),
            shown,
        ]
        if (done := run_tables.interventions_table(runs[0])) is not None:
            parts.append(table_of(done, "Interventions", is_shown=True))
        return Section("glance", "At a glance", parts)
    parts = [shown]
    if differences:
        rows = [(each.key, *each.values) for each in differences]
        columns = ("setting", *(group.label for group in groups))
        parts.append(table_of(Table(columns, rows), "The settings that differ", is_shown=True))
    caption = "The ends side by side: the median of the seeds, with the lowest and the highest"
    parts.append(table_of(run_tables.comparison(groups), caption, is_shown=True))
    return Section("glance", "Side by side", parts)


def _states(groups: Sequence[RunGroup], alone: RunRecord | None) -> Section:
    parts: list[Node] = []
    if over_time := states_chart(groups):
        parts.append(grid([over_time], "states"))
    elif state := only_state([run for group in groups for run in group.runs]):
        parts.append(missing(f"At the end of every tick all are in the state {state}; they pass others within a tick."))
    else:
        parts.append(missing("No tick was run, so nobody was anywhere."))
    if alone is not None:
        if alone.chart_problem:
            parts.append(missing(f"The chart of run {alone.name} cannot be read: {alone.chart_problem}"))
        if (chart := chart_with_counts(alone)) is not None:
            parts.append(grid([chart], "statechart"))
        elif alone.course.steps:
            parts.append(table_of(flow_table(alone), "Transitions between states", is_shown=True))
    return Section("states", "States", parts)


def _cascades(groups: Sequence[RunGroup], real: Real, alone: RunRecord | None, kept: Kept) -> Section:
    if not any(len(run.course.posts.ids) for group in groups for run in group.runs):
        return Section("cascades", "Posts and cascades", [missing("Nobody posted anything, so there are no cascades.")])
    feeds = [[feed_of_run(run) for run in group.runs] for group in groups]
    world = world_chart(groups)
    charts = [*([world] if world else []), *shape_charts(groups, feeds, real.cascades)]
    parts: list[Node] = [grid(charts, "cascades")] if charts else []
    if (of_feeds := feed_table(groups)) is not None:
        parts.append(table_of(of_feeds, "Feeds beside what was configured", is_shown=True))
    if real.hours:
        parts.append(missing("Real hours are not drawn: `prism validate-world` compares them."))
    if alone is not None:
        posts = [each.of.removeprefix(CASCADE) for each in kept.found if each.of.startswith(CASCADE)]
        anchors = {int(post): anchor(f"{CASCADE}{post}") for post in posts if post.isdecimal()}
        if isinstance(alone.people, str):
            parts.append(missing(f"The people of run {alone.name} cannot be read again: {alone.people}"))
        if trees := tree_charts(alone, anchors):
            parts += [tag("h3", "The largest cascades", class_="sub"), grid(trees, "trees")]
        else:
            parts.append(missing("Nobody answered or reshared a post: there is no tree to draw."))
    return Section("cascades", "Posts and cascades", parts)


def _people(groups: Sequence[RunGroup], alone: RunRecord | None) -> Section | None:
    """Return the attributes that people change, and the measures of people and their ties."""
    parts: list[Node] = []
    if alone is not None and alone.attributes:
        parts += [tag("p", told) for told in attributes_in_words(alone)]
        parts.append(grid(attribute_charts(alone), "attributes"))
    if groups[0].first.config.population.measures:
        chart = measures_chart(groups)
        nothing = "Fewer than two rounds were run, or not all runs have the measures of the first one."
        parts.append(grid([chart], "measures") if chart else missing(nothing))
    return Section("people", "People and ties", parts) if parts else None


def _again(runs: Sequence[RunRecord]) -> Section:
    said = "A run follows from its settings, its seed, its input files and the answers of its oracle. The same of all "
    parts: list[Node] = [tag("p", f"{said}these gives the same digest.")]
    for run in runs[:COMMANDS_MAX]:
        depends = table_of(run_tables.provenance(run), f"What run {run.name} depends on")
        parts += [
            tag("h3", f"Run {run.name}"),
            tag("pre", tag("code", "\n".join(run_tables.commands(run))), tabindex=0),
            tag("details", tag("summary", "Versions, digests and inputs"), depends),
        ]
    if (left := len(runs) - COMMANDS_MAX) > 0:
        parts.append(missing(f"{counted(left, 'run')} more have the same commands with their own directories."))
    return Section("again", "How to make it again", parts)

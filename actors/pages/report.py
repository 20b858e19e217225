"""The report of runs: one HTML file that needs no network and no script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from actors.core.errors import RunDirectoryError
from actors.pages import run_tables
from actors.pages.attribute_charts import attribute_charts, attributes_in_words
from actors.pages.audit_section import audit_section
from actors.pages.card import Table, table_of
from actors.pages.cascade_charts import reach_chart, shape_charts, tree_charts
from actors.pages.cause_charts import Shown, anchor, cause_parts
from actors.pages.html import Element, Node, tag
from actors.pages.oracle_charts import decision_charts, fallback_table, feed_table, sharing_charts
from actors.pages.page_frame import Section, document, figures, grid, lead_of, missing
from actors.pages.time_charts import (
    chart_with_counts,
    economy_charts,
    flow_table,
    measures_chart,
    only_state,
    states_chart,
    world_chart,
)
from actors.pages.words import listed, plural
from actors.results.beside import compared_runs, made_of, read_beside, side_in_words
from actors.results.observed import Real, read_real
from actors.results.run_record import Audience, Difference, RunGroup, RunRecord, feed_of_run, groups_of
from actors.store.run import names_of
from actors.studies.causes.record import kept_causes
from actors.studies.causes.track import CASCADE
from prism.economy.moments import QUARTERS_MIN
from prism.errors import InputError
from prism.experiment import Answer
from prism.scorecard import Feed, social_facts

DETAILED_MAX = 4
"""The most groups whose charts of a single run are shown."""
NOTHING_REAL = Real()


def report(
    runs: Sequence[RunRecord], real: Real = NOTHING_REAL, on_step: Callable[[str], None] = lambda _: None
) -> str:
    """Return the report of runs of one domain as an HTML document.

    The same runs give the same bytes: there is no clock in it.

    Args:
        real: real figures to stand beside them.
        on_step: called with each section, before it is made.
    """
    groups, differences = groups_of(runs)
    sections = list(_sections(groups, differences, real, on_step))
    title = f"Report of run {runs[0].name}" if len(runs) == 1 else f"Report of {len(runs)} runs"
    lead = _lead(groups, differences)
    questions = list(dict.fromkeys(run.config.run.question for run in runs if run.config.run.question))
    asked = [tag("p", question, class_="question") for question in questions[:3]]
    warned = [tag("p", text, class_="notice") for text in _warnings(runs, groups)]
    named = tag("p", listed([run.name for run in runs], 12), class_="quiet") if len(runs) > 1 else None
    header = tag("header", tag("h1", title), named, *asked, lead, *warned)
    return document(title, header, sections)


def lead_and_sections(runs: Sequence[RunRecord], real: Real = NOTHING_REAL) -> tuple[list[Node], list[Section]]:
    """Return what the report has of runs of one domain, for the local page: its first sentences, and its sections.

    The sentences on a single run stand at the head of its page.
    """
    groups, differences = groups_of(runs)
    lead = _lead(groups, differences) if len(runs) > 1 else None
    warnings = _warnings(runs, groups) if len(runs) > 1 else run_tables.notices(runs)
    told: list[Node] = [*([lead] if lead else []), *(tag("p", text, class_="notice") for text in warnings)]
    return told, list(_sections(groups, differences, real, lambda _: None))


def read_runs(
    paths: Sequence[Path],
    on_step: Callable[[str], None] = lambda _: None,
    on_read: Callable[[int, int], None] = lambda _, __: None,
    names: Sequence[str] = (),
) -> list[RunRecord]:
    """Read runs of one domain, with their people where people are shown.

    Args:
        on_step: called with the next step, in words.
        on_read: called with the ticks of a run that have been read, and all its ticks.
        names: what each is called; by default as its directory.

    Raises:
        RunDirectoryError: a run is damaged, or they are of several domains.
    """
    runs: list[RunRecord] = []
    for path, name in zip(paths, names or names_of(paths), strict=True):
        on_step(f"reading {name}")
        runs.append(RunRecord(path, name, on_read))
    domains = list(dict.fromkeys(run.domain_name for run in runs))
    if len(domains) > 1:
        raise RunDirectoryError(f"expected runs of one domain, got {' and '.join(domains[:3])}: make a report of each")
    for group in groups_of(runs)[0] if "network" in runs[0].show.pictures else ():
        group.first.read_people(on_step)
    return runs


def read_real_of(run: RunRecord, files: Sequence[str] = ()) -> Real:
    """Return the real figures of files; for an economy without one, those of the file that it starts from."""
    real, path = read_real(files, run.config), run.show.history_file
    if "quarters" in run.show.pictures and not real.quarters and path is not None:
        with suppress(InputError):  # the run has its quarters without it
            return read_real([path], run.config)
    return real


def _warnings(runs: Sequence[RunRecord], groups: Sequence[RunGroup]) -> list[str]:
    return [*run_tables.notices(runs), *run_tables.remarks_of(groups)]


def _lead(groups: Sequence[RunGroup], differences: Sequence[Difference]) -> Element | None:
    """Return the outcome of a run in sentences, or a comparison of several runs; None before the end of a run."""
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


def _sections(
    groups: Sequence[RunGroup], differences: Sequence[Difference], real: Real, on_step: Callable[[str], None]
) -> Iterator[Section]:
    for section in _sections_of(groups, differences, real):
        if section is not None:
            on_step(section.title)
            yield section


def _sections_of(groups: Sequence[RunGroup], differences: Sequence[Difference], real: Real) -> Iterator[Section | None]:
    runs, pictures = [run for group in groups for run in group.runs], groups[0].first.show.pictures
    yield _glance(runs, groups, differences)
    if "cascades" in pictures:
        yield _cascades(groups, real)
    yield _people(groups)
    if "quarters" in pictures:
        charts = economy_charts(groups, real.quarters, real.source)
        parts: list[Node] = [grid(charts, "quarters")] if charts else [missing("No whole quarter was run.")]
        if not real.quarters:
            parts.append(missing("No file of history is given: name one with --against."))
        if charts and len(charts) < 2:
            parts.append(missing(f"Moments need {QUARTERS_MIN} quarters or more."))
        yield Section("quarters", "The economy", parts)
    if not {"cascades", "quarters"} & {*pictures}:
        chart = world_chart(groups)
        nothing = "The world tells no numbers over time, or fewer than two rounds were run."
        drawn = grid([chart], "world") if chart else missing(nothing)
        yield Section("world", "The world", [drawn, *run_tables.own_tables(groups)])
    # The causes that `prism cause` has found.
    parts = []
    for place, group in enumerate(groups[:DETAILED_MAX]):
        run, kept = group.first, kept_causes(group.first.path)
        shown = Shown(run.course.posts, run.course.ticks, run.config.simulation.tick_seconds, f"cause-{place}")
        if (found := cause_parts(kept, shown)) and len(runs) > 1:
            parts.append(tag("p", f"Of run {run.name}:", class_="quiet"))
        parts += found
    yield Section("causes", "Causes", parts) if parts else None
    yield audit_section(runs[0].path, [runs[0].listed.digest]) if len(runs) == 1 else None
    yield _states(groups)
    charts = [*decision_charts(groups), *sharing_charts(groups)]
    parts = [grid(charts, "decisions")] if charts else [missing("Nobody made a transition.")]
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
    parts: list[Node] = [shown]
    if len(runs) == 1:
        named = runs[0].show.named
        ends = [(key, named(key), value) for key, value in run_tables.world_ends(runs[0]).items()]
        parts.insert(0, figures([(each.name, run_tables.end_text(key, value, each.unit)) for key, each, value in ends]))
    if differences:
        rows = [(each.key, *each.values) for each in differences]
        columns = ("setting", *(group.label for group in groups))
        caption = "The settings that differ"
        parts.append(table_of(Table(columns, rows), caption, is_shown=True))
    if len(runs) > 1:
        caption = "The ends side by side: the median of the seeds, with the lowest and the highest"
        parts.append(table_of(run_tables.comparison(groups), caption, is_shown=True))
        by_digest: dict[str, list[str]] = {}
        for run in runs:
            if run.course.ticks and not run.is_damaged:
                by_digest.setdefault(run.listed.digest, []).append(run.name)
        parts.extend(
            tag("p", f"Runs {listed(labels, 12)} have the same digest: they are equal.")
            for labels in by_digest.values()
            if len(labels) > 1
        )
    for group in groups[:DETAILED_MAX]:
        if (done := run_tables.interventions_table(group.first)) is not None:
            of = f" of {group.first.name}" if len(runs) > 1 else ""
            parts.append(table_of(done, f"Interventions{of}", is_shown=True))
    return Section("glance", "At a glance" if len(runs) == 1 else "Side by side", parts)


def _states(groups: Sequence[RunGroup]) -> Section:
    parts: list[Node] = []
    runs = [run for group in groups for run in group.runs]
    if over_time := states_chart(groups):
        parts.append(grid([over_time], "states"))
    elif alone := only_state(runs):
        parts.append(missing(f"At the end of every tick all are in the state {alone}; they pass others within a tick."))
    else:
        parts.append(missing("No tick was run, so nobody was anywhere."))
    for place, group in enumerate(groups[:DETAILED_MAX]):
        run = group.first
        if run.chart_problem:
            parts.append(missing(f"The chart of run {run.name} cannot be read: {run.chart_problem}"))
        of = f", {group.label or run.name}" if len(groups) > 1 else ""
        if (chart := chart_with_counts(run, of)) is not None:
            parts.append(grid([chart], f"statechart-{place}"))
        elif run.course.steps:
            parts.append(table_of(flow_table(run), f"Transitions between states{of}", is_shown=True))
    parts.extend(_only_first(groups, "Statecharts"))
    return Section("states", "States", parts)


def _cascades(groups: Sequence[RunGroup], real: Real) -> Section:
    if not any(len(run.course.posts.ids) for group in groups for run in group.runs):
        return Section("cascades", "Posts and cascades", [missing("Nobody posted anything, so there are no cascades.")])
    feeds = [[feed_of_run(run) for run in group.runs] for group in groups]
    world = world_chart(groups)
    charts = [*([world] if world else []), *shape_charts(groups, feeds, real.cascades)]
    for group in groups[:DETAILED_MAX]:
        reached = group.first.audience
        if isinstance(reached, Audience) and (reach := reach_chart(group.first, reached, group.label)) is not None:
            charts.append(reach)
    parts: list[Node] = [grid(charts, "cascades")] if charts else []
    left_out = sum(feed.left_out for group in feeds for feed in group)
    if left_out:
        parts.append(
            missing(
                f"{plural(left_out, 'original')} of the last rounds, to which people could still react, are left out "
                "of the distributions."
            )
        )
    if (of_feeds := feed_table(groups)) is not None:
        parts.append(table_of(of_feeds, "Feeds beside what was configured", is_shown=True))
    parts.extend(_facts(groups, feeds, real))
    for place, group in enumerate(groups[:DETAILED_MAX]):
        run = group.first
        audience = run.audience if isinstance(run.audience, Audience) else None
        name = f"cause-{place}"
        posts = [each.of.removeprefix(CASCADE) for each in kept_causes(run.path).found if each.of.startswith(CASCADE)]
        anchors = {int(post): anchor(f"{CASCADE}{post}", name) for post in posts if post.isdecimal()}
        of = f" of {group.label or run.name}" if len(groups) > 1 or len(group.runs) > 1 else ""
        trees = tree_charts(run, audience, anchors, of)
        if isinstance(run.audience, str):
            parts.append(missing(f"The people of run {run.name} cannot be read again: {run.audience}"))
        if trees:
            parts += [tag("h3", f"The largest cascades{of}", class_="sub"), grid(trees, f"trees-{place}")]
        else:
            parts.append(missing(f"Nobody answered or reshared a post in run {run.name}: there is no tree to draw."))
    return Section("cascades", "Posts and cascades", [*parts, *_only_first(groups, "Reach and trees")])


def _facts(groups: Sequence[RunGroup], feeds: Sequence[Sequence[Feed]], real: Real) -> list[Node]:
    if real.cascades is None and not real.hours:
        return []
    parts: list[Node] = []
    for group, found in zip(groups, feeds, strict=True):
        facts = social_facts(found, real.cascades, real.hours)
        of = f", {group.label}" if group.label else ""
        parts.append(table_of(run_tables.fact_table(facts), f"Stylised facts of the real world{of}", is_shown=True))
    return parts


def _people(groups: Sequence[RunGroup]) -> Section | None:
    """Return the attributes that people change, and the measures of people and their ties."""
    has_measures = bool(groups[0].first.config.population.measures)
    shown = groups[:DETAILED_MAX]
    is_alone = sum(len(group.runs) for group in groups) == 1
    charts = [chart for group in shown for chart in attribute_charts(group, is_alone=is_alone)]
    if not charts and not has_measures:
        return None
    parts: list[Node] = []
    for group in shown:
        whose = [] if is_alone else [tag("span", f"{group.label or group.first.name}: ", class_="quiet")]
        parts.extend(tag("p", *whose, told) for told in attributes_in_words(group.first))
    if charts:
        parts += [grid(charts, "attributes"), *_only_first(groups, "Pictures of attributes")]
    if has_measures:
        chart = measures_chart(groups)
        nothing = "Fewer than two rounds were run, or not all runs have the measures of the first one."
        parts.append(grid([chart], "measures") if chart else missing(nothing))
    return Section("people", "People and ties", parts)


def _again(runs: Sequence[RunRecord]) -> Section:
    parts: list[Node] = [
        tag(
            "p",
            "A run follows from its settings, its seed, its input files and the answers of its oracle. The same of all "
            "these gives the same digest.",
        )
    ]
    for run in runs[: 2 * DETAILED_MAX]:
        parts.append(tag("h3", f"Run {run.name}"))
        parts.append(tag("pre", tag("code", "\n".join(run_tables.commands(run))), tabindex=0))
        parts.append(
            tag(
                "details",
                tag("summary", "Versions, digests and inputs"),
                table_of(run_tables.provenance(run), f"What run {run.name} depends on"),
            )
        )
    left = len(runs) - 2 * DETAILED_MAX
    if left > 0:
        parts.append(missing(f"{plural(left, 'run')} more have the same commands with their own directories."))
    return Section("again", "How to make it again", parts)


def _only_first(groups: Sequence[RunGroup], what: str) -> list[Node]:
    """Return the sentence that names the runs with own charts, if there are more runs."""
    if all(len(group.runs) == 1 for group in groups) and len(groups) <= DETAILED_MAX:
        return []
    return [missing(f"{what} are those of {listed([group.first.name for group in groups[:DETAILED_MAX]])}.")]

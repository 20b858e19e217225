"""The report of runs: one HTML file that needs no network and no script.

The report of one run has pictures of all that it holds. That of several runs compares them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from actors.core.errors import RunDirectoryError
from actors.display.words import duration, usd
from actors.factory.input_files import plain_name
from actors.pages.cascade_charts import shape_charts, tree_charts
from actors.pages.counterfactuals import anchor, audit_section, cause_parts
from actors.pages.html import Element, Node, tag
from actors.pages.oracle_charts import call_parts, fallback_table, feed_table, sharing_parts, sources_chart
from actors.pages.page import Section, Table, document, figures, grid, lead_of, missing, noticed, table_of
from actors.pages.time_charts import (
    attribute_charts,
    attributes_in_words,
    chart_with_counts,
    flow_table,
    indicators_chart,
    measures_chart,
    moments_table,
    only_state,
    states_chart,
    world_chart,
)
from actors.pages.words import NO_VALUE, count, listed, place_of, share, sharing_notice, spread
from actors.results.beside import compared_runs, made_of, read_beside, side_in_words
from actors.results.observed import Real, read_real
from actors.results.run_record import Difference, RunGroup, RunRecord, feed_of_run, groups_of
from actors.store.rounds import ENGINE_COLUMNS
from actors.store.run import RunStatus, names_of
from actors.studies.causes.record import Kept, kept_causes
from actors.studies.causes.track import CASCADE
from prism.distribution import SIZE_TOTALS
from prism.economy.moments import QUARTERS_MIN
from prism.errors import InputError
from prism.experiment.answer import Answer
from prism.llm.spending import cost_usd
from prism.no_effect import remarks, remarks_on_many
from prism.wording import counted

COMMANDS_MAX = 8
DIGEST_LETTERS: Final = 8
"""The letters of a digest in a table of runs, which has no room for all."""
ENGINE_TOTALS: Final = ("activations", "transitions", "questions")
NOTHING_REAL = Real()


class Told(NamedTuple):
    """What a report says of runs of one domain."""

    lead: Element | None  # the outcome, or the comparison, in sentences; None before the end
    notices: list[str]  # a sentence for each run that is not whole
    remarks: list[str]  # what was not as configured, and what had no effect
    sections: Iterator[Section | None]


def told_of_runs(runs: Sequence[RunRecord], real: Real = NOTHING_REAL) -> Told:
    groups, differences = groups_of(runs)
    sections = _sections(groups, differences, real)
    return Told(_lead(groups, differences), notices(runs), _remarks_of(groups), sections)


def report(
    runs: Sequence[RunRecord], real: Real = NOTHING_REAL, on_step: Callable[[str], None] = lambda _: None
) -> str:
    """Return the report of runs of one domain as an HTML document. The same runs give the same bytes."""
    told = told_of_runs(runs, real)
    title = f"Report of run {runs[0].name}" if len(runs) == 1 else f"Report of {len(runs)} runs"
    questions = list(dict.fromkeys(run.config.run.question for run in runs if run.config.run.question))
    asked = [tag("p", question, class_="question") for question in questions[:3]]
    named = missing(listed([run.name for run in runs], 12)) if len(runs) > 1 else None
    warned = noticed([*told.notices, *told.remarks])
    return document(title, tag("header", tag("h1", title), named, *asked, told.lead, *warned), told.sections, on_step)


def read_runs(
    paths: Sequence[Path], on_step: Callable[[str], None] = lambda _: None, names: Sequence[str] = ()
) -> list[RunRecord]:
    """Read runs of one domain; a single run with its people.

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


# The top of the page


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


def notices(runs: Sequence[RunRecord]) -> list[str]:
    """Return a sentence for each run that is not whole."""
    found = []
    for run in runs:
        status, length, fallbacks = run.listed.status, run.listed.length, run.listed.fallbacks
        if run.is_damaged:
            found.append(
                f"The journal of run {run.name} is damaged after {count(run.course.ticks)} of its "
                f"{counted(length, 'tick')}: what follows is not shown, and no mean or median includes the run; "
                f"`prism verify {place_of(run.path)}` says more."
            )
            continue
        if status is not RunStatus.DONE and run.listed.ticks < length:
            shown = f"this page shows {count(run.course.ticks)} of its {counted(length, 'tick')}"
            found.append(f"Run {run.name}: {_state_of(run)}; {shown} ({share(run.course.ticks, length)}).")
        elif run.summary is None:
            found.append(f"Run {run.name} has no summary of its end: its numbers are those of its journal.")
        if fallbacks:
            found.append(f"Run {run.name} made {counted(fallbacks, 'choice')} without its oracle.")
        if run.summary is not None and run.summary.sharing is not None:
            warned = sharing_notice(run.summary.sharing)
            found += [] if warned is None else [f"Run {run.name}: {warned}"]
    return found


def _remarks_of(groups: Sequence[RunGroup]) -> list[str]:
    """Return what was not as configured in the runs that have ended, and what had no effect, a line each."""
    ended = {
        group.label: [run.summary_fields for run in group.runs if run.summary is not None]
        for group in groups
        if not group.first.is_damaged
    }
    if len(groups) == 1 and len(groups[0].runs) == 1:
        return [line for each in ended.values() for fields in each for line in remarks(fields)]
    return remarks_on_many(ended)


def _state_of(run: RunRecord) -> str:
    status, fallbacks = run.listed.status, run.listed.fallbacks
    if run.is_damaged:
        return "damaged"
    if status is RunStatus.DONE:
        return f"done, {counted(fallbacks, 'fallback')}" if fallbacks else "done"
    if status is RunStatus.STOPPED:
        return f"stopped by {run.listed.stopped_by}" if run.listed.stopped_by else "stopped"
    return "going on" if status is RunStatus.RUNNING else "ended without a summary"


# Its sections


def _sections(groups: Sequence[RunGroup], differences: Sequence[Difference], real: Real) -> Iterator[Section | None]:
    runs = [run for group in groups for run in group.runs]
    alone, pictures = runs[0] if len(runs) == 1 else None, runs[0].show.pictures
    kept = Kept(found=()) if alone is None else kept_causes(alone.path)
    shown = table_of(_glance(runs), "The runs, and how far they went")
    if alone is not None:
        yield Section("glance", "At a glance", [figures(_ends_in_words(alone)), shown, *_interventions(alone)])
    else:
        parts: list[Node] = [shown]
        if differences:
            rows = [(each.key, *each.values) for each in differences]
            columns = ("setting", *(group.label for group in groups))
            parts.append(table_of(Table(columns, rows), "The settings that differ"))
        caption = "The ends side by side: the median of the seeds, with the lowest and the highest"
        yield Section("glance", "Side by side", [*parts, table_of(comparison(groups), caption)])
    if "cascades" in pictures:
        yield _cascades(groups, real, alone, kept)
    yield _people(groups, alone)
    if "quarters" in pictures:
        chart = indicators_chart(groups, real.quarters, real.source)
        parts = [grid([chart], "quarters") if chart else missing("No whole quarter was run.")]
        if not real.quarters:
            parts.append(missing("No file of history is given: name one with --against."))
        if (told := moments_table(groups, real.quarters, real.source)) is not None:
            parts.append(table_of(*told))
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
    yield _states(groups, runs, alone)
    chart = sources_chart(groups)
    parts = [grid([chart], "decisions") if chart else missing("Nobody made a transition."), *call_parts(groups)]
    if alone is not None:
        parts += sharing_parts(alone)
    if all(run.oracle is None for run in runs):
        parts.append(missing("No model was asked, so there are no latencies, no failed calls and no cost."))
    if (fallbacks := fallback_table(runs)) is None:
        parts.append(missing("Every choice was made by the oracle: there were no fallbacks."))
    else:
        parts.append(table_of(fallbacks, "Choices that were made without the oracle"))
    yield Section("decisions", "Decisions and the oracle", parts)
    yield _again(runs)


def _interventions(run: RunRecord) -> Iterator[Node]:
    if run.summary is not None and run.summary.interventions:
        rows = [
            (f"round {count(each.round)}, tick {count(each.tick)}", each.kind, each.what, each.reactions)
            for each in run.summary.interventions
        ]
        yield table_of(Table(("when", "kind", "what", "reactions to the post"), rows), "Interventions")


def _states(groups: Sequence[RunGroup], runs: Sequence[RunRecord], alone: RunRecord | None) -> Section:
    parts: list[Node] = []
    if over_time := states_chart(groups):
        parts.append(grid([over_time], "states"))
    elif state := only_state(runs):
        parts.append(missing(f"At the end of every tick all are in the state {state}; they pass others within a tick."))
    else:
        parts.append(missing("No tick was run, so nobody was anywhere."))
    if alone is not None:
        if alone.chart_problem:
            parts.append(missing(f"The chart of run {alone.name} cannot be read: {alone.chart_problem}"))
        if (chart := chart_with_counts(alone)) is not None:
            parts.append(grid([chart], "statechart"))
        elif alone.course.steps:
            parts.append(table_of(flow_table(alone), "Transitions between states"))
    return Section("states", "States", parts)


def _cascades(groups: Sequence[RunGroup], real: Real, alone: RunRecord | None, kept: Kept) -> Section:
    if not any(len(run.course.posts.ids) for group in groups for run in group.runs):
        return Section("cascades", "Posts and cascades", [missing("Nobody posted anything, so there are no cascades.")])
    feeds = [[feed_of_run(run) for run in group.runs] for group in groups]
    world = world_chart(groups)
    charts = [*([world] if world else []), *shape_charts(groups, feeds, real.cascades)]
    parts: list[Node] = [grid(charts, "cascades")] if charts else []
    if (of_feeds := feed_table(groups)) is not None:
        parts.append(table_of(of_feeds, "Feeds beside what was configured"))
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
        path = place_of(run.path)
        again = f"prism run {path}/config.yaml"
        if run.manifest.forks:
            fork = run.manifest.forks[-1]
            beside = run.path.parent / fork.parent
            parent = place_of(beside) if beside.is_dir() else shlex.quote(fork.parent)
            again = f"prism fork {parent} --at {fork.tick}  # with the settings that differ, as --set"
        commands = f"{again}\nprism replay {path}\nprism verify {path}"
        depends = table_of(_provenance(run), f"What run {run.name} depends on", is_shown=False)
        parts += [
            tag("h3", f"Run {run.name}"),
            tag("pre", tag("code", commands), tabindex=0),
            tag("details", tag("summary", "Versions, digests and inputs"), depends),
        ]
    if (left := len(runs) - COMMANDS_MAX) > 0:
        parts.append(missing(f"{counted(left, 'run')} more have the same commands with their own directories."))
    return Section("again", "How to make it again", parts)


# Tables of runs


def _glance(runs: Sequence[RunRecord]) -> Table:
    rows = []
    for run in runs:
        course, summary = run.course, run.summary
        counts = (course.turns, course.sources.total(), course.questions)
        fallbacks = course.fallbacks.total()
        if summary is not None:
            counts = (summary.activations, summary.transitions, summary.oracle_questions)
            fallbacks = summary.fallbacks
        # The calls to the model and their cost; if it is not known, the reason.
        calls, cost = "no model", "no model"
        if summary is not None and summary.llm is not None:
            calls, dollars = count(sum(summary.llm.calls.values())), summary.llm.cost_usd
            cost = "no prices set" if dollars is None else usd(dollars)
        elif run.oracle is not None:
            calls = count(sum(spent.calls for spent in run.oracle.spent))
            dollars = cost_usd(run.oracle.spent, run.config.llm.prices)
            cost = "no prices set" if dollars is None else f"{usd(dollars)} so far"
        digest = NO_VALUE if run.is_damaged else run.listed.digest[:DIGEST_LETTERS]
        ticks = f"{count(course.ticks)} of {count(run.listed.length)}"
        begin = (run.name, _state_of(run), str(course.header.seed), course.header.agents, ticks)
        rows.append((*begin, *counts, calls, fallbacks, cost, digest))
    names = ("run", "state", "seed", runs[0].show.agents, "ticks", "activations", "transitions", "questions")
    return Table((*names, "model calls", "fallbacks", "cost", "digest"), rows)


def comparison(groups: Sequence[RunGroup]) -> Table:
    """Return the ends of runs side by side, after their last whole rounds: the median of each group with its range."""
    numbers: dict[str, list[list[float]]] = {}
    for place, group in enumerate(groups):
        for run in group.runs:
            counts = {name: run.rounds[name][-1] for name in ENGINE_TOTALS if run.rounds.get(name)}
            for name, value in (counts | _world_ends(run)).items():
                numbers.setdefault(name, [[] for _ in groups])[place].append(value)
    named = groups[0].first.show.named
    rows = [(str(named(name)), *(spread(values) for values in by_group)) for name, by_group in numbers.items()]
    return Table(("at the end", *(group.name for group in groups)), rows)


def _world_ends(run: RunRecord) -> dict[str, float]:
    """Return the numbers of a world after the last whole round."""
    kept = {name: column[-1] for name, column in run.rounds.items() if column and name not in ENGINE_COLUMNS}
    if run.summary is not None and "largest_cascade" in run.summary.world:
        kept["largest_cascade.size"] = run.summary.world["largest_cascade"]["size"]
    return kept


def _ends_in_words(run: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield the numbers of a world as texts: shares of cascades and indicators of an economy in percent."""
    for name, value in _world_ends(run).items():
        number = run.show.named(name)
        if name in SIZE_TOTALS and name.startswith("cascades_"):
            yield number.name, share(value)
        elif number.unit.startswith("%"):
            yield number.name, f"{value:.2f}%"
        else:
            yield number.name, f"{value:,.{0 if float(value).is_integer() else 2}f}"


def _provenance(run: RunRecord) -> Table:
    manifest, header = run.manifest, run.course.header
    resumed = [counted(tick, "tick") for tick in manifest.resumed]
    rows = [
        ("digest", run.listed.digest),
        ("ticks of the digest", count(run.listed.ticks)),
        ("seed", str(header.seed)),
        ("settings, SHA-256", header.config_sha256),
        ("PRISM's code, SHA-256", manifest.code),
        *([("the domain's own code, SHA-256", manifest.domain_code)] if manifest.domain_code else []),
        *((f"input {plain_name(name)}, SHA-256", sha256) for name, sha256 in sorted(header.inputs.items())),
        ("Python", manifest.python),
        ("platform", manifest.platform),
        *sorted(manifest.packages.items()),
        *([("oracle", manifest.oracle)] if manifest.oracle else []),
        *(("fork of", f"{fork.parent}, after {counted(fork.tick, 'tick')}") for fork in manifest.forks),
        *([("resumed after", listed(resumed))] if resumed else []),
        *([("computed in", duration(run.summary.wall_s))] if run.summary is not None else []),
    ]
    return Table(("what", "value"), rows)

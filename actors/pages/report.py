"""The report of runs: one HTML file that needs no network and no script.

The report of one run has pictures of all that it holds. That of several runs compares them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np

from actors.core.errors import RunDirectoryError
from actors.display.words import duration, usd
from actors.factory.input_files import plain_name
from actors.pages.cascade_charts import shape_charts, tree_charts
from actors.pages.counterfactuals import anchor, audit_section, cause_parts
from actors.pages.page import (
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
from actors.pages.words import NO_VALUE, count, interval, listed, place_of, share, sharing_notice, spread
from actors.pages.words import SOURCES as SOURCES_SAID
from actors.plots.rows import Row, rows
from actors.results.measures import compared_runs, made_of, read_beside, side_in_words
from actors.results.observed import Real, read_real
from actors.results.run_record import Differences, RunGroup, RunRecord, groups_of
from actors.store.rounds import ENGINE_COLUMNS
from actors.store.run import RunStatus, names_of
from actors.studies.causes.record import Kept, kept_causes
from actors.studies.causes.track import CASCADE
from prism.agents import DECIDED
from prism.distribution import SIZE_TOTALS
from prism.economy.moments import QUARTERS_MIN
from prism.errors import InputError
from prism.experiment.answer import Answer
from prism.llm.spending import USEFUL, Ledger, cost_usd
from prism.no_effect import remarks, remarks_on_many
from prism.palette import SOURCES
from prism.wording import counted

COMMANDS_MAX = 8
DIGEST_LETTERS: Final = 8  # the letters of a digest in a table of runs, which has no room for all
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


def _lead(groups: Sequence[RunGroup], differences: Differences) -> Element | None:
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
        settings = {key: values[place] for key, values in differences.items()}
        sides[side_in_words(group.label or "these runs", settings)] = [run.path for run in group.runs]
    answers, limits = compared_runs(first.show.compared, sides)
    return lead_of(answers, limits) if answers else None


def notices(runs: Sequence[RunRecord]) -> list[str]:
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


def _sections(groups: Sequence[RunGroup], differences: Differences, real: Real) -> Iterator[Section | None]:
    runs = [run for group in groups for run in group.runs]
    alone, pictures = runs[0] if len(runs) == 1 else None, runs[0].show.pictures
    kept = Kept(found=()) if alone is None else kept_causes(alone.path)
    shown = table_of(_glance(runs), "The runs, and how far they went")
    if alone is not None:
        yield Section("glance", "At a glance", [figures(_ends_in_words(alone)), shown, *_interventions(alone)])
    else:
        parts: list[Node] = [shown]
        if differences:
            settings = [(key, *values) for key, values in differences.items()]
            columns = ("setting", *(group.label for group in groups))
            parts.append(table_of(Table(columns, settings), "The settings that differ"))
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
        if (moments := moments_table(groups, real.quarters, real.source)) is not None:
            parts.append(moments)
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
    parts = [_sources(groups), *_call_parts(groups)]
    if alone is not None:
        parts += _sharing_parts(alone)
    if not any(run.spent for run in runs):
        parts.append(missing("No model was asked, so there are no latencies, no failed calls and no cost."))
    yield Section("decisions", "Decisions and the oracle", [*parts, _fallbacks(runs)])
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
    feeds = [[run.feed for run in group.runs] for group in groups]
    world = world_chart(groups)
    charts = [*([world] if world else []), *shape_charts(groups, feeds, real.cascades)]
    parts: list[Node] = [grid(charts, "cascades")] if charts else []
    parts += _feeds(groups)
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
        elif run.spent:
            calls = count(sum(spent.calls for spent in run.spent))
            dollars = cost_usd(run.spent, run.config.llm.prices)
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


# Decisions and the oracle

_METHOD_WORDS = {
    "embedded": "embedded choice",
    "json": "the model's JSON",
    "logprobs": "probabilities of its tokens",
    "systemone": "probabilities of its answers",
    "shared": "a shared judgement",
}


def _of(group: RunGroup) -> str:
    return f", {group.label}" if group.label else ""


def _sources(groups: Sequence[RunGroup]) -> Node:
    """Return the chart of the sources of transitions; its table also has how choices were found."""
    if not any(group.first.course.sources for group in groups):
        return missing("Nobody made a transition.")
    every = [run for group in groups for run in group.runs]
    first = groups[0].first
    names = [name for name in SOURCES if any(run.course.sources.get(name) for run in every)]
    names.sort(key=lambda name: -first.course.sources.get(name, 0))
    bars = []
    for name in names:
        for group in groups:
            parts = [run.course.sources.get(name, 0) / max(1, run.course.sources.total()) for run in group.runs]
            bars.append(Row(f"{SOURCES_SAID[name]}{_of(group)}: {share(fmean(parts))}", bar=100 * fmean(parts)))
    total, decided = first.course.sources.total(), sum(first.course.sources.get(name, 0) for name in DECIDED)
    reading = (
        f"{share(first.course.sources.get('rule', 0), total)} of {count(total)} transitions follow from a rule; "
        f"{counted(decided, 'choice')} were put to the oracle{f' ({groups[0].label})' if groups[0].label else ''}."
    )
    cells = [(SOURCES_SAID[name], *(run.course.sources.get(name, 0) for run in every)) for name in names]
    cells += [
        (f"no transition: {name}", *(run.course.unmoved.get(name, 0) for run in every))
        for name in sorted({name for run in every for name in run.course.unmoved})
    ]
    methods = [{} if run.summary is None else run.summary.decisions_by_method for run in every]
    cells += [
        (f"found by {_METHOD_WORDS.get(name, name)}", *(each.get(name, 0) for each in methods))
        for name in sorted({name for each in methods for name in each})
    ]
    table = Table(("decided by", *(run.name for run in every)), cells)
    return grid([Chart(rows(bars, "% of transitions", "Who decided", reading), table)], "decisions")


def _call_parts(groups: Sequence[RunGroup]) -> list[Node]:
    """Return how long a model's answers took, and what became of calls to it; nothing if none was asked."""
    latencies, outcomes = list[tuple[str, ...]](), list[tuple[str, ...]]()
    for group in groups:
        asked = [run for run in group.runs if run.spent]
        if found := [latency for run in asked for latency in run.latencies_s]:
            marks = (f"{mark:.3f}" for mark in np.quantile(found, (0.5, 0.95, 0.99)))
            latencies.append((group.label or "all answers", count(len(found)), *marks))
        for spent in sorted(Ledger(each for run in asked for each in run.spent), key=lambda each: -each.calls):
            words = f"{'answered' if spent.outcome == USEFUL else spent.outcome.replace('_', ' ')}{_of(group)}"
            outcomes.append((words, count(spent.calls), count(spent.tokens), f"{spent.latency_s:,.1f}"))
    if not outcomes:
        return []
    times = Table(("answers of", "answers", "p50, s", "p95, s", "p99, s"), latencies)
    calls_made = Table(("outcome", "calls", "tokens", "s"), outcomes)
    took = table_of(times, "Time from question to answer, that in the queue included")
    made = table_of(calls_made, "What became of calls to the model")
    return [took, made] if latencies else [made]


def _fallbacks(runs: Sequence[RunRecord]) -> Node:
    """Return the choices made without the oracle by reason."""
    every = [run.course.fallbacks if run.summary is None else run.summary.fallbacks_by_reason for run in runs]
    names = sorted({name for each in every for name in each})
    if not names:
        return missing("Every choice was made by the oracle: there were no fallbacks.")
    cells = [(name.replace("_", " "), *(each.get(name, 0) for each in every)) for name in names]
    table = Table(("choices without the oracle, by reason", *(run.name for run in runs)), cells)
    return table_of(table, "Choices that were made without the oracle")


def _feeds(groups: Sequence[RunGroup]) -> Iterator[Node]:
    """Yield the feeds beside what was configured; nothing for unfinished runs, and if nobody was shown a post."""
    cells = []
    for key, words, scale in (
        ("length", "posts in a feed, at most", 1.0),
        ("out_of_network", "% of the posts shown that are by people one does not follow", 100.0),
    ):
        for group in groups:
            ends = [run.summary.world for run in group.runs if run.summary is not None]
            pairs = [world["feed"][key] for world in ends if world.get("feed") and world.get("posts_shown")]
            if pairs:
                realised = [round(scale * pair["realised"], 3) for pair in pairs]
                cells.append((f"{words}{_of(group)}", f"{scale * pairs[0]['configured']:g}", spread(realised)))
    if cells:
        yield table_of(Table(("feeds", "configured", "realised"), cells), "Feeds beside what was configured")


# Shared judgements


def _sharing_parts(run: RunRecord) -> list[Node]:
    """Return the judgements that a run has shared, in sentences and as a table; nothing without sharing."""
    sharing = None if run.summary is None else run.summary.sharing
    if sharing is None or not sharing.shares:
        return []
    asked, ratio = sharing.asked_for_all + sharing.audited, f"{sharing.questions_per_call:,.1f} for each that was asked"
    parts = [f"{counted(asked, 'question')} were asked, and {count(sharing.shared)} drew from what they got: {ratio}."]
    if sharing.divergence is None:
        parts.append("There were no audits, so the error is not known.")
    else:
        bits = f"{interval(sharing.divergence, 4)} bits from what these people would have got"
        parts.append(f"What was shared is {bits}, by {counted(sharing.audited, 'audit')}.")
    cells = [
        (
            f"{each.trigger} ({each.state}): {option}",
            f"{shared:.4f}",
            "" if (corrected := each.corrected.get(option)) is None else interval(corrected, 4),
            each.questions,
            each.audits,
        )
        for each in sharing.shares
        for option, shared in each.shared.items()
    ]
    columns = ("option", "as shared", "if all were asked (95%)", "questions", "audits")
    shown = table_of(Table(columns, cells), "What was shared, as shares of questions")
    return [tag("p", " ".join(parts)), shown]

"""Charts of decisions: who made them, the time and cost of a model, its distance from rules, and shared judgements."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from actors.pages.html import Node, tag
from actors.pages.page import Chart, Table, table_of
from actors.pages.words import SOURCES as SOURCE_WORDS
from actors.pages.words import count, interval, share, spread
from actors.plots.rows import Row, rows
from actors.results.run_record import RunGroup, RunRecord
from prism.agents import DECIDED
from prism.palette import SOURCES
from prism.wording import counted

_METHOD_WORDS = {
    "embedded": "embedded choice",
    "json": "the model's JSON",
    "logprobs": "probabilities of its tokens",
    "systemone": "probabilities of its answers",
    "shared": "a shared judgement",
}


def _of(group: RunGroup) -> str:
    return f", {group.label}" if group.label else ""


def sources_chart(groups: Sequence[RunGroup]) -> Chart | None:
    """Return the sources of transitions; None without any. The table also has how choices were found."""
    if not any(group.first.course.sources for group in groups):
        return None
    every = [run for group in groups for run in group.runs]
    first = groups[0].first
    names = [name for name in SOURCES if any(run.course.sources.get(name) for run in every)]
    names.sort(key=lambda name: -first.course.sources.get(name, 0))
    bars = []
    for name in names:
        for group in groups:
            parts = [run.course.sources.get(name, 0) / max(1, run.course.sources.total()) for run in group.runs]
            bars.append(Row(f"{SOURCE_WORDS[name]}{_of(group)}: {share(fmean(parts))}", bar=100 * fmean(parts)))
    total, decided = first.course.sources.total(), sum(first.course.sources.get(name, 0) for name in DECIDED)
    reading = (
        f"{share(first.course.sources.get('rule', 0), total)} of {count(total)} transitions follow from a rule; "
        f"{counted(decided, 'choice')} were put to the oracle{f' ({groups[0].label})' if groups[0].label else ''}."
    )
    cells = [(SOURCE_WORDS[name], *(run.course.sources.get(name, 0) for run in every)) for name in names]
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
    return Chart(rows(bars, "% of transitions", "Who decided", reading), table)


def call_parts(groups: Sequence[RunGroup]) -> list[Node]:
    """Return how long a model's answers took, and what became of calls to it; nothing if none was asked."""
    latencies, outcomes = list[tuple[str, ...]](), list[tuple[str, ...]]()
    for group in groups:
        traces = [run.oracle for run in group.runs if run.oracle is not None]
        if found := [latency for trace in traces for latency in trace.latencies_s]:
            marks = (f"{mark:.3f}" for mark in np.quantile(found, (0.5, 0.95, 0.99)))
            latencies.append((group.label or "all answers", count(len(found)), *marks))
        by_outcome: dict[str, tuple[int, int, float]] = {}
        for spent in (each for trace in traces for each in trace.spent):
            calls, tokens, seconds = by_outcome.get(spent.outcome, (0, 0, 0.0))
            by_outcome[spent.outcome] = calls + spent.calls, tokens + spent.tokens, seconds + spent.latency_s
        for name, (calls, tokens, seconds) in sorted(by_outcome.items(), key=lambda item: -item[1][0]):
            words = f"{'answered' if name == 'ok' else name.replace('_', ' ')}{_of(group)}"
            outcomes.append((words, count(calls), count(tokens), f"{seconds:,.1f}"))
    if not outcomes:
        return []
    times = Table(("answers of", "answers", "p50, s", "p95, s", "p99, s"), latencies)
    calls_made = Table(("outcome", "calls", "tokens", "s"), outcomes)
    took = table_of(times, "Time from question to answer, that in the queue included")
    made = table_of(calls_made, "What became of calls to the model")
    return [took, made] if latencies else [made]


def fallback_table(runs: Sequence[RunRecord]) -> Table | None:
    """Return the choices made without the oracle by reason; None if there are none."""
    every = [run.course.fallbacks if run.summary is None else run.summary.fallbacks_by_reason for run in runs]
    names = sorted({name for each in every for name in each})
    rows = [(name.replace("_", " "), *(each.get(name, 0) for each in every)) for name in names]
    return Table(("choices without the oracle, by reason", *(run.name for run in runs)), rows) if rows else None


def feed_table(groups: Sequence[RunGroup]) -> Table | None:
    """Return the feeds beside what was configured; None for unfinished runs, and if nobody was shown a post."""
    rows = []
    for key, words, scale in (
        ("length", "posts in a feed, at most", 1.0),
        ("out_of_network", "% of the posts shown that are by people one does not follow", 100.0),
    ):
        for group in groups:
            ends = [run.summary.world for run in group.runs if run.summary is not None]
            pairs = [world["feed"][key] for world in ends if world.get("feed") and world.get("posts_shown")]
            if pairs:
                realised = [round(scale * pair["realised"], 3) for pair in pairs]
                rows.append((f"{words}{_of(group)}", f"{scale * pairs[0]['configured']:g}", spread(realised)))
    return Table(("feeds", "configured", "realised"), rows) if rows else None


# Shared judgements


def sharing_parts(run: RunRecord) -> list[Node]:
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

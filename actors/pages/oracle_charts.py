"""Charts of decisions: who made them, the time and cost of a model, and the distance from rules by `prism shadow`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from actors.display.words import usd
from actors.pages.card import Chart, Table
from actors.pages.picture import figure, label, log_numbers, plain_numbers
from actors.pages.rows import Row, rows_picture
from actors.pages.series import GROUP_DASHES, color_of, group_key
from actors.pages.words import count, listed, plural, share, spread
from actors.results.run_record import RunGroup, RunRecord
from prism.agents import DECIDED
from prism.divergence import EMBEDDED, RULE
from prism.palette import BLUE, SOURCES, VERMILION

_SOURCE_WORDS = {
    "rule": "a rule of the chart",
    "oracle": "the embedded oracle",
    "llm": "a model",
    "fallback": "a fallback",
    "timeout": "a fallback: too late",
}
_METHOD_WORDS = {
    "embedded": "embedded choice",
    "json": "the model's JSON",
    "repaired": "the model's loose words",
    "logprobs": "probabilities of its tokens",
    "systemone": "probabilities of its answers",
    "shared": "a shared judgement",
}
WIDE = 100.0
"""The ratio of the longest latency to the shortest from which the axis is logarithmic."""
_AGAINST = {EMBEDDED: "the embedded choice", RULE: "the rules"}


def decision_charts(groups: Sequence[RunGroup]) -> list[Chart]:
    """Return the charts of decisions, of calls to a model, and of what `prism shadow` has found."""
    asked = [group for group in groups if any(run.oracle is not None for run in group.runs)]
    charts = [_sources(groups)] if any(group.first.course.sources for group in groups) else []
    if any(run.oracle is not None and run.oracle.latencies_s for group in asked for run in group.runs):
        charts.append(_latency(asked))
    charts += [_outcomes(asked)] if asked else []
    return [*charts, *_shadow(groups)]


def _of(group: RunGroup) -> str:
    return f", {group.label}" if group.label else ""


def _sources(groups: Sequence[RunGroup]) -> Chart:
    """Return the sources of transitions; the table has the turns without a transition, and how choices were found."""
    every = [run for group in groups for run in group.runs]
    first = groups[0].first
    names = [name for name in SOURCES if any(run.course.sources.get(name) for run in every)]
    names.sort(key=lambda name: -first.course.sources.get(name, 0))
    bars = []
    for name in names:
        for group in groups:
            parts = [run.course.sources.get(name, 0) / max(1, run.course.sources.total()) for run in group.runs]
            bars.append(Row(f"{_SOURCE_WORDS[name]}{_of(group)}: {share(fmean(parts))}", bar=100 * fmean(parts)))
    total, decided = first.course.sources.total(), sum(first.course.sources.get(name, 0) for name in DECIDED)
    reading = (
        f"{share(first.course.sources.get('rule', 0), total)} of {count(total)} transitions follow from a rule; "
        f"{plural(decided, 'choice')} were put to the oracle{f' ({groups[0].label})' if groups[0].label else ''}."
    )
    rows = [(_SOURCE_WORDS[name], *(count(run.course.sources.get(name, 0)) for run in every)) for name in names]
    rows += [
        (f"no transition: {name}", *(count(run.course.unmoved.get(name, 0)) for run in every))
        for name in sorted({name for run in every for name in run.course.unmoved})
    ]
    methods = [{} if run.summary is None else run.summary.decisions_by_method for run in every]
    rows += [
        (f"found by {_METHOD_WORDS.get(name, name)}", *(count(each.get(name, 0)) for each in methods))
        for name in sorted({name for each in methods for name in each})
    ]
    table = Table(("decided by", *(run.name for run in every)), rows)
    return Chart("Who decided", rows_picture(bars, "% of transitions"), reading, table)


def _latency(groups: Sequence[RunGroup]) -> Chart:
    """Return the share of answers that took longer than a time."""
    drawn = figure()
    axes = drawn.subplots()
    rows, widest = [], 1.0
    for place, group in enumerate(groups):
        found = [latency for run in group.runs if run.oracle for latency in run.oracle.latencies_s]
        if not found:
            continue
        ordered = np.sort(np.maximum(found, 1e-4))
        widest = max(widest, float(ordered[-1] / ordered[0]))
        above = 100.0 * (1.0 - np.arange(len(ordered)) / len(ordered))
        kept = np.unique(np.linspace(0, len(ordered) - 1, 300).astype(int))
        dashes = GROUP_DASHES[place % len(GROUP_DASHES)]
        axes.step(ordered[kept], above[kept], where="post", color=color_of(place), linestyle=dashes)
        marks = [float(np.quantile(ordered, part)) for part in (0.5, 0.95, 0.99)]
        rows.append((group.label or "all answers", count(len(ordered)), *(f"{mark:.3f}" for mark in marks)))
    axes.set_ylim(0, 102)
    if widest > WIDE:
        axes.set_xscale("log")
        log_numbers(axes.xaxis)
    else:
        axes.set_xlim(left=0)
        plain_numbers(axes.xaxis)
    plain_numbers(axes.yaxis)
    label(axes, "seconds from question to answer", "% of answers that took longer", grid="both")
    reading = (
        f"Half of {rows[0][1]} answers took longer than {rows[0][2]} s, one in twenty longer than {rows[0][3]} s."
        " The time in the queue counts."
    )
    table = Table(("answers of", "answers", "p50, s", "p95, s", "p99, s"), rows)
    return Chart("How long answers took", drawn, reading, table, key=group_key(groups))


def _outcomes(groups: Sequence[RunGroup]) -> Chart:
    """Return calls by outcome, with tokens and cost."""
    bars, rows = [], []
    for group in groups:
        found: dict[str, tuple[int, int, float]] = {}
        for run in group.runs:
            for spent in run.oracle.spent if run.oracle else ():
                calls, tokens, seconds = found.get(spent.outcome, (0, 0, 0.0))
                found[spent.outcome] = (calls + spent.calls, tokens + spent.tokens, seconds + spent.latency_s)
        for name, (calls, tokens, seconds) in sorted(found.items(), key=lambda item: -item[1][0]):
            words = f"{'answered' if name == 'ok' else name.replace('_', ' ')}{_of(group)}"
            bars.append(Row(f"{words}: {count(calls)}", bar=calls))
            rows.append((words, count(calls), count(tokens), f"{seconds:,.1f}"))
    costs = [
        f"{run.name} {usd(run.summary.llm.cost_usd)}"
        for group in groups
        for run in group.runs
        if run.summary is not None and run.summary.llm is not None and run.summary.llm.cost_usd is not None
    ]
    reading = f"Cost: {listed(costs)}." if costs else "No prices are set in llm.prices, so the cost is not known."
    table = Table(("outcome", "calls", "tokens", "s"), rows)
    return Chart("What became of calls to the model", rows_picture(bars, "calls"), reading, table)


def fallback_table(runs: Sequence[RunRecord]) -> Table | None:
    """Return the choices made without the oracle by reason; None if there are none."""
    names = sorted({name for run in runs for name in _fallbacks(run)})
    if not names:
        return None
    rows = [(name.replace("_", " "), *(count(_fallbacks(run).get(name, 0)) for run in runs)) for name in names]
    return Table(("choices without the oracle, by reason", *(run.name for run in runs)), rows)


def _fallbacks(run: RunRecord) -> Mapping[str, int]:
    return run.summary.fallbacks_by_reason if run.summary is not None else run.course.fallbacks


def _shadow(groups: Sequence[RunGroup]) -> list[Chart]:
    """Return the distances of the oracle from rules that `prism shadow` has found, with 95% intervals."""
    bars, rows, asked = [], [], ""
    for group in groups:
        for each in () if group.first.shadow is None else group.first.shadow.divergence:
            for against, distance in each.against.items() if each.questions else ():
                asked = asked or ("" if group.first.shadow is None else group.first.shadow.oracle)
                words = f"{each.trigger} ({each.state}){_of(group)}"
                color = VERMILION if against == EMBEDDED else BLUE
                bars.append(Row(f"{words} from {_AGAINST[against]}", distance.bits, distance.low, distance.high, color))
                bits = (f"{value:.4f}" for value in (distance.bits, distance.low, distance.high))
                rows.append((words, _AGAINST[against], *bits, count(each.questions)))
    if not rows:
        return []
    reading = f"0 bits are the same choices, 1 bit has none in common. `prism shadow` has asked: {asked}."
    table = Table(("trigger", "distance from", "bits", "95% from", "to", "questions"), rows, frozenset({0, 1}))
    title = "How far the oracle is from rules, on turns that they settled"
    return [Chart(title, rows_picture(bars, "bits"), reading, table)]


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

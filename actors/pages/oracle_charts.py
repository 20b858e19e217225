"""Charts of decisions: who made them, the time and cost of a model, and the distance from rules by `prism shadow`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
from matplotlib.figure import Figure

from actors.display.words import usd
from actors.pages.card import Chart, Table
from actors.pages.picture import LINE, SMALL, TEXT, figure, label, log_numbers, plain_numbers, words_at, wrapped
from actors.pages.series import GROUP_DASHES, color_of, group_key
from actors.pages.words import count, listed, plural, share
from actors.pages.words import figure as digits
from actors.results.run_record import RunGroup, RunRecord
from prism.agents import DECIDED
from prism.divergence import EMBEDDED, RULE, Distance
from prism.palette import BLUE, SOURCES, VERMILION
from prism.social.realised import unlike_configured

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
    """Return the charts of decisions by source and method."""
    runs = [group.first for group in groups]
    if not any(run.course.sources for run in runs):
        return []
    charts = [_sources(groups)]
    methods = {group.label: group.first.summary.decisions_by_method for group in groups if group.first.summary}
    if any(methods.values()):
        charts.append(_methods(methods))
    return charts


def _sources(groups: Sequence[RunGroup]) -> Chart:
    names = [name for name in SOURCES if any(group.first.course.sources.get(name) for group in groups)]
    names.sort(key=lambda name: -groups[0].first.course.sources.get(name, 0))
    shares = {
        name: [
            100 * fmean(run.course.sources.get(name, 0) / max(1, run.course.sources.total()) for run in group.runs)
            for group in groups
        ]
        for name in names
    }
    colors = [SOURCES[name] for name in names] if len(groups) == 1 else None
    words = [_SOURCE_WORDS[name] for name in names]
    drawn = _bars(words, list(shares.values()), "% of transitions", colors)
    run = groups[0].first
    total, decided = run.course.sources.total(), sum(run.course.sources.get(name, 0) for name in DECIDED)
    reading = (
        f"{share(run.course.sources.get('rule', 0), total)} of {count(total)} "
        f"transitions follow from a rule; {plural(decided, 'choice')} were put to the oracle"
        f"{f' ({groups[0].label})' if groups[0].label else ''}."
    )
    every = [run for group in groups for run in group.runs]
    rows = [(_SOURCE_WORDS[name], *(count(run.course.sources.get(name, 0)) for run in every)) for name in names]
    rows += [
        (f"no transition: {name}", *(count(run.course.unmoved.get(name, 0)) for run in every))
        for name in sorted({name for run in every for name in run.course.unmoved})
    ]
    return Chart(
        "Who decided",
        drawn,
        reading,
        Table(("decided by", *(run.name for run in every)), rows),
        key=group_key(groups, has_lines=False),
    )


def _methods(methods: Mapping[str, Mapping[str, int]]) -> Chart:
    names = sorted({name for each in methods.values() for name in each})
    words = [_METHOD_WORDS.get(name, name) for name in names]
    table = [[float(each.get(name, 0)) for each in methods.values()] for name in names]
    first = next(iter(methods.values()))
    most = max(first, key=lambda name: first[name], default="")
    reading = f"How the oracle found its choices; most often by {_METHOD_WORDS.get(most, most) or 'none'}."
    rows = [(word, *(count(value) for value in values)) for word, values in zip(words, table, strict=True)]
    columns = ("found by", *(label_ or "decisions" for label_ in methods))
    return Chart(
        "How the oracle found its choices", _bars(words, table, "decisions", None), reading, Table(columns, rows)
    )


def _bars(names: Sequence[str], table: Sequence[Sequence[float]], unit: str, colors: Sequence[str] | None) -> Figure:
    """Return horizontal bars: for each name one for each group, with its number at its end."""
    groups = len(table[0])
    drawn = figure(height=44 + len(names) * (22 + 14 * groups))
    axes = drawn.subplots()
    height = 0.62 / groups
    most = max(max(row) for row in table) or 1.0
    for row, (name, values) in enumerate(zip(names, table, strict=True)):
        axes.text(0, row - 0.42, name, color=TEXT, fontsize=SMALL, va="center")
        for place, value in enumerate(values):
            y = row + 0.08 + (place - (groups - 1) / 2) * height
            shade = colors[row] if colors else color_of(place)
            axes.barh(y, value, height * 0.86, color=shade, edgecolor=LINE, linewidth=0.5)
            axes.text(
                value + most * 0.015, y, f"{value:,.1f}" if value % 1 else count(value), va="center", fontsize=SMALL
            )
    axes.set_xlim(0, most * 1.16)
    axes.set_ylim(len(names) - 0.4, -0.75)
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    plain_numbers(axes.xaxis, ticks=4)
    label(axes, unit, grid="x")
    return drawn


def model_charts(groups: Sequence[RunGroup]) -> list[Chart]:
    """Return the charts of calls to a model: latency, outcomes and cost; no charts if no model was asked."""
    asked = [group for group in groups if any(run.oracle is not None for run in group.runs)]
    if not asked:
        return []
    charts = [_outcomes(asked)]
    if any(run.oracle is not None and run.oracle.latencies_s for group in asked for run in group.runs):
        charts.insert(0, _latency(asked))
    return charts


def _latency(groups: Sequence[RunGroup]) -> Chart:
    """Return the share of answers that took longer than a time."""
    drawn = figure()
    axes = drawn.subplots()
    rows, spread = [], 1.0
    for place, group in enumerate(groups):
        found = [latency for run in group.runs if run.oracle for latency in run.oracle.latencies_s]
        if not found:
            continue
        ordered = np.sort(np.maximum(found, 1e-4))
        spread = max(spread, float(ordered[-1] / ordered[0]))
        above = 100.0 * (1.0 - np.arange(len(ordered)) / len(ordered))
        kept = np.unique(np.linspace(0, len(ordered) - 1, 300).astype(int))
        axes.step(
            ordered[kept],
            above[kept],
            where="post",
            color=color_of(place),
            linestyle=GROUP_DASHES[place % len(GROUP_DASHES)],
        )
        marks = [float(np.quantile(ordered, part)) for part in (0.5, 0.95, 0.99)]
        rows.append((group.label or "all answers", count(len(ordered)), *(f"{mark:.3f}" for mark in marks)))
    axes.set_ylim(0, 102)
    if spread > WIDE:
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
    totals: list[dict[str, tuple[int, int, float]]] = []
    for group in groups:
        found: dict[str, tuple[int, int, float]] = {}
        for run in group.runs:
            for spent in run.oracle.spent if run.oracle else ():
                calls, tokens, seconds = found.get(spent.outcome, (0, 0, 0.0))
                found[spent.outcome] = (calls + spent.calls, tokens + spent.tokens, seconds + spent.latency_s)
        totals.append(found)
    names = sorted({name for found in totals for name in found}, key=lambda name: -totals[0].get(name, (0,))[0])
    words = ["answered" if name == "ok" else name.replace("_", " ") for name in names]
    drawn = _bars(words, [[float(found.get(name, (0,))[0]) for found in totals] for name in names], "calls", None)
    calls = sum(each[0] for each in totals[0].values())
    answered = totals[0].get("ok", (0, 0, 0.0))[0]
    reading = f"{share(answered, calls)} of {plural(calls, 'call')} to the model were answered. {_costs(groups)}"
    rows = [
        (word, *(text for found in totals for text in _cells(found.get(name, (0, 0, 0.0)))))
        for name, word in zip(names, words, strict=True)
    ]
    columns = [
        f"{name}{f', {group.label}' if group.label else ''}" for group in groups for name in ("calls", "tokens", "s")
    ]
    return Chart(
        "What became of calls to the model",
        drawn,
        reading,
        Table(("outcome", *columns), rows),
        key=group_key(groups, has_lines=False),
    )


def _cells(found: tuple[int, int, float]) -> tuple[str, str, str]:
    return count(found[0]), count(found[1]), f"{found[2]:,.1f}"


def _costs(groups: Sequence[RunGroup]) -> str:
    told = [
        f"{run.name} {usd(run.summary.llm.cost_usd)}"
        for group in groups
        for run in group.runs
        if run.summary is not None and run.summary.llm is not None and run.summary.llm.cost_usd is not None
    ]
    return f"Cost: {listed(told)}." if told else "No prices are set in llm.prices, so the cost is not known."


def fallback_table(runs: Sequence[RunRecord]) -> Table | None:
    """Return the choices made without the oracle by reason; None if there are none."""
    names = sorted({name for run in runs for name in _fallbacks(run)})
    if not names:
        return None
    rows = [(name.replace("_", " "), *(count(_fallbacks(run).get(name, 0)) for run in runs)) for name in names]
    return Table(("choices without the oracle, by reason", *(run.name for run in runs)), rows)


def _fallbacks(run: RunRecord) -> Mapping[str, int]:
    return run.summary.fallbacks_by_reason if run.summary is not None else run.course.fallbacks


def shadow_charts(groups: Sequence[RunGroup]) -> list[Chart]:
    """Return the distances of the oracle from rules that `prism shadow` has found, with 95% intervals."""
    told = [
        (group.first, each)
        for group in groups
        if group.first.shadow is not None
        for each in group.first.shadow.divergence
        if each.questions
    ]
    if not told:
        return []
    lines: list[tuple[str, str, Distance, int]] = []
    for run, each in told:
        name = f"{each.trigger} ({each.state})" if len(told) > len(groups) else each.trigger
        of = f"{run.name}: " if len(groups) > 1 else ""
        lines += [(f"{of}{name}", against, distance, each.questions) for against, distance in each.against.items()]
    shown = lines[:14]
    drawn = figure(height=56 + 40 * len(shown))
    axes = drawn.subplots()
    for row, (name, against, distance, _) in enumerate(shown):
        shade, mark = (VERMILION, "D") if against == EMBEDDED else (BLUE, "o")
        words_at(axes, row - 0.24, wrapped(f"{name} from {_AGAINST[against]}"))
        axes.plot([distance.low, distance.high], [row, row], color=shade, linewidth=3, alpha=0.5)
        axes.plot([distance.bits], [row], mark, color=shade, markersize=6)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(len(shown) - 0.55, -0.8)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    plain_numbers(axes.xaxis)
    label(axes, "bits: 0 the same choices, 1 none in common", grid="x")
    name, against, distance, questions = lines[0]
    asked = "" if told[0][0].shadow is None else told[0][0].shadow.oracle
    reading = (
        f"On {plural(questions, 'question')} of {name}, the choices are {distance.bits:.3f} bits "
        f"({distance.low:.3f} to {distance.high:.3f}) from {_AGAINST[against]}. `prism shadow` has asked: {asked}."
    )
    rows = [
        (name, _AGAINST[against], f"{each.bits:.4f}", f"{each.low:.4f}", f"{each.high:.4f}", count(questions))
        for name, against, each, questions in lines
    ]
    columns = ("trigger", "distance from", "bits", "95% from", "to", "questions")
    table = Table(columns, rows, frozenset({0, 1}))
    return [Chart("How far the oracle is from rules, on turns that they settled", drawn, reading, table)]


def feed_charts(groups: Sequence[RunGroup]) -> list[Chart]:
    """Return the real feeds beside the configured ones; no charts for unfinished runs and other domains."""
    told = [
        group
        for group in groups
        if group.first.summary is not None
        and group.first.summary.world.get("feed")
        and group.first.summary.world.get("posts_shown")
    ]
    return (
        [
            _feeds(told, "length", "Posts in a feed", "posts", 1.0),
            _feeds(told, "out_of_network", "Posts from people one does not follow", "% of posts shown", 100.0),
        ]
        if told
        else []
    )


def _feeds(groups: Sequence[RunGroup], key: str, title: str, unit: str, scale: float) -> Chart:
    """Return one setting of feeds: the configured value is a ring, the real value a dot."""
    asked = "at most" if key == "length" else "configured"
    drawn = figure(height=52 + 40 * len(groups))
    axes = drawn.subplots()
    rows, most = [], 0.0
    for row, group in enumerate(groups):
        pairs = [run.summary.world["feed"][key] for run in group.runs if run.summary]
        wanted = scale * pairs[0]["configured"]
        found = sorted(scale * pair["realised"] for pair in pairs)
        middle = found[len(found) // 2]
        axes.text(
            0, row - 0.36, group.label or f"{asked} {wanted:g}, realised {digits(middle)}", fontsize=SMALL, va="center"
        )
        axes.plot([wanted, middle], [row, row], color=LINE, linewidth=1.2)
        axes.plot([wanted], [row], "o", markersize=9, markerfacecolor="none", markeredgecolor=TEXT)
        axes.plot(found, [row] * len(found), "o", markersize=5, color=color_of(row))
        most = max(most, wanted, found[-1])
        rows.append(
            (
                group.label or group.first.name,
                f"{wanted:g}",
                f"{digits(middle)}",
                f"{digits(found[0])} to {digits(found[-1])}",
            )
        )
    axes.set_xlim(-0.03 * (most or 1.0), 1.1 * (most or 1.0))
    axes.set_ylim(len(groups) - 0.55, -0.8)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    plain_numbers(axes.xaxis)
    label(axes, unit, grid="x")
    reading = f"Ring: {asked}, {rows[0][1]}. Dot: realised, {rows[0][2]}."
    if key == "out_of_network" and groups[0].first.summary is not None:
        unlike = unlike_configured(groups[0].first.summary.world)
        reading += "".join(f" {each.message.capitalize()}." for each in unlike if each.place.endswith(key))
    return Chart(title, drawn, reading, Table((unit, asked, "realised", "range of the seeds"), rows))

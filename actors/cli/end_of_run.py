"""The summary of a run as lines and tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from actors.cli.render import line, table
from actors.core.phase import DONE, DONE_WITH_FALLBACKS
from actors.display.sparkline import blocks
from actors.display.words import amount_of, duration, usd
from actors.pages.sharing_words import interval, is_far
from actors.runs.summary import Summary
from actors.store.rounds import ROUNDS
from prism.distribution import SIZE_TOTALS
from prism.llm import OracleStatistics
from prism.sharing.summary import SharingSummary
from prism.show import Show
from prism.wording import counted

BAR_WIDTH = 24
LONGEST_GROUP = 5
TOLD = ("feed", "behaviour", "margins", "homophily", *SIZE_TOTALS)
"""The entries of a world of feeds that are shown elsewhere: in a table, the beginning or the first sentence."""
IDS = ("root_post",)
"""The entries that are ids: they are looked up elsewhere, so they have no commas."""
TOTALS_MAX = 10
"""The most totals that are shown without details."""
INTERVENTIONS_MAX = 12
"""The most interventions that are listed."""
WORTH_A_LINE = 0.005
"""The least difference of a share of an option that is shown: half a point."""


def parts_of_end(summary: Summary, directory: str, show: Show, *, details: bool = False) -> Iterator[RenderableType]:
    """Yield the end of a run: how it ended, what was not as configured, totals, the digest and the directory.

    Args:
        directory: of its files.
        show: the names that a domain shows.
        details: all that was counted, too.
    """
    if summary.in_words:
        yield line(" ".join(summary.in_words))
        yield ""
    if summary.remarks:
        yield from (line(remark, "bold yellow") for remark in summary.remarks)
        yield ""
    yield _status(summary)
    yield from _resumed(summary)
    yield ""
    numbers = {name: value for name, value in summary.world.items() if isinstance(value, int | float) and value}
    numbers = {name: value for name, value in numbers.items() if name not in TOLD}
    levels = {name: value for name, value in numbers.items() if isinstance(value, float)}
    if details:
        yield from _details(summary, directory, show, [*levels])
    else:  # first what the configuration asks to be measured
        totals = [*levels.items(), *((name, n) for name, n in numbers.items() if name not in levels)]
        yield _world(dict(totals[:TOTALS_MAX]), show)
    if summary.crashes:
        crashes = "1 crash" if summary.crashes == 1 else f"{summary.crashes:,} crashes"
        yield line(f"{crashes}, {counted(summary.agents_quarantined, 'agent')} quarantined", "bold red")
    if summary.llm is not None:
        yield from _model(summary.llm)
    yield from ("", *_end(summary, directory if details else f"{directory}; all figures: --details"))


def _status(summary: Summary) -> Text:
    """Return how the run has ended, with its size, its work and its time."""
    status = Text(DONE if summary.is_done else summary.status)
    status.stylize("bold green" if summary.status == DONE else "bold yellow")
    if summary.status == DONE_WITH_FALLBACKS:
        status.append(f", {counted(summary.fallbacks, 'fallback')}")
    length = f"{counted(summary.rounds, 'round')}, " if summary.rounds else ""
    length += counted(summary.ticks, "tick")
    if summary.stopped_by is not None:
        status.append(f" by {summary.stopped_by} after tick {summary.ticks:,}")
        length = counted(summary.rounds, "round")
    took = "" if summary.resumes else f" in {duration(summary.wall_s)}"
    work = f"\n{counted(summary.activations, 'activation')}{took}"
    return Text.assemble(status, f": {counted(summary.agents, 'agent')}, {length}{work}")


def _resumed(summary: Summary) -> Iterator[str]:
    """Yield the work and the time since the last resume; before it there were other processes."""
    if summary.resumes:
        done = counted(summary.wall_activations or 0, "activation")
        yield f"since resume {summary.resumes:,}: {done} in {duration(summary.wall_s)}"
        if summary.ticks_replayed:
            yield f"{counted(summary.ticks_replayed, 'tick')} done again"


def _details(summary: Summary, directory: str, show: Show, levels: Sequence[str]) -> Iterator[RenderableType]:
    """Yield the tables of everything that was counted."""
    counts: dict[str, Mapping[Any, int]] = {
        "agents by state": summary.agents_by_state,
        "transitions by trigger": summary.transitions_by_trigger,
        "decisions by source": summary.decisions_by_source,
        "turns without a transition": summary.unmoved_by_source,
        "fallbacks by reason": summary.fallbacks_by_reason,
    }
    if summary.llm is not None:
        counts |= {"decisions by method": summary.decisions_by_method, "model calls by outcome": summary.llm.calls}
    for title, each in counts.items():
        if total := sum(each.values()):
            shares = [
                (name, count, f"{count / total:.1%}", Text("█" * round(count / total * BAR_WIDTH), style="cyan"))
                for name, count in each.items()
                if count
            ]
            yield table(("", ">", ">", ""), shares, title)
    if summary.sharing is not None:
        yield from sharing_parts(summary.sharing)
    yield from _realised(summary.world)
    paths = read_paths(Path(directory, ROUNDS), levels)
    told = (*paths, *TOLD)
    yield _world({name: value for name, value in summary.world.items() if name not in told}, show, "world")
    if paths:
        rounds = min(map(len, paths.values()))
        marked = [each.round - 1 for each in summary.interventions if each.round <= rounds]
        yield Sparklines({show.named(name).name: path for name, path in paths.items()}, marked)
    if summary.interventions:
        rows = [
            (
                f"round {each.round:,}, tick {each.tick:,}",
                each.kind,
                each.what + ("" if each.reactions is None else f" ({counted(each.reactions, 'reaction')})"),
            )
            for each in summary.interventions[:INTERVENTIONS_MAX]
        ]
        yield table(("", "", ""), rows, "interventions")
        if (more := len(summary.interventions) - INTERVENTIONS_MAX) > 0:
            yield f" and {more:,} more, in summary.json"


def _world(world: Mapping[str, Any], show: Show, title: str | None = None) -> RenderableType:
    """Return a line for each number or group of numbers; a longer group is a distribution, which summary.json has."""
    rows = []
    for name, value in world.items():
        if isinstance(value, Mapping):
            if len(value) > LONGEST_GROUP:
                continue
            parts = ((key, f"{number}" if key in IDS else f"{number:,}") for key, number in value.items())
            rows.append((show.named(name).name, ", ".join(f"{key.replace('_', ' ')} {text}" for key, text in parts)))
        elif value:
            rows.append((show.named(name).name, f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"))
    return table(("", ""), rows, title)


def _realised(world: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield the real figures of feeds and people beside the configured ones; nothing in a domain without feeds."""
    if "behaviour" not in world:
        return
    feed, behaviour = world["feed"], world["behaviour"]
    share, length = feed["out_of_network"], feed["length"]
    rows = [
        ("out-of-network share", f"{share['realised']:.1%}", f"{share['configured']:.1%}"),
        ("posts in a feed", f"{length['realised']:.2f}", f"at most {length['configured']:g}"),
        ("engagement per post seen", f"{behaviour['engagement_per_post_seen']:.4f}", ""),
        ("actions per person and day", f"{behaviour['actions_per_person_day']:.3f}", ""),
    ]
    yield table(("", ">realised", ">configured"), rows, "feeds and people")
    stays = []
    for state, spent in behaviour["time_by_state"].items():
        stay = behaviour["dwell"].get(state, {})
        names = ("mean_minutes", "median_minutes", "p90_minutes")
        stays.append((state, f"{spent:.1%}", *(f"{stay[name]:,.1f} min" for name in names if name in stay)))
    yield table(("", ">share", ">stay: mean", ">median", ">p90"), stays, "time by state")


def _model(llm: OracleStatistics) -> Iterator[str]:
    """Yield what a model has read and written, what that cost, and how long it took."""
    wasted = f", {llm.wasted_tokens:,} wasted" if llm.wasted_tokens else ""
    yield f"  tokens: {llm.prompt_tokens:,} in, {llm.completion_tokens:,} out{wasted}"
    if llm.cost_usd is not None:
        of_it = f", {usd(llm.wasted_usd)} of it for calls without a usable answer" if llm.wasted_usd else ""
        yield f"  cost: {usd(llm.cost_usd)}{of_it}"
    yield f"  latency: p50 {llm.latency_s_p50:.3f} s, p95 {llm.latency_s_p95:.3f} s, p99 {llm.latency_s_p99:.3f} s"


def _end(summary: Summary, directory: str) -> Iterator[str]:
    """Yield the last lines: questions and calls, shards, the digest, and the place of the files."""
    yield f"oracle calls per 1,000 activations: {summary.oracle_calls_per_1000_activations:.1f}"
    again = ", ".join(f"{reason} {count:,}" for reason, count in summary.retries_by_reason.items())
    retries = f"{summary.oracle_retries:,} asked again ({again}), " if summary.oracle_retries else ""
    questions = f"{counted(summary.oracle_questions, 'question')}, {counted(summary.oracle_calls, 'call')}"
    yield f"{questions}, {retries}{summary.fallback_share:.1%} fallbacks"
    if (found := summary.shards) is not None:
        worked, received, sent = sorted(found.busy_s.values()), amount_of(found.received), amount_of(found.sent)
        yield f"{len(worked):,} shards worked {worked[0]:,.1f} to {worked[-1]:,.1f} s each"
        yield f"the engine waited {found.waited_s:,.1f} s for the others, received {received} and sent {sent}"
    yield f"digest {summary.digest}"
    yield f"files in {directory}"


def sharing_parts(sharing: SharingSummary) -> Iterator[RenderableType]:
    """Yield the counts of shared judgements, and their audited error."""
    rows = [
        ("asked for all", sharing.asked_for_all, counted(sharing.archetypes, "archetype")),
        ("shared", sharing.shared, f"{sharing.questions_per_call:,.1f} questions a call"),
        ("audited", sharing.audited, "asked by themselves as well"),
    ]
    if sharing.calls > sharing.asked_for_all + sharing.audited:
        rows.append(("model calls", sharing.calls, "a judgement is counted from several answers"))
    yield table(("", ">", ""), rows, "shared judgements")
    if sharing.divergence is None:
        yield "  no audits: the error of sharing is not known (oracle.sharing.audit)"
        return
    yield f"  divergence from individual judgements: {interval(sharing.divergence, 4, 'too few audits')} bits"
    if is_far(sharing):
        yield "  that is far: the model judges by more than the fields of archetypes (docs/language-models.md)"
    for shares in sharing.shares:
        for option, right in shares.corrected.items():
            shared = shares.shared[option]
            is_outside = right.low is not None and right.high is not None and not right.low <= shared <= right.high
            if is_outside and abs(shared - right.mean) >= WORTH_A_LINE:
                yield f"  {shares.trigger} {option}: {shared:.3f} shared, {interval(right, 3)} individually"


OTHER_COLUMNS = 60
"""Columns of the terminal beside the blocks."""
WIDTHS = (10, 60)
"""The fewest and the most blocks in a line; with more rounds, each block is the mean of several."""


def read_paths(series: Path, names: Iterable[str]) -> dict[str, list[float]]:
    """Return `{column: its numbers by row}` of the columns that the file has; nothing if there is no file."""
    if not series.is_file():
        return {}
    try:
        with series.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return {name: [float(row[name]) for row in rows] for name in names if rows and name in rows[0]}
    except (OSError, TypeError, ValueError, csv.Error):  # a damaged row; the rest of the summary is shown all the same
        return {}


class Sparklines:
    """A table of numbers: the first, the last, the lowest and the highest value of each, and its sparkline.

    Args:
        paths: `{name: its numbers}`, each at least one.
        marked: the places in them, from 0 on, at which an intervention happened: they are marked below the lines.
    """

    def __init__(self, paths: Mapping[str, Sequence[float]], marked: Sequence[int] = ()) -> None:
        self._paths = paths
        self._marked = marked

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, at most as wide as the terminal."""
        least, most = WIDTHS
        width = min(max(options.max_width - OTHER_COLUMNS, least), most)
        rows: list[Sequence[str | Text]] = []
        for name, values in self._paths.items():
            first, *others = (
                f"{number:,.2f}" if abs(number) < 1000 else f"{number:,.0f}"
                for number in (values[0], values[-1], min(values), max(values))
            )
            rows.append((name, first, Text(blocks(values, width)), *others))
        if self._marked:
            count = min(width, length := max(map(len, self._paths.values())))
            marked = {next(at for at in range(count) if place < (at + 1) * length // count) for place in self._marked}
            sign = "^" if options.ascii_only else "▲"
            rows.append(("interventions", "", Text("".join(sign if at in marked else " " for at in range(count)))))
        yield table(("", ">first", "", ">last", ">lowest", ">highest"), rows, "path over the rounds")

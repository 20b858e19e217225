"""The summary of a run as text for the terminal, within 80 columns, with sparklines of its rounds."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from actors.cli.sharing_table import sharing_table
from actors.core.phase import DONE, DONE_WITH_FALLBACKS
from actors.display.sparkline import blocks
from actors.display.words import amount_of, duration, usd
from actors.record.rounds import ROUNDS
from actors.runs.interventions import DoneIntervention
from actors.runs.summary import Summary
from prism.distribution import SIZE_TOTALS
from prism.llm import OracleStatistics
from prism.quoting import printable
from prism.show import Show
from prism.wording import counted

BAR_WIDTH = 24
LONGEST_GROUP = 5
TOLD = ("feed", "behaviour", "margins", "homophily", *SIZE_TOTALS)
"""The entries of a world of feeds that the report shows elsewhere: in a table, the beginning or the first sentence."""

IDS = ("root_post",)
"""The entries that are ids: they are looked up elsewhere, so they have no commas."""
TOTALS_MAX = 10
"""The most totals that are shown without details."""
INTERVENTIONS_MAX = 12
"""The most interventions that are listed."""
STAYS = ("mean_minutes", "median_minutes", "p90_minutes")


def render(summary: Summary, directory: str, show: Show, *, details: bool = False) -> RenderableType:
    """Return the summary as text and tables, with the directory of its files and the names that a domain shows."""
    status = Text(DONE if summary.is_done else summary.status)
    status.stylize("bold green" if summary.status == DONE else "bold yellow")
    if summary.status == DONE_WITH_FALLBACKS:
        status.append(f", {counted(summary.fallbacks, 'fallback')}")
    rounds = f"{counted(summary.rounds, 'round')}, " if summary.rounds else ""
    length = f"{rounds}{counted(summary.ticks, 'tick')}"
    if summary.stopped_by is not None:
        status.append(f" by {summary.stopped_by} after tick {summary.ticks:,}")
        length = counted(summary.rounds, "round")
    told: list[RenderableType] = [Text(" ".join(summary.in_words)), Text()] if summary.in_words else []
    if lines := summary.remarks:
        told += [*(Text(printable(line), style="bold yellow") for line in lines), Text()]
    parts: list[RenderableType] = [
        *told,
        Text.assemble(status, f": {counted(summary.agents, 'agent')}, {length}"),
        Text(_work(summary)),
        Text(),
    ]
    levels = [name for name, value in summary.world.items() if isinstance(value, float) and name not in TOLD]
    paths = read_paths(Path(directory, ROUNDS), levels)
    if details:
        parts.extend(_detailed(summary, directory, show, paths))
    else:
        totals = [(name, value) for name, value in summary.world.items() if isinstance(value, int | float) and value]
        shown = dict([pair for pair in totals if pair[0] not in (*paths, *TOLD)][:TOTALS_MAX])
        parts.append(_world(shown, (), show, title=None))
    if paths:
        parts.append(Sparklines({show.named(name).name: path for name, path in paths.items()}, _marked(summary, paths)))
    if summary.crashes:
        parts.append(
            Text(f"{_crashes(summary)}, {counted(summary.agents_quarantined, 'agent')} quarantined", style="bold red")
        )
    if summary.llm is not None:
        parts.append(_model(summary.llm))
    more = "" if details else "; all figures: --details"
    parts.extend((*(_done(summary.interventions) if details else ()), Text(), _footer(summary, f"{directory}{more}")))
    return Group(*parts)


def _detailed(summary: Summary, directory: str, show: Show, paths: Collection[str]) -> list[RenderableType]:
    """Return the tables of everything that was counted."""
    parts = [
        _counts("agents by state", summary.agents_by_state),
        _counts("transitions by trigger", summary.transitions_by_trigger),
        _counts("decisions by source", summary.decisions_by_source),
    ]
    if any(summary.unmoved_by_source.values()):
        parts.append(_counts("turns without a transition", summary.unmoved_by_source))
    if summary.fallbacks_by_reason:
        parts.append(_counts("fallbacks by reason", summary.fallbacks_by_reason))
    parts.extend(_oracle_parts(summary, directory))
    parts.extend(_realised(summary.world))
    parts.append(_world(summary.world, (*paths, *TOLD), show))
    return parts


def _marked(summary: Summary, paths: Mapping[str, Sequence[float]]) -> list[int]:
    """Return the places in paths over whole rounds at which interventions happened."""
    length = min(map(len, paths.values()))
    return [each.round - 1 for each in summary.interventions if each.round <= length]


def _done(interventions: Sequence[DoneIntervention]) -> Iterator[RenderableType]:
    """Yield the first interventions, each with its time and its effect."""
    if not interventions:
        return
    table = Table(title="interventions", title_justify="left", title_style="bold", box=None, show_header=False)
    for each in interventions[:INTERVENTIONS_MAX]:
        came = "" if each.reactions is None else f" ({counted(each.reactions, 'reaction')})"
        table.add_row(f"round {each.round:,}, tick {each.tick:,}", each.kind, Text(printable(each.what) + came))
    yield table
    if (more := len(interventions) - INTERVENTIONS_MAX) > 0:
        yield Text(f" and {more:,} more, in summary.json")


def _oracle_parts(summary: Summary, directory: str) -> Iterator[RenderableType]:
    """Yield the part on shared judgements, and on the model that was asked, if one was."""
    if summary.sharing is not None:
        yield sharing_table(summary.sharing, directory)
    if summary.llm is not None:
        yield _counts("decisions by method", summary.decisions_by_method)
        yield _counts("model calls by outcome", {name: n for name, n in summary.llm.calls.items() if n})


def _work(summary: Summary) -> str:
    """Return the amount of work and its time. After a resume the time is that of the last process only."""
    took = f"in {duration(summary.wall_s)}"
    if not summary.resumes:
        return f"{counted(summary.activations, 'activation')} {took}"
    done = counted(summary.wall_activations or 0, "activation")
    again = f"\n{counted(summary.ticks_replayed, 'tick')} done again" if summary.ticks_replayed else ""
    return f"{counted(summary.activations, 'activation')}\nsince resume {summary.resumes:,}: {done} {took}{again}"


def _counts(title: str, counts: Mapping[str, int]) -> RenderableType:
    """Return a titled table of counts with their shares as bars."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 1))
    table.add_column(min_width=18)
    table.add_column(justify="right", min_width=12)
    table.add_column(justify="right", min_width=6)
    table.add_column()
    total = sum(counts.values()) or 1
    for name, count in counts.items():
        share = count / total
        table.add_row(name, f"{count:,}", f"{share:.1%}", Text("█" * round(share * BAR_WIDTH), style="cyan"))
    return table


def _world(world: Mapping[str, Any], told: Collection[str], show: Show, title: str | None = "world") -> RenderableType:
    """Return the domain's entries that are not `told` elsewhere: a line for each number or group of numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 1))
    table.add_column(min_width=18)
    for name, value in world.items():
        if name in told:
            continue
        if isinstance(value, Mapping):
            if len(value) > LONGEST_GROUP:
                continue  # a distribution, which is too long for a line; summary.json has it
            parts = ((key, f"{number}" if key in IDS else f"{number:,}") for key, number in value.items())
            shown = ", ".join(f"{key.replace('_', ' ')} {number}" for key, number in parts)
        else:
            shown = f"{value:,}"
        table.add_row(show.named(name).name, shown)
    return table


def _realised(world: Mapping[str, Any]) -> list[RenderableType]:
    """Return the real figures of feeds and people beside the configured ones; nothing in a domain without feeds."""
    if "behaviour" not in world:
        return []
    feed, behaviour = world["feed"], world["behaviour"]
    table = Table(
        title="feeds and people", title_justify="left", title_style="bold", box=None, padding=(0, 1), header_style="dim"
    )
    table.add_column(min_width=26)
    for name in ("realised", "configured"):
        table.add_column(name, justify="right", min_width=12)
    share, length = feed["out_of_network"], feed["length"]
    table.add_row("out-of-network share", f"{share['realised']:.1%}", f"{share['configured']:.1%}")
    table.add_row("posts in a feed", f"{length['realised']:.2f}", f"at most {length['configured']:g}")
    table.add_row("engagement per post seen", f"{behaviour['engagement_per_post_seen']:.4f}", "")
    table.add_row("actions per person and day", f"{behaviour['actions_per_person_day']:.3f}", "")
    states = Table(
        title="time by state", title_justify="left", title_style="bold", box=None, padding=(0, 1), header_style="dim"
    )
    states.add_column(min_width=18)
    for name in ("share", "stay: mean", "median", "p90"):
        states.add_column(name, justify="right", min_width=9)
    for state, spent in behaviour["time_by_state"].items():
        stay = behaviour["dwell"].get(state)
        lengths = [f"{stay[name]:,.1f} min" for name in STAYS] if stay else [""] * len(STAYS)
        states.add_row(state, f"{spent:.1%}", *lengths)
    return [table, states]


def _model(llm: OracleStatistics) -> Text:
    return Text(
        f"  tokens: {llm.prompt_tokens:,} in, {llm.completion_tokens:,} out{_wasted(llm.wasted_tokens)}\n"
        f"{_cost(llm)}"
        f"  latency: p50 {llm.latency_s_p50:.3f} s, p95 {llm.latency_s_p95:.3f} s, p99 {llm.latency_s_p99:.3f} s"
    )


def _wasted(tokens: int) -> str:
    return f", {tokens:,} wasted" if tokens else ""


def _cost(llm: OracleStatistics) -> str:
    if llm.cost_usd is None:
        return ""
    of_it = f", {usd(llm.wasted_usd)} of it for calls without a usable answer" if llm.wasted_usd else ""
    return f"  cost: {usd(llm.cost_usd)}{of_it}\n"


def _crashes(summary: Summary) -> str:
    return "1 crash" if summary.crashes == 1 else f"{summary.crashes:,} crashes"


def _retries(summary: Summary) -> str:
    """Return the questions that were asked again, and why; empty if there are none."""
    if not summary.oracle_retries:
        return ""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in summary.retries_by_reason.items())
    return f"{summary.oracle_retries:,} asked again ({reasons}), "


def _shards(summary: Summary) -> str:
    """Return how evenly the shards worked, and what they exchanged; empty without shards."""
    if (found := summary.shards) is None:
        return ""
    worked, received, sent = sorted(found.busy_s.values()), amount_of(found.received), amount_of(found.sent)
    return (
        f"{len(worked):,} shards worked {worked[0]:,.1f} to {worked[-1]:,.1f} s each\n"
        f"the engine waited {found.waited_s:,.1f} s for the others, received {received} and sent {sent}\n"
    )


def _footer(summary: Summary, directory: str) -> Text:
    return Text(
        f"oracle calls per 1,000 activations: {summary.oracle_calls_per_1000_activations:.1f}\n"
        f"{counted(summary.oracle_questions, 'question')}, {counted(summary.oracle_calls, 'call')}, {_retries(summary)}"
        f"{summary.fallback_share:.1%} fallbacks\n"
        f"{_shards(summary)}"
        f"digest {summary.digest}\n"
        f"files in {directory}"
    )


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
        table = Table(title="path over the rounds", title_justify="left", title_style="bold", box=None, padding=(0, 1))
        table.add_column("", min_width=18, no_wrap=True)
        for name in ("first", "", "last", "lowest", "highest"):
            table.add_column(name, justify="right" if name else "left", no_wrap=True)
        for name, values in self._paths.items():
            first, *others = map(_format, (values[0], values[-1], min(values), max(values)))
            table.add_row(name, first, blocks(values, width), *others)
        if self._marked:
            length = max(map(len, self._paths.values()))
            table.add_row("interventions", "", marks(self._marked, length, width, "^" if options.ascii_only else "▲"))
        yield table


def marks(places: Sequence[int], length: int, width: int, sign: str) -> str:
    """Return a line with a sign below each block of `blocks` that holds one of these places among `length` values."""
    count = min(width, length)
    marked = {next(at for at in range(count) if place < (at + 1) * length // count) for place in places}
    return "".join(sign if at in marked else " " for at in range(count))


def _format(number: float) -> str:
    return f"{number:,.2f}" if abs(number) < 1000 else f"{number:,.0f}"

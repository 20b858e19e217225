"""The summary of a run as lines and tables."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from rich.console import RenderableType
from rich.text import Text

from actors.cli.render import facts_of, line, table
from actors.core.phase import DONE, DONE_WITH_FALLBACKS
from actors.display.words import amount_of, duration, usd
from actors.pages.words import interval, is_far
from actors.runs.summary import Summary
from prism.distribution import SIZE_TOTALS
from prism.show import Show
from prism.wording import counted

TOLD = (
    *("in_words", "digest", "status", "stopped_by", "ticks", "rounds", "not_as_configured", "no_effect"),
    *("cascade_sizes", *SIZE_TOTALS),
)
"""The fields that are told elsewhere: above, below, or in the first sentence."""
TOTALS_MAX = 10
"""The most totals that are shown without details."""


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
    if summary.resumes:  # earlier processes have run the ticks before
        done = counted(summary.wall_activations or 0, "activation")
        yield f"since resume {summary.resumes:,}: {done} in {duration(summary.wall_s)}"
        if summary.ticks_replayed:
            yield f"{counted(summary.ticks_replayed, 'tick')} done again"
    yield ""
    if details:  # all counts, as in summary.json
        fields = msgspec.json.decode(summary.to_json())
        yield facts_of({name: value for name, value in fields.items() if value and name not in TOLD})
    else:  # the measures of the configuration first
        numbers = {
            name: n for name, n in summary.world.items() if isinstance(n, int | float) and n and name not in TOLD
        }
        ordered = sorted(numbers.items(), key=lambda each: isinstance(each[1], int))
        rows = [(show.named(name).name, f"{n:,.6g}" if isinstance(n, float) else n) for name, n in ordered[:TOTALS_MAX]]
        yield table(("", ""), rows)
    if summary.crashes:
        crashes = "1 crash" if summary.crashes == 1 else f"{summary.crashes:,} crashes"
        yield line(f"{crashes}, {counted(summary.agents_quarantined, 'agent')} quarantined", "bold red")
    if (sharing := summary.sharing) is not None:
        if sharing.divergence is None:
            yield "sharing: no audits: the error of sharing is not known (oracle.sharing.audit)"
        else:
            bits = interval(sharing.divergence, 4, "too few audits")
            yield f"sharing: divergence from individual judgements {bits} bits"
        if is_far(sharing):
            yield "that is far: the model judges by more than the fields of archetypes (docs/language-models.md)"
    if (llm := summary.llm) is not None:
        wasted = f", {llm.wasted_tokens:,} wasted" if llm.wasted_tokens else ""
        yield f"  tokens: {llm.prompt_tokens:,} in, {llm.completion_tokens:,} out{wasted}"
        if llm.cost_usd is not None:
            of_it = f", {usd(llm.wasted_usd)} of it for calls without a usable answer" if llm.wasted_usd else ""
            yield f"  cost: {usd(llm.cost_usd)}{of_it}"
        yield f"  latency: p50 {llm.latency_s_p50:.3f} s, p95 {llm.latency_s_p95:.3f} s, p99 {llm.latency_s_p99:.3f} s"
    yield ""
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
    yield f"files in {directory}{'' if details else '; all figures: --details'}"


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

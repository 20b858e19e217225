"""The judgements that a run has shared, as a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from actors.pages.sharing_words import interval, is_far
from prism.sharing.audit import FEWEST
from prism.sharing.summary import SharingSummary
from prism.wording import counted

WORTH_A_LINE = 0.005
"""The least difference of a share that is shown: half a point."""
TOO_FEW = "too few audits"
"""The text in place of an interval, where there are too few audits for one."""


def sharing_table(sharing: SharingSummary, directory: str) -> RenderableType:
    """Return the counts of shared judgements, their audited error, and the command that estimates their effect."""
    table = Table(
        title="shared judgements", title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 1)
    )
    table.add_column(min_width=18)
    table.add_column(justify="right", min_width=12)
    table.add_column(style="dim")
    for name, count, note in _rows(sharing):
        table.add_row(name, count, note)
    parts: list[RenderableType] = [table, *map(Text, _error(sharing))]
    if sharing.audited >= FEWEST:
        parts.append(Text(f"  outcomes if everybody had been asked: prism sharing {directory}"))
    return Group(*parts)


def _rows(sharing: SharingSummary) -> Iterator[tuple[str, str, str]]:
    yield "asked for all", f"{sharing.asked_for_all:,}", counted(sharing.archetypes, "archetype")
    yield "shared", f"{sharing.shared:,}", f"{sharing.questions_per_call:,.1f} questions a call"
    yield "audited", f"{sharing.audited:,}", "asked by themselves as well"
    if sharing.calls > sharing.asked_for_all + sharing.audited:
        yield "model calls", f"{sharing.calls:,}", "a judgement is counted from several answers"


def _error(sharing: SharingSummary) -> Iterator[str]:
    """Yield the error of sharing, and the options whose share differs from the right one."""
    if sharing.divergence is None:
        yield "  no audits: the error of sharing is not known (oracle.sharing.audit)"
        return
    yield f"  divergence from individual judgements: {interval(sharing.divergence, 4, TOO_FEW)} bits"
    if is_far(sharing):
        yield "  that is far: the model judges by more than the fields of archetypes (docs/language-models.md)"
    for shares in sharing.shares:
        for option, corrected in shares.corrected.items():
            shared = shares.shared[option]
            if corrected.low is None or corrected.high is None or corrected.low <= shared <= corrected.high:
                continue
            if abs(shared - corrected.mean) < WORTH_A_LINE:
                continue
            yield f"  {shares.trigger} {option}: {shared:.3f} shared, {interval(corrected, 3)} individually"

"""The outcome of a questionnaire for the terminal: what has changed in sentences, then counts and bars by question."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from actors.display.progress_bar import ProgressBar
from actors.results.ask import Asked
from prism.survey import ItemOutcome

BAR_WIDTH = 24


def outcome_view(asked: Asked) -> RenderableType:
    """Return what the answers say: changes first."""
    parts: list[RenderableType] = [Text(change.sentence) for each in asked.outcomes for change in each.changes]
    for each in asked.outcomes:
        parts += ["", *_question(asked, each)]
    missing = ", ".join(f"{reason} {count:,}" for reason, count in asked.missing.items())
    line = f"{asked.answered:,} of {asked.wanted:,} answers" + (f"; without an answer: {missing}" if missing else "")
    return Group(*parts, "", Text(line))


def _question(asked: Asked, outcome: ItemOutcome) -> Iterator[RenderableType]:
    """Yield the lines of a question: its text, counts with bars for each moment, and how often answers repeat."""
    yield Text(f"{outcome.id}: {outcome.text}", style="bold")
    for moment in asked.moments:
        mean = f", mean {outcome.means[moment]:.2f}" if moment in outcome.means else ""
        yield Text(f"{moment}: {outcome.answered[moment]:,} of {asked.people:,} people{mean}")
        if outcome.counts:
            yield _bars(outcome.counts[moment])
    if outcome.repeated is not None:
        yield Text(f"asked again, {outcome.repeated:.0%} gave the same answer")


def _bars(counts: dict[str, int]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(max_width=40)
    table.add_column(justify="right")
    most = max(1, *counts.values())
    for answer, count in counts.items():
        table.add_row(Text(f"  {answer}"), f"{count:,}", ProgressBar(count, most, width=BAR_WIDTH, has_track=False))
    return table

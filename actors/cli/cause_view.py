"""The causes of an outcome, for the terminal: what was tried in sentences, then the largest effects as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from actors.display.words import plain
from actors.studies.causes.record import Cause, Causes, Tried
from prism.experiment.intervals import Interval
from prism.quoting import printable

_PLAIN: Any = {"title_justify": "left", "title_style": "bold", "box": None, "padding": (0, 1)}
DIGITS, DIGITS_OF_INTERVALS = 5, 3
LARGE = 1000


def causes_view(found: Causes) -> RenderableType:
    """Return the outcome, what was tried, and the largest effects."""
    lines = [Text(f"{found.of}: {number(found.value)} in the run, after {found.ticks:,} ticks", style="bold")]
    lines += [Text(f"  {_tried_words(each)}") for each in found.tried]
    lines += [Text(f"  {each}") for each in _questions(found)]
    tables: list[RenderableType] = [_shares(found)] if found.groups else []
    if found.causes:
        tables.append(_table(found))
    elif found.tried:
        tables.append(Text("  nothing that was undone changes it"))
    return Group(*lines, *tables, Text(f"  {found.futures:,} other futures", style="dim"))


def _questions(found: Causes) -> Iterator[str]:
    """Yield who has answered the questions of the other futures, if a model has answered those of the run."""
    if found.kept or found.computed or found.asked or found.taped:
        head = f"questions of the other futures: {found.kept:,} kept their recorded answers"
        yield f"{head}, {found.computed:,} were never asked and have one of the embedded oracle"
    if found.asked or found.taped:
        yield f"{found.asked:,} more were asked now, and {found.taped:,} by an earlier search, of the run's model"


def _shares(found: Causes) -> Table:
    """Return the shares of groups of people as a table, with what is left when all of them are silent."""
    table = Table(title="shares of groups of people", **_PLAIN)
    table.add_column("group", overflow="fold")
    for name in ("people", "share [95%]"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found.groups:
        table.add_row(Text(printable(each.group)), f"{each.people:,}", _interval(each.share))
    table.add_row("all silent", "", number(found.without_groups or 0.0))
    return table


def _table(found: Causes) -> Table:
    """Return the largest effects as a table."""
    has_draws = any(each.other_draws is not None for each in found.causes)
    table = Table(title="what it has added", **_PLAIN)
    table.add_column("kind", no_wrap=True)
    table.add_column("what", overflow="fold")
    for name in ("tick", "effect", "without", *(["other draws [95%]"] if has_draws else [])):
        table.add_column(name, justify="right", no_wrap=name != "other draws [95%]")
    for each in found.causes:
        table.add_row(*_row(each, has_draws=has_draws))
    return table


def _row(each: Cause, *, has_draws: bool) -> list[str | Text]:
    cells: list[str | Text] = [each.kind, Text(printable(each.what))]
    cells += [f"{each.tick:,}", _signed(each.effect), number(each.value)]
    return [*cells, *([_interval(each.other_draws)] if has_draws else [])]


def _tried_words(each: Tried) -> str:
    """Return what was tried of one kind."""
    if not each.candidates:
        return f"{each.kind}: the run has none"
    if each.total is None or not each.tried:
        return f"{each.kind}: none of {each.candidates:,} tried, --budget has no room for them"
    head = f"{each.kind}: {_of(each)} tried, {each.with_effect:,} with an effect; in sum"
    if each.tried == each.candidates:
        return f"{head} {_signed(each.total)}"
    ends = "" if each.low is None or each.high is None else f" [{_short(each.low)}, {_short(each.high)}]"
    return f"{head} about {_short(each.total)}{ends}"


def _of(each: Tried) -> str:
    return f"all {each.tried:,}" if each.tried == each.candidates else f"{each.tried:,} of {each.candidates:,}"


def _interval(found: Interval | None) -> str:
    if found is None:
        return "-"
    ends = "" if found.low is None or found.high is None else f" [{_short(found.low)}, {_short(found.high)}]"
    return f"{_short(found.mean)}{ends}"


def _short(value: float) -> str:
    return _signed(value, DIGITS_OF_INTERVALS)


def _signed(value: float, digits: int = DIGITS) -> str:
    return f"{'+' if value > 0 else ''}{number(value, digits)}"


def number(value: float, digits: int = DIGITS) -> str:
    """Return a number: whole ones in full, large ones without a fraction, others with a few digits."""
    return f"{round(value):,}" if value == round(value) or abs(value) >= LARGE else plain(value, digits)

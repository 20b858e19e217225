"""The causes of an outcome, for the terminal: what was tried in sentences, then the largest effects as a table."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from actors.studies.causes.record import Cause, Causes
from actors.studies.causes.words import answered_words, interval, number, signed, tried_words
from prism.quoting import printable

_PLAIN: Any = {"title_justify": "left", "title_style": "bold", "box": None, "padding": (0, 1)}


def causes_view(found: Causes) -> RenderableType:
    """Return the outcome, what was tried, and the largest effects."""
    lines = [Text(f"{found.of}: {number(found.value)} in the run, after {found.ticks:,} ticks", style="bold")]
    lines += [Text(f"  {tried_words(each, found.value)}") for each in found.tried]
    lines += [Text(f"  {each}") for each in answered_words(found)]
    tables: list[RenderableType] = [_shares(found)] if found.groups else []
    if found.causes:
        tables.append(_table(found))
    elif found.tried:
        tables.append(Text("  nothing that was undone changes it"))
    return Group(*lines, *tables, Text(f"  {found.futures:,} other futures", style="dim"))


def _shares(found: Causes) -> Table:
    """Return the shares of groups of people as a table, with what is left when all of them are silent."""
    table = Table(title=f"shares by {printable(found.attribute)}", **_PLAIN)
    table.add_column("group", overflow="fold")
    for name in ("people", "share [95%]"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found.groups:
        table.add_row(Text(printable(each.group)), f"{each.people:,}", interval(each.share))
    table.add_row("all silent", "", number(found.without_groups or 0.0))
    return table


def _table(found: Causes) -> Table:
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
    cells += [f"{each.tick:,}", signed(each.effect), number(each.value)]
    return [*cells, *([interval(each.other_draws)] if has_draws else [])]

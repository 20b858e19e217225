"""`prism runs`: the runs there are, and how they stand."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from actors.core.errors import RunDirectoryError
from actors.runs.listing import ListedRun, runs_in

WIDEST = 10_000
"""Columns that a table may take where nobody reads it on a terminal."""


@click.command()
@click.argument("root", metavar="[DIR]", default="runs", type=click.Path(path_type=Path, file_okay=False))
def runs(root: Path) -> None:
    """List the runs in DIR (default: runs), or the one run that DIR is.

    \b
    running   a process is at work in it
    done      it has all its ticks
    stopped   it ended early with a checkpoint; `prism resume` goes on
    crashed   it ended otherwise; `prism resume` goes on
    damaged   its journal or configuration cannot be read; `prism verify` says why
    """
    try:
        lines = runs_in(root)
    except OSError as error:
        raise RunDirectoryError(f"{root}: cannot be listed: {error.strerror}") from None
    if not lines:
        click.echo(f"{root}: no runs")
        return
    table = _table(lines)
    console = Console(markup=False, emoji=False)  # a directory may be called [red]
    width = console.measure(table, options=console.options.update(max_width=WIDEST)).maximum
    if console.is_terminal and width > console.width:
        click.echo("\n".join(map(_block, lines)))
    else:
        Console(width=width, markup=False, emoji=False).print(table)


def _table(lines: list[ListedRun]) -> Table:
    """A row for each run; nothing in it is shortened."""
    table = Table(box=None, pad_edge=False)
    for title in ("run", "state", "resumable", "ticks", "of", "agents", "digest", "note"):
        table.add_column(title, justify="right" if title in {"ticks", "of", "agents"} else "left", no_wrap=True)
    for line in lines:
        table.add_row(
            str(line.path),
            line.status.value,
            "yes" if line.is_resumable else "no",
            f"{line.ticks:,}",
            f"{line.length:,}",
            f"{line.agents:,}",
            line.digest,
            _note(line),
        )
    return table


def _block(line: ListedRun) -> str:
    """The same of one run, where a row would not fit."""
    rows = [
        str(line.path),
        f"  {line.status.value}, {'resumable' if line.is_resumable else 'not resumable'}",
        f"  {line.ticks:,} of {line.length:,} ticks, {line.agents:,} agents",
        f"  digest {line.digest}" if line.digest else "",
        f"  {_note(line)}" if _note(line) else "",
    ]
    return "\n".join(filter(None, rows))


def _note(line: ListedRun) -> str:
    """Who is at work in it, and where it comes from."""
    notes = [line.holder, f"fork of {line.parent}" if line.parent else None]
    return ", ".join(filter(None, notes))

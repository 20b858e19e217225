"""`prism runs`: lists runs with their status."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from actors.cli.question import show_question
from actors.core.errors import RunDirectoryError
from actors.runs.listing import ListedRun, run_paths, runs_in

WIDEST = 10_000
"""Columns that a table may have if it is not shown on a terminal."""


@click.command()
@click.argument("root", metavar="[DIR]", default="runs", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--question",
    metavar="ID",
    help="Show the question with this id, or the header X-Request-Id that a server got, instead of the list.",
)
def runs(root: Path, question: str | None) -> None:
    """List the runs in DIR (default: runs), or the one run that DIR is; or show a question that one of them asked.

    \b
    running   a process works on it
    done      it has all its ticks
    stopped   it ended early on purpose, as the note says; `prism resume` continues it
    crashed   it ended otherwise; `prism resume` continues it
    damaged   its journal or configuration cannot be read; `prism verify` shows why
    """
    try:
        if question is not None:
            show_question(question, root, run_paths(root))
            return
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
    """Return a table with a row for each run; no cell is shortened."""
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
    """Return one run as lines, for a terminal that is too narrow for a row."""
    rows = [
        str(line.path),
        f"  {line.status.value}, {'resumable' if line.is_resumable else 'not resumable'}",
        f"  {line.ticks:,} of {line.length:,} ticks, {line.agents:,} agents",
        f"  digest {line.digest}" if line.digest else "",
        f"  {_note(line)}" if _note(line) else "",
    ]
    return "\n".join(filter(None, rows))


def _note(line: ListedRun) -> str:
    """Return the process that works on a run, what stopped it, its fallbacks, and the run that it branched off."""
    notes = [
        line.holder,
        f"by {line.stopped_by}" if line.stopped_by else None,
        f"{line.fallbacks:,} fallbacks" if line.fallbacks else None,
        f"{'repair' if line.is_repair else 'fork'} of {line.parent}" if line.parent else None,
    ]
    return ", ".join(filter(None, notes))

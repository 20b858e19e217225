"""`prism runs`: the runs there are, and how they stand."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from actors.errors import RunDirectoryError
from actors.run_list import RunLine, runs_in


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
    Console().print(_table(lines))


def _table(lines: list[RunLine]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("run", "state", "resumable", "ticks", "of", "agents", "digest", "note"):
        table.add_column(title, justify="right" if title in {"ticks", "of", "agents"} else "left", no_wrap=True)
    for line in lines:
        note = line.holder or (f"fork of {line.parent}" if line.parent else "")
        table.add_row(
            str(line.path),
            line.standing.value,
            "yes" if line.is_resumable else "no",
            f"{line.ticks:,}",
            f"{line.length:,}",
            f"{line.agents:,}",
            line.digest,
            note,
        )
    return table

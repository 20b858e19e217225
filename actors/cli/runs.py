"""`prism runs`: lists runs with their status."""

from __future__ import annotations

import time
from pathlib import Path

import click
from rich.table import Table

from actors.cli.options import Directory
from actors.cli.question import show_question
from actors.core.errors import RunDirectoryError
from actors.core.phase import Phase
from actors.display.console import SafeConsole, echo
from actors.display.words import duration
from actors.record.listing import ListedRun, RunStatus, backtest_paths, run_paths, runs_in
from actors.record.phase_file import PhaseNote
from prism.quoting import printable
from prism.wording import counted

WIDEST = 10_000
"""Columns that a table may have if it is not shown on a terminal."""
RESUMABLE = {"yes": "resumable", "no": "not resumable", "--ticks": "can be made longer with resume --ticks N"}
"""The column `resumable` in words."""


@click.command()
@click.argument("root", metavar="[DIR]", default="runs", type=Directory())
@click.option(
    "--question",
    metavar="ID",
    help="Show the question with this id, or the header X-Request-Id that a server got, instead of the list.",
)
def runs(root: Path, question: str | None) -> None:
    """List the runs in a directory, with their state.

    DIR (default: runs) may also be a single run. With --question it shows a question that one of the runs asked.

    If a process works on a run, its state is its phase: starting, recovering, running, waiting_for_oracle,
    waiting_for_disk, stopping or ended; the note says since when, and why it waits. If no process works on it:

    \b
    done      it has all its ticks; `prism resume --ticks` makes it longer
    stopped   it ended early on purpose, as the note says; `prism resume` continues it
    crashed   it ended otherwise; `prism resume` continues it
    damaged   its journal or configuration cannot be read; `prism verify` shows why
    """
    try:
        if question is not None:
            show_question(question, root, run_paths(root))
            return
        lines, backtests = runs_in(root), backtest_paths(root)
    except OSError as error:
        raise RunDirectoryError(f"{root}: cannot be listed: {error.strerror}") from None
    for path in backtests:
        echo(f"{printable(str(path))}: a backtest, not a run; its scores are in scores.csv")
    if not lines:
        if not backtests:
            echo(f"{root}: no runs")
        return
    table = _table(lines)
    console = SafeConsole()
    width = console.measure(table, options=console.options.update(max_width=WIDEST)).maximum
    if console.is_terminal and width > console.width:
        echo("\n".join(map(_block, lines)))
    else:
        SafeConsole(width=width).print(table)


def _table(lines: list[ListedRun]) -> Table:
    """Return a table with a row for each run; no cell is shortened."""
    table = Table(box=None, pad_edge=False)
    for title in ("run", "state", "resumable", "ticks", "of", "agents", "digest", "note"):
        table.add_column(title, justify="right" if title in {"ticks", "of", "agents"} else "left", no_wrap=True)
    for line in lines:
        table.add_row(
            printable(str(line.path)),
            _state(line),
            _resumable(line),
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
        f"  {_state(line)}, {RESUMABLE[_resumable(line)]}",
        f"  {line.ticks:,} of {counted(line.length, 'tick')}, {counted(line.agents, 'agent')}",
        f"  digest {line.digest}" if line.digest else "",
        f"  {_note(line)}" if _note(line) else "",
    ]
    return "\n".join(filter(None, rows))


def _state(line: ListedRun) -> str:
    """Return the phase of a run that a process works on, and the status of any other."""
    if line.status is not RunStatus.RUNNING:
        return line.status.value
    return Phase.STARTING.value if line.phase is None else line.phase.phase.value


def _resumable(line: ListedRun) -> str:
    """Return whether `prism resume` continues a run; a run that is done needs more ticks for that."""
    if line.status is RunStatus.DONE:
        return "--ticks"
    return "yes" if line.is_resumable else "no"


def _since(phase: PhaseNote) -> str:
    """Return the time for which a phase has lasted, and the reason for it."""
    return f"for {duration(max(0.0, time.time() - phase.since))}{f' ({phase.reason})' if phase.reason else ''}"


def _note(line: ListedRun) -> str:
    """Return the notes: how long the phase has lasted, whose process it is, what stopped the run, where it is from."""
    notes = [
        None if line.phase is None else _since(line.phase),
        line.holder,
        f"by {line.stopped_by}" if line.stopped_by else None,
        counted(line.fallbacks, "fallback") if line.fallbacks else None,
        f"{'repair' if line.is_repair else 'fork'} of {line.parent}" if line.parent else None,
    ]
    return ", ".join(filter(None, notes))

"""`prism runs`: lists runs with their status."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from actors.cli.command import command
from actors.cli.options import Directory
from actors.cli.render import show, table
from actors.core.errors import RunDirectoryError
from actors.core.phase import Phase
from actors.display.words import duration
from actors.store.listing import ListedRun, RunStatus, runs_in
from actors.store.phase_file import PhaseNote
from prism.quoting import printable
from prism.wording import counted


@command()
@click.argument("root", metavar="[DIR]", default="runs", type=Directory("directory"))
def runs(root: Path) -> None:
    """List the runs in a directory, the newest first, with their state.

    DIR (default: runs) may also be a single run. `watch prism runs` shows the list again and again, and `prism view`
    follows runs on a page.

    If a process works on a run, its state is its phase: starting, recovering, running, waiting_for_oracle,
    waiting_for_disk, stopping or ended; the note says since when, and why it waits. If no process works on it:

    \b
    done      it has all its ticks; `prism resume --ticks` makes it longer
    stopped   it ended early on purpose, as the note says; `prism resume` continues it
    crashed   it ended otherwise; `prism resume` continues it
    damaged   its journal or configuration cannot be read; `prism verify` shows why
    """
    try:
        lines = runs_in(root)
    except OSError as error:
        raise RunDirectoryError(f"{root}: cannot be listed: {error.strerror}") from None
    found = [_record(line) for line in lines]
    columns = ("run", "domain", "state", "resumable", ">ticks", ">of", ">agents", "digest", "note")
    rows = (tuple(each.values()) for each in found)
    show(found, lambda: [table(columns, rows) if found else f"{root}: no runs"])


def _record(line: ListedRun) -> dict[str, Any]:
    """Return what is shown of a run."""
    return {
        "path": str(line.path),
        "domain": line.domain,
        "state": _state(line),
        "resumable": _resumable(line),
        "ticks": line.ticks,
        "length": line.length,
        "agents": line.agents,
        "digest": line.digest,
        "note": _note(line),
    }


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
    """Return the notes: on phase and process, what stopped the run, its parent, and what is unlike its settings."""
    notes = [
        None if line.phase is None else _since(line.phase),
        line.holder,
        f"by {line.stopped_by}" if line.stopped_by else None,
        counted(line.fallbacks, "fallback") if line.fallbacks else None,
        f"fork of {line.parent}" if line.parent else None,
        *map(printable, line.remarks),
    ]
    return ", ".join(filter(None, notes))

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
from actors.store.run import ListedRun, RunStatus, runs_in
from prism.quoting import printable
from prism.wording import counted


@command()
@click.argument("root", metavar="[DIR]", default="runs", type=Directory("directory"))
def runs(root: Path) -> None:
    """List the runs in a directory, the newest first, with their state.

    DIR (default: runs) may also be a single run. If a process works on a run, its state is its phase, and the note says
    since when, and why it waits. If no process works on it:

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
    state, since = line.status.value, ""
    if line.status is RunStatus.RUNNING:  # then it is the phase of the process that works on it
        state = Phase.STARTING.value if line.phase is None else line.phase.phase.value
    if line.phase is not None:
        why = f" ({line.phase.reason})" if line.phase.reason else ""
        since = f"for {duration(max(0.0, time.time() - line.phase.since))}{why}"
    notes = [
        since,
        line.holder,
        f"by {line.stopped_by}" if line.stopped_by else "",
        counted(line.fallbacks, "fallback") if line.fallbacks else "",
        f"fork of {line.parent}" if line.parent else "",
        *map(printable, line.remarks),
    ]
    return {
        "path": str(line.path),
        "domain": line.domain,
        "state": state,
        "resumable": "--ticks" if line.status is RunStatus.DONE else "yes" if line.is_resumable else "no",
        "ticks": line.ticks,
        "length": line.length,
        "agents": line.agents,
        "digest": line.digest,
        "note": ", ".join(filter(None, notes)),
    }

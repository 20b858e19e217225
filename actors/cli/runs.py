"""`prism runs`: lists runs with their status."""

from __future__ import annotations

import textwrap
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from actors.cli.command import command
from actors.cli.options import Directory
from actors.cli.render import show, table
from actors.core.errors import RunDirectoryError
from actors.core.phase import WAITING, Phase
from actors.display.console import SafeConsole
from actors.display.words import duration
from actors.display.work import LINE_EVERY_S
from actors.logs.output import output, say
from actors.store.listing import ListedRun, Marks, RunStatus, list_run, marks_of, run_paths, runs_in
from actors.store.lock import holder_of
from actors.store.phase_file import PhaseNote
from prism.quoting import printable
from prism.wording import counted

WIDEST = 10_000
"""Columns that a table may have if it is not shown on a terminal."""
LOOK_EVERY_S = 1.0
WINDOW_S = 10.0
"""The pace is that of this time."""
RESUMABLE = {"yes": "resumable", "no": "not resumable", "--ticks": "can be made longer with resume --ticks N"}
"""The column `resumable` in words."""


@command()
@click.argument("root", metavar="[DIR]", default="runs", type=Directory("directory"))
@click.option(
    "--follow", is_flag=True, help="Show the list again and again, until no process works on any of the runs."
)
def runs(root: Path, *, follow: bool) -> None:
    """List the runs in a directory, the newest first, with their state.

    DIR (default: runs) may also be a single run. With --follow the list is shown again each second, with the pace of
    runs that are under way; Ctrl-C ends this command, and no run.

    If a process works on a run, its state is its phase: starting, recovering, running, waiting_for_oracle,
    waiting_for_disk, stopping or ended; the note says since when, and why it waits. If no process works on it:

    \b
    done      it has all its ticks; `prism resume --ticks` makes it longer
    stopped   it ended early on purpose, as the note says; `prism resume` continues it
    crashed   it ended otherwise; `prism resume` continues it
    damaged   its journal or configuration cannot be read; `prism verify` shows why
    """
    try:
        lines = _followed(root) if follow else runs_in(root)
    except OSError as error:
        raise RunDirectoryError(f"{root}: cannot be listed: {error.strerror}") from None
    except KeyboardInterrupt:
        return
    empty = [f"{root}: no runs"]
    show([_record(line) for line in lines], lambda: [_view(lines)] if lines else empty)


def _followed(root: Path) -> list[ListedRun]:
    """Show the runs again and again until all have ended, and return them as they are then."""
    console, pace = SafeConsole(), Pace()
    is_live = console.is_terminal and not console.is_dumb_terminal and not output.is_quiet
    with Live(console=console, transient=True) if is_live else nullcontext() as live:
        while True:
            lines = pace.look(root)
            under_way = [line for line in lines if line.holder is not None]
            if not under_way:
                return lines
            if live is not None:
                live.update(_view(lines, pace.words))
            else:
                for each in under_way:
                    of_it = f"{_state(each)}, {each.ticks:,} of {counted(each.length, 'tick')}"
                    say(", ".join(filter(None, (f"{each.path}: {of_it}", pace.words(each), _note(each)))))
            time.sleep(LOOK_EVERY_S if is_live else LINE_EVERY_S)


class Pace:
    """The ticks a second of runs, by the latest looks at them.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[Path, tuple[Marks, ListedRun]] = {}
        self._looks: dict[Path, deque[tuple[float, int]]] = {}
        """`{run: (time, ticks) of the latest looks, the oldest first}`."""

    def look(self, root: Path) -> list[ListedRun]:
        """Return the runs in a directory. Those whose files and process are as before are not read again."""
        found = []
        for path in run_paths(root):
            marks, before = marks_of(path), self._seen.get(path)
            if before is None or before[0] != marks or before[1].holder != holder_of(path):
                self._seen[path] = marks, list_run(path)
            run = self._seen[path][1]
            found.append(run)
            looks = self._looks.setdefault(path, deque())
            looks.append((self._clock(), run.ticks))
            while looks[-1][0] - looks[0][0] > WINDOW_S:
                looks.popleft()
        return found

    def words(self, run: ListedRun) -> str:
        """Return the pace and the time to go; empty before a second look, and while the run waits or does not run."""
        (since, before), (now, ticks) = self._looks[run.path][0], self._looks[run.path][-1]
        is_waiting = run.holder is None or (run.phase is not None and run.phase.phase in WAITING)
        if is_waiting or now <= since or ticks <= before:
            return ""
        per_s = (ticks - before) / (now - since)
        return f"{per_s:,.1f} ticks/s, {duration((run.length - ticks) / per_s)} to go"


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


def _view(lines: Sequence[ListedRun], words: Callable[[ListedRun], str] = lambda _: "") -> RenderableType:
    """Return a table with a row for each run, or some lines for each on a terminal that is too narrow for rows."""
    console = SafeConsole()
    noted = [{**_record(line), "note": ", ".join(filter(None, (words(line), _note(line))))} for line in lines]
    listed = table(
        ("run", "domain", "state", "resumable", ">ticks", ">of", ">agents", "digest", "note"),
        (tuple(each.values()) for each in noted),
    )
    width = console.measure(listed, options=console.options.update(max_width=WIDEST)).maximum
    if not console.is_terminal or width <= console.width:
        return listed
    return Text("\n".join(_block(each, console.width) for each in noted))


def _block(run: Mapping[str, Any], width: int) -> str:
    """Return one run as lines, for a terminal that is too narrow for a row. Notes are wrapped."""
    rows = [
        run["path"],
        f"  {run['state']}, {RESUMABLE[run['resumable']]}",
        f"  {run['domain']}" if run["domain"] else "",
        f"  {run['ticks']:,} of {counted(run['length'], 'tick')}, {counted(run['agents'], 'agent')}",
        f"  digest {run['digest']}" if run["digest"] else "",
        textwrap.fill(run["note"], width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False),
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

"""`prism watch`: shows runs that other processes execute, from the files in their directories."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from actors.cli.exit_codes import EXIT_FAILED
from actors.cli.options import Directory
from actors.core.errors import JournalError
from actors.core.phase import WAITING, Phase
from actors.display.console import SafeConsole, echo
from actors.display.phase import phase_line, phase_words
from actors.display.progress import LINE_EVERY_S, headline
from actors.display.sparkline import Sparkline
from actors.display.words import duration, share
from actors.store.listing import ListedRun, RunStatus, list_run, marks_of
from actors.store.lock import holder_of
from actors.store.manifest import read_manifest
from actors.store.rounds import RoundsTable, read_rounds
from prism.quoting import printable

EVERY_S = 1.0
WINDOW_S = 10.0
"""The pace is that of this time."""


@click.command()
@click.argument("paths", metavar="RUN...", nargs=-1, required=True, type=Directory())
@click.option("--once", is_flag=True, help="Print one view and end; exit code 1 if no process works on a run.")
def watch(paths: tuple[Path, ...], *, once: bool) -> None:
    """Show the progress of runs of other processes.

    RUN is the directory of a run. Everything shown comes from its files: the phase, the ticks in its journal, and the
    rounds in its rounds.csv. Ctrl-C ends this command, not the run. It ends by itself when every run has ended.
    """
    for path in paths:
        read_manifest(path)  # raises if this is no run
    runs = [WatchedRun(path) for path in paths]
    console = SafeConsole()
    try:
        if once:
            for run in runs:
                run.look()
                if run.ended:
                    echo(f"prism: {run.ended}", err=True)
                else:
                    console.print(run.view())
            if any(run.ended for run in runs):
                sys.exit(EXIT_FAILED)
        elif console.is_terminal and not console.is_dumb_terminal:
            with Live(console=console) as live:
                while not _all_ended(runs):
                    live.update(Group(*(Text(run.ended) if run.ended else run.view() for run in runs)))
                    time.sleep(EVERY_S)
                live.update(Group(*(Text(run.ended) for run in runs)))
        else:
            told = set[Path]()
            while True:
                are_over = _all_ended(runs)
                for run in runs:
                    if run.path not in told:
                        echo(run.ended or run.line())
                    if run.ended:
                        told.add(run.path)
                if are_over:
                    break
                time.sleep(LINE_EVERY_S)
    except KeyboardInterrupt:
        return


def _all_ended(runs: list[WatchedRun]) -> bool:
    """Look at each run that has not ended, and return whether all have ended."""
    for run in runs:
        if not run.ended:
            run.look()
    return all(run.ended for run in runs)


class WatchedRun:
    """A run that is looked at from time to time.

    Args:
        path: its directory.
        clock: seconds.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self.ended = ""
        """How the run has ended, in a line; empty while a process works on it."""
        self.run = ListedRun(path=path, status=RunStatus.RUNNING)
        self._clock = clock
        self._marks: object = None
        self._latest: deque[tuple[float, int]] = deque()
        """`(time, ticks)` of the latest looks, the oldest first."""

    def look(self) -> None:
        """Read the run's files, unless they are as they were, and note whether it has ended."""
        marks, working = marks_of(self.path), holder_of(self.path)
        if marks != self._marks or working != self.run.holder:
            self._marks, self.run = marks, list_run(self.path)
        if self.run.holder is None:
            self.ended = f"{printable(str(self.path))}: {self._end()}"
        self._latest.append((self._clock(), self.run.ticks))
        while self._latest[-1][0] - self._latest[0][0] > WINDOW_S:
            self._latest.popleft()

    @property
    def ticks_per_s(self) -> float:
        """The ticks a second; 0 after one look."""
        (since, before), (now, ticks) = self._latest[0], self._latest[-1]
        return (ticks - before) / (now - since) if now > since else 0.0

    def line(self) -> str:
        """Return the progress as one plain line."""
        return f"{printable(str(self.path))}: {phase_words(*self._phase())} | {', '.join(self._where())}"

    def view(self) -> RenderableType:
        """Return the phase, the ticks done, and a row for each number of its rounds."""
        run = self.run
        parts: list[RenderableType] = [
            Text.assemble((printable(str(self.path)), "bold"), " ", phase_line(*self._phase()))
        ]
        if run.length:
            parts.append(headline(run.ticks, run.length))
            parts.append(Text(", ".join(self._where()[1:]), style="dim"))
        rounds: RoundsTable = {}
        with suppress(JournalError):  # the last row may be half written
            rounds = read_rounds(self.path)
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(no_wrap=True)
        table.add_column(ratio=1, min_width=8, no_wrap=True)
        table.add_column(no_wrap=True, justify="right")
        for name, values in rounds.items():
            if name not in {"round", "tick"} and any(values):
                table.add_row(printable(name), Sparkline(_trend(values)), f"{values[-1]:,.10g}")
        return Group(*parts, table)

    def _phase(self) -> tuple[str, float | None, str]:
        note = self.run.phase
        return (
            (Phase.STARTING, None, "")
            if note is None
            else (note.phase, max(0.0, time.time() - note.since), note.reason)
        )

    def _where(self) -> list[str]:
        """Return the ticks done, the pace and the time to go, in words."""
        run, pace = self.run, self.ticks_per_s
        if not run.length:
            return ["tick 0"]
        told = [f"tick {run.ticks:,} of {run.length:,} ({share(run.ticks, run.length)})", f"{run.agents:,} agents"]
        is_waiting = run.phase is not None and run.phase.phase in WAITING
        if pace and not is_waiting:
            told += [f"{pace:,.1f} ticks/s", f"{duration((run.length - run.ticks) / pace)} to go"]
        return told

    def _end(self) -> str:
        run, again = self.run, f"; continue with: prism resume {self.path}"
        match run.status:
            case RunStatus.DAMAGED:
                return "no process works on it, and it cannot be read; `prism verify` says why"
            case RunStatus.DONE:
                return f"done{' with fallbacks' if run.fallbacks else ''} after {run.ticks:,} ticks"
            case RunStatus.STOPPED:
                return f"stopped{f' by {run.stopped_by}' if run.stopped_by else ''} after {run.ticks:,} ticks{again}"
            case _:
                return f"its process is gone, after {run.ticks:,} ticks{again}"


def _trend(values: list[float]) -> list[float]:
    """Return what each round added to a count; of a level, such as a rate of interest, its values."""
    steps = [after - before for before, after in zip([0.0, *values], values, strict=False)]
    is_count = min(steps) >= 0 and all(value.is_integer() for value in map(float, values))
    return steps if is_count else values

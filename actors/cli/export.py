"""`prism export`: writes the tables of runs, for a spreadsheet, a database or a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import click
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from actors.cli.options import Directory, PackedOrDirectory
from actors.cli.trust import TRUST
from actors.display.console import SafeConsole, echo
from actors.display.progress import LINE_EVERY_S
from actors.logs.output import say
from actors.record.manifest import read_summary
from actors.results.export import FORMATS, Exported, NoTableError, Progress, export
from actors.runs.signals import ended_by_signals
from prism.no_effect import remarks

SHOWN_AFTER_S = 0.5
"""The duration from which an export shows its progress."""


@click.command(name="export")
@click.argument("paths", metavar="RUN...", nargs=-1, required=True, type=PackedOrDirectory())
@click.option("--to", "form", type=click.Choice(FORMATS), required=True, help="Format of the files.")
@click.option(
    "--out",
    type=Directory(),
    metavar="DIR",
    help="Directory to write, which must be new.  [default: NAME-FORMAT here, where NAME is the run's, or runs-FORMAT]",
)
@click.option(
    "--tables", metavar="NAME,...", default="", help="The tables to write.  [default: all that the runs have]"
)
@click.option("--force", is_flag=True, help="Replace an export that is there.")
@TRUST
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def export_command(
    paths: tuple[Path, ...], form: str, out: Path | None, tables: str, *, force: bool, quiet: bool
) -> None:
    """Write what happened in runs as CSV, Parquet or SQLite tables.

    RUN is a run's directory. docs/tables.md lists the tables and their columns. Several runs go into one file for each
    table, with a column `run`. A run may be going on: its tables end with its last whole tick.
    """
    names = [name.strip() for name in tables.split(",") if name.strip()]
    where = out or Path(f"{paths[0].resolve().name if len(paths) == 1 else 'runs'}-{form}")
    with ended_by_signals(), _progress_shown(quiet=quiet) as on_progress:
        try:
            done = export(paths, form, where, names, on_progress, replaces=force)
        except NoTableError as error:
            raise click.BadParameter(str(error), param_hint="'--tables'") from None
    if quiet:
        return
    for note in done.notes:
        say(note)
    for path in paths:
        for line in remarks(read_summary(path)):
            say(f"{path}: {line}", level="warning")
    echo("\n".join(_lines(done)))


def _lines(done: Exported) -> list[str]:
    """Return what was written, and which tables were not."""
    reasons: dict[str, list[str]] = {}
    for table, reason in done.left_out.items():
        reasons.setdefault(reason, []).append(table)
    lines = [f"without {', '.join(tables)}: {reason}" for reason, tables in reasons.items()]
    rows = ", ".join(f"{table} {count:,}" for table, count in done.rows.items())
    files = "1 table" if len(done.rows) == 1 else f"{len(done.rows)} tables"
    return [*lines, f"{done.path}: {files}, {done.bytes:,} bytes; rows: {rows}"]


class _Shown:
    """The progress as a line."""

    def __init__(self) -> None:
        self.latest = Progress(0, 1)
        self.begun = self._told = perf_counter()

    def hear(self, progress: Progress) -> None:
        """Keep the progress for the terminal."""
        self.latest = progress

    def say(self, progress: Progress) -> None:
        """Print the progress now and then."""
        if (now := perf_counter()) - self._told >= LINE_EVERY_S:
            self._told = now
            say(f"exporting: {self._words(progress)}")

    def line(self) -> Table | str:
        """Return the line; nothing at first, because most exports are quick."""
        if perf_counter() - self.begun < SHOWN_AFTER_S:
            return ""
        line = Table.grid(padding=(0, 2))
        line.add_row(ProgressBar(max(1, self.latest.whole), self.latest.done, width=40), self._words(self.latest))
        return line

    @staticmethod
    def _words(progress: Progress) -> str:
        share = 100 * progress.done // max(1, progress.whole)
        return f"{progress.done / 1e6:,.0f} of {progress.whole / 1e6:,.0f} MB read ({share}%)"


@contextmanager
def _progress_shown(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Show the progress on standard error: a bar on a terminal, elsewhere a line every five seconds."""
    console, shown = SafeConsole(stderr=True), _Shown()
    if quiet:
        yield lambda _: None
    elif not console.is_terminal or console.is_dumb_terminal:
        yield shown.say
    else:
        with Live(get_renderable=shown.line, console=console, transient=True, refresh_per_second=4):
            yield shown.hear

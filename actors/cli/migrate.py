"""`prism migrate`: writes the journal of a run again, in sealed segments."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import click

from actors.cli.options import RUN
from actors.display.progress import LINE_EVERY_S
from actors.display.words import printable
from actors.logs.output import say
from actors.persistence.disk import RealDisk
from actors.persistence.journal import read_header
from actors.runs.directory import RunDirectory
from actors.runs.lock import locked
from actors.runs.migrate import migrate
from prism.config.model import RunConfig


@click.command(name="migrate")
@RUN
@click.option(
    "--segment-mb",
    type=click.FloatRange(0.0, 1000.0),
    default=RunConfig().segment_mb,
    show_default=True,
    help="Seal so many MB of ticks together; 0 takes all ticks out of segments.",
)
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def migrate_command(path: Path, *, segment_mb: float, quiet: bool) -> None:
    """Write the journal of the run in the directory RUN again, in compressed segments.

    For runs of earlier versions, and for runs with run.segment_mb: 0. Nothing is lost: the ticks and the digest stay
    the same, they are compared before the old journal is replaced, and a run that is killed meanwhile keeps it.
    """
    RunDirectory(path).manifest()
    read_header(RealDisk(path))  # so that nothing is created where no run is
    progress = _Progress(quiet=quiet)
    with locked(path):
        done = migrate(path, round(segment_mb * 1_000_000), progress)
    segments = "1 segment" if done.segments == 1 else f"{done.segments:,} segments"
    click.echo(
        f"{printable(str(path))}: {done.ticks:,} ticks, {segments}; {done.before / 1e6:,.2f} MB are "
        f"{done.after / 1e6:,.2f} MB now; digest {done.digest}, as before"
    )


class _Progress:
    """A line on standard error every few seconds."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._told = monotonic()

    def __call__(self, done: int, whole: int) -> None:
        if not self._quiet and monotonic() - self._told >= LINE_EVERY_S:
            self._told = monotonic()
            say(f"migrating: {done / 1e6:,.0f} of {whole / 1e6:,.0f} MB ({100 * done // whole}%)")

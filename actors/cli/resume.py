"""`prism resume`: go on with a run that was stopped, or killed, or is to go on for longer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from actors.cli.options import QUIET, RUN, SET, TICKS
from actors.cli.run_command import run_and_report
from actors.runs.directory import RunDirectory
from actors.runs.lock import locked
from actors.runs.resume import resume_run


@click.command()
@RUN
@TICKS
@SET
@click.option(
    "--force",
    is_flag=True,
    help="Go on although the code, or a setting that cannot change the past, is another; and cut off damage.",
)
@QUIET
def resume(path: Path, ticks: int | None, overrides: Sequence[str], *, force: bool, quiet: bool) -> None:
    """Go on with the run in the directory RUN where its files end.

    It starts from the latest checkpoint that its journal bears out, does the ticks after it again and compares each
    with the journal, then goes on. So a killed run ends with the journal of one that was never killed, and no answer
    of the oracle that had arrived is asked for again. --ticks makes a run longer, also one that is done.

    It refuses, with the names of what differs, if settings, input files or code are no longer what the run began with.
    """
    RunDirectory(path).manifest()
    with locked(path):
        run, notes = resume_run(path, ticks=ticks, overrides=overrides, force=force)
        for note in notes:
            click.echo(f"prism: {note}", err=True)
        if run.is_done:
            told = f"{path}: has all its {run.recorded.ticks:,} ticks; --ticks N makes it longer"
            click.echo(run.digest if quiet else told)
        else:
            run_and_report(run, quiet=quiet)

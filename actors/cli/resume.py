"""`prism resume`: continues a run that was stopped or killed, or makes a run longer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from actors.cli.options import QUIET, RUN, TICKS, set_option
from actors.cli.run_command import run_and_report
from actors.runs.directory import RunDirectory
from actors.runs.lock import locked
from actors.runs.resume import resume_run


@click.command()
@RUN
@TICKS
@set_option("metrics.enabled=true")
@click.option(
    "--force",
    is_flag=True,
    help="Resume although the code, or a setting that cannot change the past, has changed; and cut off damage.",
)
@QUIET
def resume(path: Path, ticks: int | None, overrides: Sequence[str], *, force: bool, quiet: bool) -> None:
    """Resume the run in the directory RUN where its files end.

    It starts from the latest checkpoint that agrees with the journal, runs the ticks after it again and compares each
    with the journal, then runs the rest. So a killed run ends with the journal of one that was never killed, and no
    question that has an answer is asked again. --ticks makes a run longer, also one that is done.

    It refuses, and names the differences, if settings, input files or code are not those that the run began with.
    """
    RunDirectory(path).manifest()
    with locked(path):
        run, notes = resume_run(path, ticks=ticks, overrides=overrides, force=force)
        for note in notes:
            click.echo(f"prism: {note}", err=True)
        if run.is_done:
            text = f"{path}: has all its {run.recorded.ticks:,} ticks; --ticks N makes it longer"
            click.echo(run.digest if quiet else text)
        else:
            run_and_report(run, quiet=quiet)

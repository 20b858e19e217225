"""`prism fork`: runs another future of a run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import anyio
import click

from actors.cli.options import OUT, QUIET, RUN, SET, TICKS
from actors.cli.run_command import has_new_ticks, run_and_report, with_progress
from actors.runs.directory import RunDirectory
from actors.runs.fork import fork as branch_off
from actors.runs.lock import locked
from actors.runs.resume import resume_run
from prism.errors import OracleUnavailableError


@click.command()
@RUN
@click.option("--at", "tick", type=click.IntRange(min=1), required=True, metavar="TICK", help="Ticks in common.")
@SET
@TICKS
@OUT
@click.option("--prepare", is_flag=True, help="Only write the new run's directory; `prism resume` runs it.")
@QUIET
def fork(  # noqa: PLR0913  # one for each option
    path: Path, tick: int, overrides: Sequence[str], ticks: int | None, out: Path | None, *, prepare: bool, quiet: bool
) -> None:
    """Run another future of the run in the directory RUN: the same first TICK ticks, then other settings.

    What if the feed had been chronological from tick 500?

    \b
      prism fork runs/default-001 --at 500 --set feed.algorithm=chronological --out runs/chronological

    The past is replayed and compared with the journal, and copied into the new directory, which stands on its own. Its
    manifest names the parent and the digest they have in common. People and time cannot be changed in a fork. If rows
    of the past are missing in RUN's rounds.csv, the new one begins at the fork.
    """
    parent = RunDirectory(path)
    parent.manifest()
    child = RunDirectory.create(out, f"{path.resolve().name}-at-{tick}")
    with locked(child.path):
        with ExitStack() as on_failure:
            on_failure.callback(child.discard)
            branching = partial(branch_off, parent, child, tick, overrides, ticks)
            notes = anyio.run(partial(with_progress, branching, quiet=quiet))
            on_failure.pop_all()
        for note in notes:
            click.echo(f"prism: {note}", err=True)
        if prepare:
            click.echo(f"{child.path}: ready; run it with: prism resume {child.path}")
            return
        run, _ = resume_run(child.path)
        try:
            run_and_report(run, quiet=quiet)
        except OracleUnavailableError:
            if not has_new_ticks(run):
                child.discard()
            raise

"""`prism replay`: whether a run, done again, comes out as its journal says."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import click

from actors.cli.options import QUIET, RUN
from actors.cli.run_command import showing
from actors.runs.directory import RunDirectory
from actors.runs.replay import replay as replayed


@click.command()
@RUN
@click.option("--ticks", type=click.IntRange(min=1), metavar="N", help="Replay only the first N ticks.")
@QUIET
def replay(path: Path, ticks: int | None, *, quiet: bool) -> None:
    """Do the run in the directory RUN again, without any model, and compare it with its journal tick by tick.

    The oracle's answers come from oracle.log; those of the embedded oracle are computed again. Nothing is written.
    The first difference ends it with exit code 1 and one line that names the tick, the agent and the field.
    """
    simulation = anyio.run(partial(showing, partial(replayed, RunDirectory(path), ticks), quiet=quiet))
    digest = simulation.engine.digest.hexdigest()
    if quiet:
        click.echo(digest)
    else:
        click.echo(f"{path}: {simulation.engine.tick:,} ticks replayed, every one as recorded; digest {digest}")

"""`prism replay`: whether a run, done again, comes out as its journal says."""

from __future__ import annotations

from pathlib import Path

import anyio
import click

from actors.cli.options import QUIET, RUN
from actors.cli.progress import show_progress
from actors.replay import replay as replayed
from actors.run_directory import RunDirectory
from actors.simulation import Simulation


@click.command()
@RUN
@click.option("--ticks", type=click.IntRange(min=1), metavar="N", help="Replay only the first N ticks.")
@QUIET
def replay(path: Path, ticks: int | None, *, quiet: bool) -> None:
    """Do the run in the directory RUN again, without any model, and compare it with its journal tick by tick.

    The oracle's answers come from oracle.log; those of the embedded oracle are computed again. Nothing is written.
    The first difference ends it with exit code 1 and one line that names the tick, the agent and the field.
    """
    simulation = anyio.run(_watched, RunDirectory(path), ticks, quiet)
    digest = simulation.engine.digest.hexdigest()
    if quiet:
        click.echo(digest)
    else:
        click.echo(f"{path}: {simulation.engine.tick:,} ticks replayed, every one as recorded; digest {digest}")


async def _watched(directory: RunDirectory, ticks: int | None, quiet: bool) -> Simulation:
    """The replayed simulation; its progress is shown unless asked not to."""
    parts: list[Simulation] = []
    async with anyio.create_task_group() as tasks:

        def begins(simulation: Simulation) -> None:
            parts.append(simulation)
            if len(parts) == 1 and not quiet:
                tasks.start_soon(show_progress, lambda: parts[-1].progress())  # noqa: PLW0108  # parts grow

        simulation = await replayed(directory, ticks, begins)
        tasks.cancel_scope.cancel()
    return simulation

"""`prism replay`: runs a recorded run again, and compares it with its journal."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import click

from actors.cli.help_sections import LOG, SectionedCommand
from actors.cli.options import PACKED_RUN, QUIET, shown, with_log_options
from actors.cli.run_command import with_progress
from actors.cli.trust import TRUST, ask_to_run_code
from actors.display.console import echo
from actors.runs.directory import RunDirectory
from actors.runs.replay import replay as run_again


@click.command(cls=SectionedCommand, sections=LOG)
@PACKED_RUN
@click.option("--ticks", type=click.IntRange(min=1), metavar="N", help="Replay only the first N ticks.")
@TRUST
@QUIET
@with_log_options
def replay(path: Path, ticks: int | None, *, quiet: bool) -> None:
    """Do a run again without a model, and compare every tick.

    RUN is the run's directory. The oracle's answers come from oracle.log; those of the embedded oracle are computed
    again. Nothing is written. The first difference ends it with exit code 1 and one line that names the tick, the agent
    and the field.
    """
    ask_to_run_code(path)
    simulation = anyio.run(partial(with_progress, partial(run_again, RunDirectory(path), ticks), quiet=quiet))
    digest = simulation.engine.digest.hexdigest()
    if quiet:
        echo(digest)
    else:
        echo(f"{shown(path)}: {simulation.engine.tick:,} ticks replayed, every one as recorded; digest {digest}")

"""What `run`, `resume` and `fork` have in common: carrying out a run, and saying how it ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import click
from rich.console import Console

from actors.cli.progress import show_progress
from actors.cli.report import render
from actors.execution import SPEND_CAP, Run, Spectator, execute
from actors.logs import logging_to
from actors.signals import EXIT_BASE, StopOnSignal
from actors.simulation import Progress
from actors.summary import Summary

EXIT_SPENT = 4


class Terminal(Spectator):
    """Shows a run on the terminal."""

    def begins(self, run: Run, oracle: str) -> None:
        """Say what is run."""
        where = f", from tick {run.history.tick:,}" if run.history.tick else ""
        click.echo(
            f"prism: {run.domain.size:,} agents, {run.config.simulation.length:,} ticks{where}, "
            f"seed {run.config.simulation.seed}; oracle: {oracle}",
            err=True,
        )

    async def watch(self, read: Callable[[], Progress]) -> None:
        """Show progress."""
        await show_progress(read)


def carry_out(run: Run, *, quiet: bool) -> None:
    """Run, write the summary, show it, and exit as its end demands. The caller holds the run's lock."""
    directory = run.directory
    with logging_to(directory.log):
        summary = anyio.run(execute, run, Spectator() if quiet else Terminal())
    directory.write("summary.json", summary.to_json())
    if quiet:
        click.echo(summary.digest)
    else:
        Console().print(render(summary, str(directory.path)))
        _say_how_to_go_on(summary, directory.path)
    if summary.stopped_by == SPEND_CAP:
        sys.exit(EXIT_SPENT)
    if summary.stopped_by is not None:
        sys.exit(EXIT_BASE + StopOnSignal.number(summary.stopped_by))


def _say_how_to_go_on(summary: Summary, path: Path) -> None:
    if summary.status == "stopped":
        raised = " --force --set oracle.max_calls=..." if summary.stopped_by == SPEND_CAP else ""
        click.echo(f"prism: stopped with a checkpoint; go on with: prism resume {path}{raised}", err=True)

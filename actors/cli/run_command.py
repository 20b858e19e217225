"""What `run`, `resume` and `fork` have in common: carrying out a run, and saying how it ended."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeVar

import anyio
import click
from rich.console import Console

from actors.cli.exit_codes import EXIT_SPENT
from actors.cli.progress import show_progress
from actors.cli.report import render
from actors.core.errors import ActorError, JournalError, first_error
from actors.logs.setup import logging_to
from actors.metrics.observation import Observation, observation
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL
from actors.runs.directory import SUMMARY
from actors.runs.execute import SPEND_CAP, Display, Run, execute
from actors.runs.signals import EXIT_BASE, StopOnSignal
from actors.runs.summary import Summary
from actors.runtime.simulation import Progress, Simulation
from prism.errors import OracleFailedError, PrismError

T = TypeVar("T")


class Terminal(Display):
    """Shows a run on the terminal."""

    def begin(self, run: Run, oracle: str) -> None:
        """Say what is run."""
        again = run.recorded.ticks - run.recorded.tick
        where = f", from tick {run.recorded.ticks:,}" if run.recorded.ticks else ""
        where += f" ({again:,} ticks are done again first)" if again else ""
        click.echo(
            f"prism: {run.domain.size:,} agents, {run.config.simulation.length:,} ticks{where}, "
            f"seed {run.config.simulation.seed}; oracle: {oracle}",
            err=True,
        )

    async def show(self, progress: Callable[[], Progress]) -> None:
        """Show progress."""
        await show_progress(progress)


def run_and_report(run: Run, *, quiet: bool, observed: Observation | None = None) -> None:
    """Run, write the summary, show it, and exit as its end demands. The caller holds the run's lock.

    Args:
        observed: how it is observed, where its address was taken before; by default as the configuration says.
    """
    directory = run.directory
    with ExitStack() as around:
        observed = observed or around.enter_context(observation(run.config))
        if observed.address is not None and not quiet:
            click.echo(f"prism: metrics at {observed.address.url}/metrics", err=True)
        logs = around.enter_context(logging_to(directory.log))
        observer = around.enter_context(observed.observing(directory.path.resolve().name))
        around.enter_context(directory.publishing(observed.address))
        try:
            summary = anyio.run(execute, run, Display() if quiet else Terminal(), observer, logs)
        except OracleFailedError as error:
            if error.failure == "spent":
                with suppress(ActorError):  # on a full disk it looks like a crash, and goes on all the same
                    directory.record_spent(error.tick)
            raise
    try:
        directory.write(SUMMARY, summary.to_json())
    except ActorError as error:
        raise JournalError(f"{error}; the run itself is whole, and `prism resume` writes its summary") from None
    if quiet:
        click.echo(summary.digest)
    else:
        Console().print(render(summary, str(directory.path)))
        _say_how_to_go_on(summary, directory.path)
    if summary.stopped_by == SPEND_CAP:
        sys.exit(EXIT_SPENT)
    if summary.stopped_by is not None:
        sys.exit(EXIT_BASE + StopOnSignal.number(summary.stopped_by))


def has_new_ticks(run: Run) -> bool:
    """Whether the journal has more than it had when the run was opened."""
    return RealDisk(run.directory.path).size(JOURNAL) > run.recorded.end


def _say_how_to_go_on(summary: Summary, path: Path) -> None:
    if summary.status == "stopped":
        raised = " --force --set oracle.max_calls=..." if summary.stopped_by == SPEND_CAP else ""
        click.echo(f"prism: stopped with a checkpoint; go on with: prism resume {path}{raised}", err=True)


async def showing(do: Callable[[Callable[[Simulation], None]], Awaitable[T]], *, quiet: bool) -> T:
    """What a function returns that runs simulations, one after the other, with the progress of each on the terminal.

    Args:
        do: calls its argument with every simulation that begins.

    Raises:
        PrismError: the function did.
    """
    begun: list[Simulation] = []
    try:
        async with anyio.create_task_group() as tasks:

            def begins(simulation: Simulation) -> None:
                begun.append(simulation)
                if len(begun) == 1 and not quiet:
                    tasks.start_soon(show_progress, lambda: begun[-1].progress())  # noqa: PLW0108  # more may follow

            result = await do(begins)
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if (error := first_error(group, PrismError)) is not None:
            raise error from None
        raise
    return result

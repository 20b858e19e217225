"""`prism run`: run a simulation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter

import anyio
import click
from rich.console import Console

from actors.backends import open_oracle
from actors.cli.options import read_config, with_settings
from actors.cli.progress import show_progress
from actors.cli.report import render
from actors.domains import build_domain
from actors.errors import first_of
from actors.lines import LineFile
from actors.logs import logging_to
from actors.run_directory import RunDirectory
from actors.series import RoundSeries
from actors.signals import EXIT_BASE, StopOnSignal
from actors.simulation import Simulation
from actors.summary import Summary, summarise
from prism.config import Config
from prism.domain import Domain
from prism.errors import OracleUnavailableError, PrismError

SPEND_CAP = "spend_cap"
EXIT_SPENT = 4


@click.command()
@with_settings
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the run's files here; must be empty or new.  [default: the next free runs/NAME-001]",
)
@click.option("--quiet", "-q", is_flag=True, help="Show no progress and no tables, only the digest at the end.")
def run(config: Path, overrides: Sequence[str], out: Path | None, *, quiet: bool) -> None:
    """Run the simulation that CONFIG describes.

    Settings come from CONFIG, then from environment variables such as PRISM_SIMULATION__SEED, then from --set; see
    docs/configuration.md. Ctrl-C finishes the tick, writes the summary and exits with 130; a second one leaves at once.

    \b
    Written to the run's directory:
      config.yaml    the configuration with every default filled in
      manifest.json  versions, seed and the SHA-256 of every input file
      log.jsonl      warnings and errors, a JSON object a line
      rounds.csv     how it developed: a row for each round
      summary.json   what the run came to, with its digest
      tape.sqlite    the model's answers, with oracle.tape=record
    """
    settings = read_config(config, overrides)
    domain, inputs = build_domain(settings)
    directory = RunDirectory.create(out, config.stem)
    directory.write_config(settings)
    directory.write_manifest(settings, inputs)
    with logging_to(directory.log), closing(LineFile(directory.rounds)) as rounds:
        try:
            summary = anyio.run(_run, settings, domain, directory, rounds, quiet)
        except OracleUnavailableError:
            directory.discard_unless_begun()
            raise
    directory.write("summary.json", summary.to_json())
    if quiet:
        click.echo(summary.digest)
    else:
        Console().print(render(summary, str(directory.path)))
    if summary.stopped_by == SPEND_CAP:
        sys.exit(EXIT_SPENT)
    if summary.stopped_by is not None:
        sys.exit(EXIT_BASE + StopOnSignal.number(summary.stopped_by))


async def _run(settings: Config, domain: Domain, directory: RunDirectory, rounds: LineFile, quiet: bool) -> Summary:
    """Open the oracle, say what is run, and run it."""
    try:
        async with open_oracle(settings, domain, directory.path) as opened:
            if not quiet:
                click.echo(
                    f"prism: {domain.size:,} agents, {settings.simulation.rounds:,} rounds, "
                    f"seed {settings.simulation.seed}; oracle: {opened.description}",
                    err=True,
                )
            simulation = Simulation(settings, domain, opened.oracle)
            series = RoundSeries(rounds, simulation)
            return await simulate(simulation, quiet=quiet, on_tick=series.after_tick)
    except BaseExceptionGroup as group:
        if (error := first_of(group, PrismError)) is not None:
            raise error from None
        raise


async def simulate(simulation: Simulation, *, quiet: bool, on_tick: Callable[[int], None] = lambda _: None) -> Summary:
    """Run a simulation to its end or to the first signal, showing progress unless told not to."""
    signals = StopOnSignal(simulation.stop)
    begun = perf_counter()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(signals.run)
        if not quiet:
            tasks.start_soon(show_progress, simulation.progress)
        await simulation.run(on_tick)
        tasks.cancel_scope.cancel()
    stopped_by = None if signals.received is None else signals.received.name
    if stopped_by is None and simulation.is_spent:
        stopped_by = SPEND_CAP
    return summarise(simulation, perf_counter() - begun, stopped_by)

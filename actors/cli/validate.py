"""`prism validate`: whether a configuration and its input files can be run, without running them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from actors.cli.options import read_config, with_settings
from actors.factory.domains import build_domain


@click.command()
@with_settings
def validate(config: Path, overrides: Sequence[str]) -> None:
    """Check CONFIG and every file it names, and say what would be run.

    Prints one line for each input file with its SHA-256. A mistake is one line that names the file, the key and the
    line, and what was expected; the exit code is then 3.
    """
    settings = read_config(config, overrides)
    domain, inputs = build_domain(settings)
    simulation = settings.simulation
    ticks = simulation.rounds * simulation.ticks_per_round
    click.echo(
        f"{config}: ok: {domain.size:,} agents, {simulation.rounds:,} rounds of {simulation.ticks_per_round} ticks "
        f"({ticks:,} ticks), seed {simulation.seed}, oracle {settings.oracle.backend}"
    )
    for name, sha256 in inputs.items():
        click.echo(f"{name}: ok: sha256 {sha256}")

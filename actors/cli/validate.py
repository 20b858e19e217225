"""`prism validate`: checks a configuration and its input files, without running them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from actors.cli.building import build_with_progress
from actors.cli.forecast import deliberation
from actors.cli.options import choose_config, with_settings
from actors.cli.trust import TRUST
from actors.display.console import echo
from actors.factory.checks import lines_of_domain, no_effect_of
from actors.factory.config_file import read_config
from actors.factory.oracle_backends import check_oracle
from prism.config import Config
from prism.domain import said_by
from prism.no_effect import told


@click.command()
@with_settings
@TRUST
@click.option(
    "--forecast",
    "foretells",
    is_flag=True,
    help="Rehearse the beginning without a model, and say about how much time, memory and disk it takes, and how many "
    "calls, tokens, dollars and hours of a model.",
)
def validate(config: Path | None, overrides: Sequence[str], *, foretells: bool) -> None:
    """Check a configuration and its files, and say what would be run.

    Without CONFIG it is prism.yaml of this directory, or else the default configuration that comes with PRISM. All
    that a run makes before its first tick is made here, too: seconds for each million people. --forecast takes some
    seconds more.

    Prints one line for each input file with its SHA-256. A mistake is one line that names the file, the key and the
    line, and what was expected; the exit code is then 3.
    """
    path = choose_config(config, "checking")
    settings = read_config(path, overrides)
    built = build_with_progress(settings)
    if settings.metrics.enabled:
        from actors.metrics.access import check_access  # noqa: PLC0415  # most runs serve nothing

        check_access(settings.metrics)
    check_oracle(settings)
    simulation = settings.simulation
    echo(
        f"{path}: ok: {built.domain.size:,} agents, {simulation.rounds:,} rounds of {simulation.ticks_per_round} ticks "
        f"({simulation.length:,} ticks), seed {simulation.seed}, oracle {settings.oracle.backend}"
    )
    for name, sha256 in built.inputs.items():
        echo(f"{name}: ok: sha256 {sha256}")
    idle = told(no_effect_of(settings, built.domain))
    for line in (*said_by(built.domain).understood, *lines_of_domain(settings, built.domain), *idle):
        echo(line)
    if (deliberates := deliberation(settings)) is not None:
        echo(deliberates)
    if foretells:
        _print_forecast(settings)


def _print_forecast(config: Config) -> None:
    from actors.cli.forecast import needed_rows, rows  # noqa: PLC0415  # it runs a simulation, and most checks need none
    from actors.runs.forecast import forecast  # noqa: PLC0415

    expected = forecast(config)
    for name, text in needed_rows(config, expected):
        echo(f"{name}: {text}")
    if config.oracle.backend == "choice":
        echo("oracle.backend is choice, which asks no model; a model would be asked as follows")
    for name, text in rows(config, expected):
        echo(f"{name}: {text}")

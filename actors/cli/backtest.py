"""`prism backtest`: compares the policy rule with the interest rates of history."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from msgspec.structs import asdict
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from actors.cli.backtest_plot import draw
from actors.cli.options import Directory, choose_config, run_name, with_settings
from actors.core.extras import not_installed
from actors.display.console import SafeConsole, echo
from actors.factory.config_file import read_config
from actors.factory.input_files import fitting_memory, read_input
from actors.runs.directory import RunDirectory
from actors.runs.inputs import inputs_of, keep
from actors.runs.manifest import manifest_of
from prism.config import Config
from prism.economy.backtest import QUARTERS_MIN, Forecast, Score, backtest, score
from prism.economy.series_file import parse_series
from prism.errors import ConfigError
from prism.quarter import Period, Quarter
from prism.quoting import printable

NO_PLOT = f"prism: no plot: {not_installed('it is drawn with matplotlib', 'plots')}"


def _quarter(_: click.Context, __: click.Parameter, text: str | None) -> Quarter | None:
    """Return the quarter that an option names."""
    try:
        return None if text is None else Quarter.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command(name="backtest")
@with_settings
@click.option(
    "--out",
    type=Directory(),
    metavar="DIR",
    help="Write the files here; must be empty or new.  [default: the next free runs/NAME-backtest-001]",
)
@click.option("--from", "first", callback=_quarter, metavar="QUARTER", help="The first quarter, as in 1987q1.")
@click.option("--to", "last", callback=_quarter, metavar="QUARTER", help="The last quarter, as in 1992q3.")
@click.option("--quiet", "-q", is_flag=True, help="Show no table, only where the files are.")
def backtest_command(
    config: Path | None,
    overrides: Sequence[str],
    out: Path | None,
    first: Quarter | None,
    last: Quarter | None,
    *,
    quiet: bool,
) -> None:
    """Compare an economy's policy rule with historical interest rates.

    Without CONFIG it is prism.yaml of this directory, or else the economy that comes with PRISM. It reads the quarterly
    file at economy.initial.path. The rule's rate is set against the 3-month Treasury bill rate, and against the
    forecast that nothing changes, which one quarter ahead is hard to beat; see docs/economy.md.

    \b
    Written to the directory:
      backtest.csv   a row for each quarter
      scores.csv     a row for each period, as in the table
      backtest.png   the rates over time; needs matplotlib
      config.yaml    the configuration with every default filled in
      manifest.json  versions, and the SHA-256 of the quarterly file
    """
    path = choose_config(config, "testing", default="economy", quiet=quiet)
    settings = read_config(path, overrides)
    if settings.economy.initial.path is None:
        problem = "a backtest needs a file of quarters, such as configs/data/us-macro-quarterly.csv, got null"
        raise ConfigError(str(path), problem, key="economy.initial.path")
    with fitting_memory(settings.economy.initial.path):
        source = read_input(settings.economy.initial.path)
        series = parse_series(source.data, source.name).quarters
    forecasts = _within(backtest(series, settings.economy), first, last)
    scores = _scores(forecasts, settings)
    directory = RunDirectory.create(out, f"{run_name(path)}-backtest")
    inputs = inputs_of(settings, {source.name: source.sha256})
    keep(directory, inputs)
    directory.write("backtest.csv", _csv(asdict(forecast) for forecast in forecasts))
    directory.write_config(inputs.config)
    directory.write_manifest(manifest_of(inputs.config, inputs.hashes))
    directory.write("scores.csv", _csv(asdict(period_score) for period_score in scores))
    plot = draw(forecasts, lag_quarters=settings.economy.backtest.lag_quarters)
    if plot is None:
        echo(NO_PLOT, err=True)
    else:
        directory.write("backtest.png", plot)
    if quiet:
        echo(str(directory.path))
    else:
        SafeConsole().print(_report(scores, printable(str(directory.path))))


def _within(forecasts: Sequence[Forecast], first: Quarter | None, last: Quarter | None) -> tuple[Forecast, ...]:
    """Return the forecasts from one quarter to another."""
    kept = tuple(
        forecast
        for forecast in forecasts
        if (first is None or first <= forecast.quarter) and (last is None or forecast.quarter <= last)
    )
    if len(kept) < QUARTERS_MIN:
        between = f"{first or 'the beginning'} and {last or 'the end'}"
        reach = f", whose rule has rates from {forecasts[0].quarter} to {forecasts[-1].quarter}" if forecasts else ""
        raise click.UsageError(
            f"expected at least {QUARTERS_MIN} quarters between {between} of the file{reach}; got {len(kept)}"
        )
    return kept


def _scores(forecasts: Sequence[Forecast], settings: Config) -> list[Score]:
    """Return the score of all quarters, then of each period with enough quarters, each period once."""
    scores = [score(forecasts)]
    scores += [score(forecasts, Period.parse(period)) for period in settings.economy.backtest.periods]
    return list({found.period: found for found in scores if found is not None}.values())


def _csv(rows: Iterable[dict[str, object]]) -> bytes:
    """Return rows as CSV with a header; a number that is not defined is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for index, row in enumerate(rows):
        if index == 0:
            writer.writerow(row)
        writer.writerow([f"{value:.6f}" if isinstance(value, float) else value for value in row.values()])
    return text.getvalue().encode()


def _report(scores: Sequence[Score], directory: str) -> RenderableType:
    """Return the scores as a table, with an explanation."""
    table = Table(title="the rule against the 3-month bill rate", title_justify="left", title_style="bold", box=None)
    table.add_column("period", no_wrap=True)
    for name in ("quarters", "RMSE", "no change", "bias", "corr.", "side", "commoner"):
        table.add_column(name, justify="right")
    for one in scores:
        better = "green" if one.rmse < one.no_change_rmse else "yellow"
        table.add_row(
            str(one.period),
            f"{one.quarters:,}",
            Text(f"{one.rmse:.2f}", style=better),
            f"{one.no_change_rmse:.2f}",
            f"{one.bias:+.2f}",
            "-" if one.correlation is None else f"{one.correlation:.2f}",
            _share(one.direction_share),
            _share(one.commoner_direction_share),
        )
    beaten = sum(one.rmse < one.no_change_rmse for one in scores)
    notes = Text(
        f"\none quarter ahead the rule is nearer than no change in {beaten} of {len(scores)} periods\n"
        "RMSE, no change, bias: errors of the rule, of the last rate, and the rule's mean\n"
        "error, in points; side: share of the moves whose direction the rule's rate told;\n"
        "commoner: what always naming the commoner direction would have told\n"
        f"files in {directory}"
    )
    return Group(table, notes)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"

"""`prism watch`: look at a run that goes on elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from actors.cli.progress import LINE_EVERY_S
from actors.core.errors import WatchError

if TYPE_CHECKING:
    from actors.cli.metrics_client import MetricsClient

EVERY_S = 1.0
WINDOW_S = 10.0
"""Rates are over the latest scrapes of this time."""


@click.command()
@click.argument("run", metavar="URL_OR_RUN")
@click.option("--once", is_flag=True, help="Print one view and end; exit code 1 if there is nothing to see.")
@click.option("--user", metavar="NAME", help="Whose password is in PRISM_METRICS_PASSWORD.  [default: as RUN says]")
@click.option(
    "--ca", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE", help="Certificates to trust."
)
def watch(run: str, *, once: bool, user: str | None, ca: Path | None) -> None:
    """Watch a run that goes on elsewhere, by its metrics.

    URL_OR_RUN is the address of its metrics, such as http://127.0.0.1:9464, or its directory. The run must have been
    started with metrics.enabled=true. Ctrl-C ends the watch, not the run.
    """
    # Imported here, because an HTTP client takes 0.2 s to import and every command comes by this module.
    from actors.cli.metrics_client import MetricsClient  # noqa: PLC0415
    from actors.cli.watch_view import view  # noqa: PLC0415

    reader = MetricsClient(run, user, ca)
    if once:
        try:
            Console().print(view(reader.interval(EVERY_S)))
        except WatchError:
            if (ended := reader.ended) is None:
                raise
            click.echo(f"prism: {ended}", err=True)
            sys.exit(1)
        return
    try:
        _live(reader)
    except KeyboardInterrupt:
        return


def _live(reader: MetricsClient) -> None:
    from actors.cli.watch_view import line, view  # noqa: PLC0415

    console = Console()
    if not console.is_terminal or console.is_dumb_terminal:
        for interval, problem in reader.readings(LINE_EVERY_S, WINDOW_S):
            if problem and (ended := reader.ended) is not None:
                click.echo(ended)
                return
            click.echo(line(interval) if interval else f"prism: {problem}", err=interval is None)
        return
    with Live(Text("..."), console=console, auto_refresh=False) as live:
        seen: RenderableType = Text("nothing seen yet")
        for interval, problem in reader.readings(EVERY_S, WINDOW_S):
            seen = view(interval) if interval else seen
            if problem and (ended := reader.ended) is not None:
                live.update(Group(seen, Text(ended)), refresh=True)
                return
            live.update(Group(seen, Text(f"{problem}; trying again", style="red")) if problem else seen, refresh=True)

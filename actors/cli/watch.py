"""`prism watch`: shows runs that other processes execute, by their metrics and events."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console, Group, RenderableType
from rich.text import Text

from actors.cli.keys import Keys
from actors.cli.metrics_client import MetricsClient
from actors.cli.watch_view import brief, line, view
from actors.cli.watched_run import WatchedRun
from actors.display.console import SafeConsole, echo
from actors.display.frame import Frame
from actors.display.progress import LINE_EVERY_S
from actors.record.manifest import refuse_others

EVERY_S = 1.0
KEYS_S = 0.2
"""The time between two looks at the keys."""


@click.command()
@click.argument("names", metavar="URL_OR_RUN...", nargs=-1, required=True)
@click.option("--once", is_flag=True, help="Print one view and end; exit code 1 if there is nothing to see.")
@click.option("--user", metavar="NAME", help="Whose password is in PRISM_METRICS_PASSWORD.  [default: as RUN says]")
@click.option(
    "--ca", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE", help="Certificates to trust."
)
def watch(names: tuple[str, ...], *, once: bool, user: str | None, ca: Path | None) -> None:
    """Show the progress of runs of other processes.

    URL_OR_RUN is the address of a run's metrics, such as http://127.0.0.1:9464, or its directory. The run must have
    been started with metrics.enabled=true. The space bar stops the display and starts it again, n shows the next of
    several runs, and q or Ctrl-C ends this command, not the run. It ends by itself when every run has ended.
    """
    for name in names:
        refuse_others(Path(name))
    runs = [WatchedRun(MetricsClient(name, user, ca)) for name in names]
    console = SafeConsole()
    try:
        if once:
            _print_once(console, runs)
        elif console.is_terminal and not console.is_dumb_terminal:
            _show(console, runs)
        else:
            _print_lines(runs)
    except KeyboardInterrupt:
        return


def _print_once(console: Console, runs: Sequence[WatchedRun]) -> None:
    for run in runs:
        run.look()
    if any(run.now.interval for run in runs):
        time.sleep(EVERY_S)
    is_missing = False
    for run in runs:
        if run.now.interval is not None and not run.look().problem:
            console.print(view(run.now, run.trends))
        else:
            is_missing = True
            echo(f"prism: {run.now.ended or run.now.problem}", err=True)
    if is_missing:
        sys.exit(1)


def _print_lines(runs: Sequence[WatchedRun]) -> None:
    """Print a plain line for each run every few seconds, until all have ended."""
    told: dict[str, str] = {}
    while left := [run for run in runs if not run.now.ended]:
        for run in left:
            now, name = run.look(), run.client.name
            if now.ended:
                echo(now.ended)
            elif not now.problem:
                echo(line(now) if len(runs) == 1 else f"{name}: {line(now)}")
            elif told.get(name) != now.problem:
                echo(f"prism: {now.problem}; waiting", err=True)
            told[name] = now.problem
        if any(not run.now.ended for run in runs):
            time.sleep(LINE_EVERY_S)


def _show(console: Console, runs: Sequence[WatchedRun]) -> None:
    """Show the runs until all have ended, each looked at by a thread of its own."""
    for run in runs:
        run.look_every(EVERY_S)
    shown, is_paused, key = 0, False, ""
    with Keys() as keys, Frame(console, stays=True) as frame:
        while key != "q" and not all(run.now.ended for run in runs):
            key = keys.pressed(KEYS_S)
            is_paused ^= key == " "
            shown = (shown + (key == "n")) % len(runs)
            if not is_paused or key in {" ", "n"}:
                help_line = _help(len(runs), is_paused=is_paused) if keys.are_there else ""
                frame.content = _content(runs, shown, help_line)
        frame.content = _content(runs, shown, "")
    for run in runs:
        if run.now.ended:
            echo(run.now.ended)


def _content(runs: Sequence[WatchedRun], shown: int, help_line: str) -> RenderableType:
    parts: list[RenderableType] = []
    if len(runs) > 1:
        for number, run in enumerate(runs):
            mark, style = (">", "bold") if number == shown else (" ", "")
            text = f"{mark} {brief(run.client.name, run.now)}"
            parts.append(Text(text, style=style, no_wrap=True, overflow="ellipsis"))
        parts.append(Text())
    run = runs[shown]
    parts.append(view(run.now, run.trends) if run.now.interval else Text("nothing seen yet"))
    if run.now.problem and not run.now.ended:
        parts.append(Text(f"! {run.now.problem}; trying again", style="red"))
    if help_line:
        parts.append(Text(help_line, style="dim"))
    return Group(*parts)


def _help(count: int, *, is_paused: bool) -> str:
    pause = "paused: space goes on" if is_paused else "space pauses"
    return ", ".join([pause, *(["n next run"] if count > 1 else []), "q quits"])

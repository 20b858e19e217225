"""The display of an experiment that is run: cells done, time left, and the cells and the load of each node."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from actors.display.console import SafeConsole, echo
from actors.display.progress_bar import ProgressBar
from actors.display.words import duration
from actors.logs.output import output
from actors.studies.experiments.cells import Done
from actors.studies.experiments.plan import Cell
from actors.studies.experiments.standing import Standing
from prism.quoting import printable

NODES_SHOWN = 12
REFRESH_PER_S = 2


class ExperimentDisplay:
    """A display on the standard error: live on a terminal, a line a cell elsewhere, nothing if it is to be quiet.

    Args:
        known: the cells that were done before.
        quiet: show nothing.
    """

    def __init__(self, known: int, *, quiet: bool) -> None:
        self._known, self._quiet = known, quiet
        self._console = SafeConsole(stderr=True)
        self._is_live = self._console.is_terminal and not quiet and not output.is_json
        self._standing: Callable[[], Standing] | None = None
        self._begun = time.monotonic()
        self._said = ""
        self._ended = 0

    @contextmanager
    def showing(self, standing: Callable[[], Standing]) -> Iterator[None]:
        """Show the standing in the block."""
        self._standing = standing
        if not self._is_live:
            yield
            return
        drawn = Live(
            get_renderable=self._drawn, console=self._console, refresh_per_second=REFRESH_PER_S, transient=True
        )
        with drawn:
            yield

    def tell(self, cell: Cell, done: Done) -> None:
        """Tell that a cell has ended."""
        if self._is_live or self._quiet:
            return
        note = "" if self._standing is None else self._standing().note
        if note != self._said:
            self._said = note
            echo(f"prism: {note}", err=True)
        self._ended += 1
        total = "" if self._standing is None else f" of {self._standing().total + self._known:,}"
        place = f"{self._known + self._ended:,}{total}: "
        said = f"{place}{cell.condition}, seed {cell.seed}: {done.problem or duration(done.wall_s)}"
        echo(said, err=True)

    def _drawn(self) -> RenderableType:
        if self._standing is None:
            return Text()
        return drawn(self._standing(), self._known, time.monotonic() - self._begun)


def drawn(now: Standing, known: int, since_s: float) -> RenderableType:
    """Return the standing as a bar, a line and a table of nodes.

    Args:
        known: the cells that were done before.
        since_s: the time since the experiment was begun or gone on with.
    """
    ended, total = now.done + now.failed, now.total + known
    bar = Table.grid(padding=(0, 1))
    left = f", {duration(since_s / ended * (now.total - ended))} left" if 0 < ended < now.total else ""
    counted = f"{ended + known:,} of {total:,} cells, {duration(since_s)}{left}"
    bar.add_row(ProgressBar(ended + known, max(1, total)), Text(counted))
    parts = [f"{sum(now.running.values()):,} running, {now.waiting:,} waiting, {now.failed:,} failed"]
    parts += [f"{reason} {times:,} times" for reason, times in now.losses.items() if times]
    lines: list[RenderableType] = [bar, Text(", ".join(parts), style="dim")]
    if now.nodes:
        lines.append(_nodes(now))
    if now.note:
        lines.append(Text(printable(now.note), style="yellow"))
    return Group(*lines)


def _nodes(now: Standing) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("node", "cells", "cpu", "memory"):
        table.add_column(name, justify="left" if name == "node" else "right")
    for name, load in sorted(now.nodes.items())[:NODES_SHOWN]:
        table.add_row(Text(printable(name)), f"{load.cells or 0:,}", f"{load.cpu:.0%}", f"{load.memory:.0%}")
    if len(now.nodes) > NODES_SHOWN:
        table.add_row(f"and {len(now.nodes) - NODES_SHOWN:,} more", "", "", "")
    return table

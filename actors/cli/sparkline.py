"""Sparklines of the numbers of a world over a run: a line of blocks for each, from `rounds.csv`."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table

from actors.display.sparkline import blocks
from prism.answers import named

OTHER_COLUMNS = 60
"""Columns of the terminal beside the blocks."""
WIDTHS = (10, 60)
"""The fewest and the most blocks in a line; with more rounds, each block is the mean of several."""


def read_paths(series: Path, names: Iterable[str]) -> dict[str, list[float]]:
    """Return `{column: its numbers by row}` of the columns that the file has; nothing if there is no file."""
    if not series.is_file():
        return {}
    try:
        with series.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return {name: [float(row[name]) for row in rows] for name in names if rows and name in rows[0]}
    except (OSError, TypeError, ValueError, csv.Error):  # a damaged row; the rest of the summary is shown all the same
        return {}


class Sparklines:
    """A table of numbers: the first, the last, the lowest and the highest value of each, and its sparkline.

    Args:
        paths: `{name: its numbers}`, each at least one.
        marked: the places in them, from 0 on, at which an intervention happened: they are marked below the lines.
    """

    def __init__(self, paths: Mapping[str, Sequence[float]], marked: Sequence[int] = ()) -> None:
        self._paths = paths
        self._marked = marked

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, at most as wide as the terminal."""
        least, most = WIDTHS
        width = min(max(options.max_width - OTHER_COLUMNS, least), most)
        table = Table(title="path over the rounds", title_justify="left", title_style="bold", box=None, padding=(0, 1))
        table.add_column("", min_width=18, no_wrap=True)
        for name in ("first", "", "last", "lowest", "highest"):
            table.add_column(name, justify="right" if name else "left", no_wrap=True)
        for name, values in self._paths.items():
            first, *others = map(_format, (values[0], values[-1], min(values), max(values)))
            table.add_row(named(name, self._paths).name, first, blocks(values, width), *others)
        if self._marked:
            length = max(map(len, self._paths.values()))
            table.add_row("interventions", "", marks(self._marked, length, width, "^" if options.ascii_only else "▲"))
        yield table


def marks(places: Sequence[int], length: int, width: int, sign: str) -> str:
    """Return a line with a sign below each block of `blocks` that holds one of these places among `length` values."""
    count = min(width, length)
    marked = {next(at for at in range(count) if place < (at + 1) * length // count) for place in places}
    return "".join(sign if at in marked else " " for at in range(count))


def _format(number: float) -> str:
    return f"{number:,.2f}" if abs(number) < 1000 else f"{number:,.0f}"

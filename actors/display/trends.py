"""Trends: the recent values of a run's numbers, each as a sparkline with its value now and a warning."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

SAMPLE_S = 1.0
"""The time between two values."""
KEPT = 300
"""The latest values that are kept: the widest terminal shows no more."""
MINUTE = 60
"""The values of a minute."""
SLOW_S = 10.0
"""The p95 of the latency that is too long, as a wait of that time makes a run wait for its oracle."""


class Trends:
    """The latest values of some numbers, one of each a second."""

    def __init__(self) -> None:
        self._values: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=KEPT))
        self._totals: dict[str, float] = {}
        self._added_s: float | None = None

    def is_due(self, now_s: float) -> bool:
        """Return whether a second has passed since the latest values."""
        return self._added_s is None or now_s - self._added_s >= SAMPLE_S

    def add(self, now_s: float, values: Mapping[str, float], totals: Mapping[str, float]) -> None:
        """Add a value of each number.

        Args:
            now_s: the time, from any start.
            values: `{name: value}`.
            totals: `{name: count so far}`; the value is its growth.
        """
        self._added_s = now_s
        for name, value in values.items():
            self._values[name].append(value)
        for name, total in totals.items():
            self._values[name].append(max(0.0, total - self._totals.get(name, total)))
        self._totals.update(totals)

    def __getitem__(self, name: str) -> Sequence[float]:
        return list(self._values[name]) if name in self._values else []

    def in_last_minute(self, name: str) -> float:
        """Return the growth of a count in the last minute."""
        return sum(self[name][-MINUTE:])


class Row(NamedTuple):
    """A row of the table: a number's name in `Trends`, its value in words, and a warning, if there is one."""

    name: str
    text: str
    warning: str = ""


def trends_table(trends: Trends, rows: Iterable[Row]) -> RenderableType:
    """Return a table with a row for each number; the sparklines take the room that is left."""
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, min_width=8, no_wrap=True)
    table.add_column(no_wrap=True)
    for row in rows:
        text = Text(row.text)
        if row.warning:
            text.append(f"  ! {row.warning}", style="bold yellow")
        table.add_row(row.name, Sparkline(trends[row.name]), text)
    return table


def oracle_rows(trends: Trends, queue: str, latency: str, p95_s: float | None, fallbacks: float) -> Iterator[Row]:
    """Yield the rows of the oracle: its queue, its latency and its fallbacks."""
    yield Row("queue", queue)
    yield Row("latency", latency, "slow" if p95_s is not None and p95_s >= SLOW_S else "")
    new = trends.in_last_minute("fallbacks")
    yield Row("fallbacks", f"{fallbacks:,.0f}", f"{new:,.0f} in the last minute" if new else "")


BLOCKS, ASCII_BLOCKS = "▁▂▃▄▅▆▇█", "_.-~=+*#"


def blocks(values: Sequence[float], width: int) -> str:
    """Return the values as at most `width` blocks from the lowest to the highest; equal values are in the middle."""
    count = min(width, len(values))
    edges = [index * len(values) // count for index in range(count + 1)]
    means = [sum(values[start:end]) / (end - start) for start, end in pairwise(edges)]
    low, span, top = min(means), max(means) - min(means), len(BLOCKS) - 1
    return "".join(BLOCKS[round((mean - low) / span * top) if span else top // 2] for mean in means)


class Sparkline:
    """The latest of some numbers, a block for each, the newest on the right. The lowest block is 0.

    Args:
        values: 0 or more each, the oldest first.
    """

    def __init__(self, values: Sequence[float]) -> None:
        self._values = values

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the line, as wide as there is room."""
        signs = ASCII_BLOCKS if options.ascii_only else BLOCKS
        shown = self._values[-options.max_width :]
        most, top = max(shown, default=0.0) or 1.0, len(signs) - 1
        line = "".join(signs[round(max(0.0, value) / most * top)] for value in shown)
        yield Segment(line.rjust(options.max_width), console.get_style("cyan"))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the whole available width."""
        return Measurement(1, options.max_width)

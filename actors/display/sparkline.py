"""Numbers as a line of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment

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
        signs = ASCII_BLOCKS if options.ascii_only else BLOCKS
        shown = self._values[-options.max_width :]
        most, top = max(shown, default=0.0) or 1.0, len(signs) - 1
        line = "".join(signs[round(max(0.0, value) / most * top)] for value in shown)
        yield Segment(line.rjust(options.max_width), console.get_style("cyan"))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, options.max_width)

"""A share as a line of a fixed width. What is done and what is not have signs of their own, for want of colour."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment

BAR_WIDTH = 40
SIGNS, ASCII_SIGNS = ("━", "·"), ("=", ".")
"""For what is done, and for what is not."""


class ProgressBar:
    """A line of signs, the first of them for what is done.

    Args:
        part: what is done, of the whole; more than the whole counts as all of it.
        whole: all there is; above 0.
        style: of what is done.
        width: signs in all.
        has_track: whether what is not done is shown; not where the whole is only the longest of several bars.
    """

    def __init__(
        self, part: float, whole: float, style: str = "cyan", width: int = BAR_WIDTH, *, has_track: bool = True
    ) -> None:
        self._share = min(1.0, max(0.0, part / whole))
        self._width = width
        self._style = style
        self._has_track = has_track

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The line, as wide as it is where there is room."""
        done, rest = ASCII_SIGNS if options.ascii_only else SIGNS
        width = min(self._width, options.max_width)
        full = int(self._share * width)  # all of it only where nothing is missing
        yield Segment(done * full, console.get_style(self._style))
        if self._has_track:
            yield Segment(rest * (width - full), console.get_style("bright_black"))
        else:
            yield Segment(" " * (width - full))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """As wide as it is, where there is room."""
        width = min(self._width, options.max_width)
        return Measurement(width, width)

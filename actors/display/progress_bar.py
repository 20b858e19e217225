"""A progress bar. Its two parts have different signs, so it can be read without colour."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment

BAR_WIDTH = 40
SIGNS, ASCII_SIGNS = ("━", "·"), ("=", ".")
"""The signs for the part that is done, and for the rest."""


class ProgressBar:
    """A line of signs, for the part that is done and then for the rest.

    Args:
        part: the part that is done; more than the whole counts as the whole.
        whole: the whole; above 0.
        style: the style of the part that is done.
        width: signs in all; None for as many as there is room for.
        has_track: whether the rest is shown; False if the whole is only the longest of several bars.
    """

    def __init__(
        self, part: float, whole: float, style: str = "cyan", width: int | None = BAR_WIDTH, *, has_track: bool = True
    ) -> None:
        self._share = min(1.0, max(0.0, part / whole))
        self._width = width
        self._style = style
        self._has_track = has_track

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the line, in its own width or that of the terminal."""
        done, rest = ASCII_SIGNS if options.ascii_only else SIGNS
        width = self._width_in(options)
        full = int(self._share * width)  # rounded down: full only when nothing is missing
        yield Segment(done * full, console.get_style(self._style))
        if self._has_track:
            yield Segment(rest * (width - full), console.get_style("bright_black"))
        else:
            yield Segment(" " * (width - full))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return its own width, or that of the terminal."""
        width = self._width_in(options)
        return Measurement(1 if self._width is None else width, width)

    def _width_in(self, options: ConsoleOptions) -> int:
        return options.max_width if self._width is None else min(self._width, options.max_width)

"""A live frame: content that is drawn again and again in its place on a terminal, by a thread of its own."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.text import Text

REFRESHES_PER_S = 4


class Frame:
    """A frame. Its content can be set at any time without a wait, even while the terminal accepts no output.

    A terminal that gets narrower breaks the lines of the frame, so the frame takes more lines than were drawn. A
    terminal that gets lower and then higher again shows lines that had left it at the top. All these lines are erased
    before the next frame is drawn: otherwise a part of the old frame would stay.

    Args:
        console: where it is drawn.
        stays: whether the latest content stays at the end.
    """

    def __init__(self, console: Console, *, stays: bool) -> None:
        self.content: RenderableType = Text()
        """The content now."""
        self._console = console
        self._drawn: list[int] = []
        """The columns of each line drawn."""
        self._width, self._height = console.size
        self._left = 0
        """The lines of the frame that have left the screen at its top."""
        self._live = Live(
            get_renderable=self._next, console=console, refresh_per_second=REFRESHES_PER_S, transient=not stays
        )

    def __enter__(self) -> Frame:
        self._live.start(refresh=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the content, each line as long as what is on it."""
        lines = [_without_end(line) for line in console.render_lines(self.content, options, pad=False)]
        self._drawn = [Segment.get_line_length(line) for line in lines]
        for number, line in enumerate(lines):
            if number:
                yield Segment.line()
            yield from line

    def _next(self) -> RenderableType:
        width, height = self._console.size
        if self._drawn and (width < self._width or height != self._height):
            taken = rows(self._drawn, width)
            back = min(self._left, max(0, height - self._height))
            self._left = max(self._left - back, taken - height, 0)
            self._erase(taken + back, then_down=min(len(self._drawn), height) - 1)
        self._width, self._height = width, height
        return self

    def _erase(self, lines: int, *, then_down: int) -> None:
        """Erase the line of the cursor and those above it, and move the cursor down again."""
        up = f"\x1b[{lines - 1}A" if lines > 1 else ""
        self._console.file.write(f"\r{up}\x1b[J" + "\n" * then_down)


def rows(lengths: list[int], width: int) -> int:
    """Return the rows of a terminal of that width which lines of these lengths take."""
    return sum(max(1, -(-length // width)) for length in lengths)


def _without_end(line: list[Segment]) -> list[Segment]:
    """Return a line without the blanks at its end."""
    kept = list(line)
    while kept:
        text = kept[-1].text.rstrip(" ")
        if text:
            kept[-1] = Segment(text, kept[-1].style, kept[-1].control)
            break
        kept.pop()
    return kept

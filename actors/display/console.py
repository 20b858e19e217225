"""The console of the command line, for all output except messages on standard error (`say`): texts are escaped.

Names of files, answers of servers and texts of models are printed as text. Control characters in them are escaped, and
brackets are no markup.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from prism.quoting import printable_lines


class SafeConsole(Console):
    """A console whose texts are data. It keeps its own codes for colours, live displays and the cursor.

    It escapes texts after it has laid them out. A caller that wants room for the escapes calls `printable` first.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable_lines(segment.text), segment.style)


def echo(text: str, *, err: bool = False) -> None:
    """Print a text and a line end on standard output, or on standard error."""
    # A stream that is not named would be written in UTF-8 by click if its encoding is ASCII.
    click.echo(printable_lines(text), file=sys.stderr if err else sys.stdout)


def echo_file(content: str) -> None:
    """Print the content of a file on standard output: every byte unchanged, unless that is a terminal."""
    sys.stdout.write(printable_lines(content) if sys.stdout.isatty() else content)
    sys.stdout.flush()

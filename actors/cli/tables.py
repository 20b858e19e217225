"""Tables of the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from prism.quoting import printable

NONE = "-"
"""The cell of a value that there is not."""


def table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], title: str | None = None) -> Table:
    """Return a table whose texts are data.

    Args:
        columns: their names, `>` before that of a column of numbers, which is to the right and never broken. Without
            any name the table has no head.
    """
    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        header_style="bold",
        pad_edge=False,
        show_header=any(name.strip(">") for name in columns),
    )
    for name in columns:
        is_number = name.startswith(">")
        made.add_column(name.lstrip(">"), justify="right" if is_number else "left", no_wrap=is_number, overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    return made


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Return names in bold, each with its text."""
    made = Table.grid(padding=(0, 2))
    for name, text in rows:
        made.add_row(Text(name, style="bold"), Text(printable(text), overflow="fold"))
    return made


def interval(low: float | None, high: float | None, form: str = ".4g") -> str:
    """Return an interval in words; `-` if there is none."""
    return NONE if low is None or high is None else f"{low:z{form}} to {high:z{form}}"

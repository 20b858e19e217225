"""A chart of a page with all its parts: a title, the picture, one sentence, and a table with its numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from actors.pages.html import Element, Node, Picture, rendered, tag
from actors.pages.style import ROOMS
from actors.pages.words import count, pages_number

COLUMN = 1140
"""The width of the page's column in pixels; a wider picture is as wide as the window."""
ROWS_MAX = 60
"""The most rows of a table: it is for reading; `prism export` has all."""

_WORD = re.compile(r"[^\W\d]{2,}")
_OF_NUMBERS = frozenset({"model", "no", "of", "to", "under"})
"""The words that a cell with a number may have."""

_SIZES = re.compile(r' (?:viewBox|width|height)="[^"]*"')

Cell = Node | int | float | None
"""A cell of a table: whole numbers have separators, other numbers three significant digits; None is a dash."""


class Table(NamedTuple):
    """A table of numbers."""

    columns: Sequence[str]  # the names of its columns, with units; the first column names the row
    rows: Sequence[Sequence[Any]]  # of cells


class Chart(NamedTuple):
    """A chart."""

    title: str
    drawn: Any  # a chart of `actors.plots`
    reading: Node  # one or two sentences that say what it shows; they may hold a link
    table: Table
    is_wide: bool = False  # whether it keeps its size, in the whole width of the page


def chart_of(drawn: Any, table: Table, link: Node | None = None, *, is_wide: bool = False) -> Chart:
    """Return a chart of `actors.plots` with its numbers; its title and its caption are its own.

    `link`: stands behind the caption.
    """
    title = drawn.title if isinstance(drawn.title, str) else " ".join(drawn.title)
    reading = drawn.description if link is None else tag("span", f"{drawn.description} ", link, ".")
    return Chart(title, drawn, reading, table, is_wide)


def card(chart: Chart, name: str) -> Element:
    """Return a chart as an element of the page."""
    drawn = Picture(chart.drawn, name, chart.title)
    frame = scrolled(drawn, chart.title) if chart.is_wide else tag("div", drawn, class_="frame")
    is_broad = chart.is_wide and chart.drawn.width > COLUMN
    return tag(
        "figure",
        tag("h3", chart.title),
        frame,
        tag("figcaption", chart.reading),
        tag("details", tag("summary", "Numbers"), table_of(chart.table, chart.title)),
        class_=f"card{' wide' if chart.is_wide else ''}{' broad' if is_broad else ''}",
        id=name,
    )


def as_svg(chart: Picture) -> str:
    """Return a picture that needs no script."""
    from actors.plots.render import render  # noqa: PLC0415  # altair is an optional package

    svg = render(chart.chart)
    begin, end = svg.index("<svg"), svg.index(">") + 1
    title, name = rendered(tag("title", chart.title, id=f"{chart.name}-title")), f"{chart.name}-title"
    return f'<svg{"".join(_SIZES.findall(svg[begin:end]))} role="img" aria-labelledby="{name}">{title}{svg[end:]}'


def as_live(chart: Picture) -> str:
    """Return a picture that a script of the local page draws, with tooltips and zoom."""
    from actors.plots.render import live  # noqa: PLC0415  # altair is an optional package

    return rendered(tag("div", class_="live", role="img", aria_label=chart.title, data_chart=live(chart.chart)))


def table_of(table: Table, caption: str, *, is_shown: bool = False) -> Element:
    """Return a table as an element; in a box that is too narrow for it, its rows are lists.

    `is_shown`: whether the caption is visible; otherwise only screen readers read it.
    """
    rows, note = [[_shown(cell) for cell in row] for row in table.rows], None
    if (step := len(rows) / ROWS_MAX) > 1:
        rows = [rows[int(place * step)] for place in range(ROWS_MAX)]
        note = tag("p", f"{ROWS_MAX} of {len(table.rows):,} rows, evenly chosen.", class_="quiet")
    # Columns of numbers are aligned to the right.
    columns = zip(*rows, strict=True) if rows else [()] * len(table.columns)
    numbers = [all(_OF_NUMBERS.issuperset(_WORD.findall(_text(cell))) for cell in column) for column in columns]
    sides = [None if each and at else "text" for at, each in enumerate(numbers)]
    heads = zip(table.columns, sides, strict=True)
    head = tag("tr", *(tag("th", name, scope="col", class_=side) for name, side in heads))
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row", class_="text", data_column=table.columns[0] or None),
            *(
                tag("td", cell, class_=sides[at], data_column=table.columns[at])
                for at, cell in enumerate(row[1:], start=1)
            ),
        )
        for row in rows
    ]
    heading = tag("caption", caption, class_=None if is_shown else "unseen")
    looks = next((f"room-{room}" for least, room in ROOMS if len(table.columns) >= least), None)
    drawn = tag("table", heading, tag("thead", head), tag("tbody", *body), class_=looks)
    boxed = scrolled(drawn, f"Table: {caption}")
    return tag("div", boxed, note)


def _shown(cell: Cell) -> Node:
    if isinstance(cell, int):
        return count(cell)
    return pages_number(cell) if cell is None or isinstance(cell, float) else cell


def _text(cell: Node) -> str:
    return cell if isinstance(cell, str) else "".join(map(_text, getattr(cell, "children", ())))


def scrolled(content: Node, name: str) -> Element:
    """Return content in a box that scrolls sideways, also by the keyboard."""
    return tag("div", content, class_="scroll", tabindex=0, role="region", aria_label=name)

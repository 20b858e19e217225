"""A chart of a page with all its parts: a title, the picture, one sentence, and a table with its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from actors.pages.html import Element, Node, tag
from actors.pages.picture import picture
from actors.pages.style import room_for

COLUMN = 1140
"""The width of the page's column in pixels; a wider picture is as wide as the window."""
ROWS_MAX = 60
"""The most rows of a table: it is for reading; `prism export` has all."""

NAME_LETTERS = 7
"""The letters of a word in the first column that is not to be broken."""


class Table(NamedTuple):
    """A table of numbers."""

    columns: Sequence[str]  # the names of its columns, with units; the first column names the row
    rows: Sequence[Sequence[Node]]
    texts: frozenset[int] = frozenset({0})


class Chart(NamedTuple):
    """A chart."""

    title: str
    drawn: Figure | Element
    reading: Node  # one or two sentences that say what it shows; they may hold a link
    table: Table
    is_wide: bool = False  # whether it needs the whole width of the page
    key: tuple[tuple[str, str, str], ...] = ()  # the names of colours and marks, beside the picture


def card(chart: Chart, name: str, size: str) -> Element:
    """Return a chart as an element of the page.

    `size`: the part of a row that it takes: `third`, `half`, `whole`, or `wide` for a picture that needs all of it.
    """
    drawn = chart.drawn if isinstance(chart.drawn, Element) else picture(chart.drawn, name, chart.title)
    frame = tag("div", drawn, class_="frame")
    if chart.is_wide:
        frame = scrolled(drawn, chart.title)
    width = int(chart.drawn.attributes["width"]) if isinstance(chart.drawn, Element) else 0
    classes = f"card {size} broad" if chart.is_wide and width > COLUMN else f"card {size}"
    return tag(
        "figure",
        tag("h3", chart.title),
        _key(chart.key),
        frame,
        tag("figcaption", chart.reading),
        tag("details", tag("summary", "Numbers"), table_of(chart.table, chart.title)),
        class_=classes,
        id=name,
    )


def table_of(table: Table, caption: str, *, is_shown: bool = False, rows_max: int = ROWS_MAX) -> Element:
    """Return a table as an element; in a box that is too narrow for it, its rows are lists.

    Args:
        is_shown: whether the caption is visible; otherwise only screen readers read it.
        rows_max: the most rows; of more, some are chosen.
    """
    rows, more = list(table.rows), 0
    if len(rows) > rows_max:
        more = len(rows) - rows_max
        step = len(rows) / rows_max
        rows = [rows[int(place * step)] for place in range(rows_max)]
    head = tag("tr", *(tag("th", name, scope="col", class_=_side(table, at)) for at, name in enumerate(table.columns)))
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row", class_="text", data_column=table.columns[0] or None),
            *(
                tag("td", cell, class_=_side(table, at), data_column=table.columns[at])
                for at, cell in enumerate(row[1:], start=1)
            ),
        )
        for row in rows
    ]
    heading = tag("caption", caption, class_=None if is_shown else "unseen")
    # The classes of a table: one if its rows have names, and one for the width below which it is a list.
    columns = zip(*([_text(cell) for cell in row] for row in rows), strict=True) if rows else [()] * len(table.columns)
    named = zip(table.columns, columns, strict=True)
    room = room_for((name, cells, at in table.texts or not at) for at, (name, cells) in enumerate(named))
    is_named = any(len(word) >= NAME_LETTERS for row in rows for word in _text(row[0]).split())
    looks = " ".join([*(["named"] if is_named else []), *([f"room-{room}"] if room else [])]) or None
    drawn = tag("table", heading, tag("thead", head), tag("tbody", *body), class_=looks)
    boxed = scrolled(drawn, f"Table: {caption}")
    note = tag("p", f"{rows_max} of {len(table.rows):,} rows, evenly chosen.", class_="quiet") if more else None
    return tag("div", boxed, note)


def _text(cell: Node) -> str:
    return cell if isinstance(cell, str) else "".join(map(_text, cell.children))


def scrolled(content: Node, name: str) -> Element:
    """Return content in a box that scrolls sideways, also by the keyboard."""
    return tag("div", content, class_="scroll", tabindex=0, role="region", aria_label=name)


def _side(table: Table, column: int) -> str | None:
    return "text" if column in table.texts else None


def _key(key: Sequence[tuple[str, str, str]]) -> Element | None:
    """Return the names of colours and marks: `(mark, colour, name)` of each. Without a mark it is a coloured square."""
    if not key:
        return None
    names = [
        tag(
            "li",
            tag("span", mark, class_="shape", style=f"color: {color}", aria_hidden="true")
            if mark
            else tag("span", class_="swatch", style=f"background: {color}"),
            name,
        )
        for mark, color, name in key
    ]
    return tag("ul", *names, class_="key")

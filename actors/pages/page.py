"""Pages: elements, charts with their numbers, tables and sections, and a document of them that loads nothing.

Text is data: a name such as `<script>` is shown as it is. Only elements and pictures of `actors.plots` make markup;
texts are escaped when they are written, and nowhere else. Names of elements are the code's own, and are checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape, unescape
from importlib.resources import files
from typing import Any, Final, NamedTuple

from actors.pages.words import count, pages_number
from prism.experiment.answer import Answer
from prism.palette import DARK, LIGHT
from prism.quoting import visible
from prism.wording import counted

VOID: Final = frozenset({"br", "col", "hr", "img", "input", "link", "meta"})
RAW: Final = "style"  # the element whose text HTML does not unescape: style rules, which are the code's own

BLOCKS: Final = frozenset({"details", "div", "figure", "h2", "h3", "head", "li", "nav", "p", "section", "tr"})
"""Elements that are followed by a new line, for people who read the file."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9:-]*")


class Element(NamedTuple):
    name: str  # such as `p`
    attributes: dict[str, str]  # `{name: value}`, not yet escaped
    children: tuple[Node, ...]  # elements and texts, not yet escaped


class Picture(NamedTuple):
    """A chart on a page, which is drawn when the page is written."""

    chart: Any  # of `actors.plots`
    name: str  # its HTML id, which no other picture of the page has
    title: str  # its content in words, for screen readers


Node = Element | str | Picture
Draw = Callable[[Picture], str]
"""Draws a picture as HTML: a report as SVG without a script, the local page as one that a script brings to life."""


def _no_picture(picture: Picture) -> str:
    raise ValueError(f"expected a page without pictures, got {picture.title!r}")


def tag(name: str, /, *children: Node | None, **attributes: str | int | float | None) -> Element:
    """Return an element without what is None. `class_` is the attribute `class`, and `_` inside a name is `-`."""
    named = {key.rstrip("_").replace("_", "-"): str(value) for key, value in attributes.items() if value is not None}
    kept = tuple(child for child in children if child is not None)
    for each in (name, *named):
        if not _NAME.fullmatch(each) or each.startswith("on"):
            raise ValueError(f"expected the name of an element or attribute, got {each!r}")
    if name == RAW and any(not isinstance(child, str) or "<" in child for child in kept):
        raise ValueError("expected style rules without markup")
    return Element(name, named, kept)


def facts(pairs: Iterable[tuple[str, Node]], looks: str = "facts", label: str | None = None) -> Element:
    """Return names and values, side by side."""
    named = (tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs)
    return tag("dl", *named, class_=looks, aria_label=label)


def rendered(node: Node, draw: Draw = _no_picture) -> str:
    return "".join(_parts(node, draw))


def _parts(node: Node, draw: Draw) -> Iterator[str]:
    if isinstance(node, Picture | str):
        yield f"{draw(node)}\n" if isinstance(node, Picture) else escape(visible(node), quote=False)
        return
    attributes = "".join(f' {name}="{escape(visible(value))}"' for name, value in node.attributes.items())
    yield f"<{node.name}{attributes}>"
    if node.name in VOID:
        return
    for child in node.children:
        if node.name == RAW and isinstance(child, str):
            yield child
        else:
            yield from _parts(child, draw)
    yield f"</{node.name}>"
    if node.name in BLOCKS:
        yield "\n"


# Parts

COLUMN = 1140  # the width of the page's column in pixels; a wider picture is as wide as the window
ROWS_MAX = 60  # the most rows of a table: it is for reading; `prism export` has all
SHOWN_MAX = 4  # the most answers at the top of a page
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
ROOMS: Final = ((8, 1000), (6, 760), (4, 556), (3, 440))
"""`(columns, width)`: a table with so many columns is a list in a box that is narrower, in pixels."""
_LISTED = """
@container (max-width: {width}px) {{
  .room-{room}, .room-{room} :is(tbody, tr, th, td) {{ display: block; }}
  .room-{room} thead {{ display: none; }}
  .room-{room} caption {{ display: block; }}
  .room-{room} tbody tr {{ padding: 6px 0; border-bottom: 1px solid var(--line); }}
  .room-{room} tbody :is(th, td, th.text, td.text) {{ border: 0; padding: 1px 0; text-align: left; white-space: normal;
    overflow-wrap: anywhere; }}
  .room-{room} tbody th {{ font-weight: 620; }}
  .room-{room} tbody th::before {{ content: attr(data-column) " "; color: var(--quiet); font-weight: 400; }}
  .room-{room} tbody td {{ display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); column-gap: 12px; }}
  .room-{room} tbody td::before {{ content: attr(data-column); color: var(--quiet); }}
  .room-{room} tbody :is(th, td):empty {{ display: none; }}
}}
"""
_WORD = re.compile(r"[^\W\d]{2,}")
_OF_NUMBERS = frozenset({"model", "no", "of", "to", "under"})  # the words that a cell with a number may have
_SIZES = re.compile(r' (?:viewBox|width|height)="[^"]*"')
_PICTURE = re.compile(
    r"<h3>([^<]*)</h3>\s*<div [^>]*>(<svg.*?</svg>)\s*</div>\s*<figcaption>(.*?)</figcaption>", re.DOTALL
)
_TAG, _NO_WORD = re.compile(r"<[^>]*>"), re.compile(r"[^a-z0-9]+")


class Table(NamedTuple):
    """A table of numbers: whole ones get separators, others three significant digits; None is a dash."""

    columns: Sequence[str]  # the names of its columns, with units; the first column names the row
    rows: Sequence[Sequence[Any]]  # of cells: `Node | int | float | None`


class Chart(NamedTuple):
    """A chart of `actors.plots`, which has a title and a caption, with its numbers."""

    drawn: Any
    table: Table
    link: Node | None = None  # stands behind the caption
    is_wide: bool = False  # whether it keeps its size, in the whole width of the page

    @property
    def title(self) -> str:
        title: str | list[str] = self.drawn.title
        return title if isinstance(title, str) else " ".join(title)

    @property
    def reading(self) -> Node:
        told: str = self.drawn.description
        return told if self.link is None else tag("span", f"{told} ", self.link, ".")


class Section(NamedTuple):
    name: str
    title: str
    parts: list[Node]  # the content below the heading

    @property
    def drawn(self) -> Element:
        return tag("section", tag("h2", self.title), *self.parts, id=self.name)


def grid(charts: Sequence[Chart], name: str) -> Element:
    """Return charts side by side, as many in a row as there is room for, each with its title, caption and numbers."""
    cards = []
    for place, chart in enumerate(charts):
        drawn = Picture(chart.drawn, f"{name}-{place}", chart.title)
        is_broad = chart.is_wide and chart.drawn.width > COLUMN
        cards.append(
            tag(
                "figure",
                tag("h3", chart.title),
                scrolled(drawn, chart.title) if chart.is_wide else tag("div", drawn, class_="frame"),
                tag("figcaption", chart.reading),
                tag("details", tag("summary", "Numbers"), table_of(chart.table, chart.title, is_shown=False)),
                class_=f"card{' wide' if chart.is_wide else ''}{' broad' if is_broad else ''}",
                id=drawn.name,
            )
        )
    return tag("div", *cards, class_="charts")


def as_svg(chart: Picture) -> str:
    from actors.plots.render import render  # noqa: PLC0415  # altair is an optional package

    svg, name = render(chart.chart), f"{chart.name}-title"
    begin, end = svg.index("<svg"), svg.index(">") + 1
    title, sizes = rendered(tag("title", chart.title, id=name)), "".join(_SIZES.findall(svg[begin:end]))
    return f'<svg{sizes} role="img" aria-labelledby="{name}">{title}{svg[end:]}'


def as_live(chart: Picture) -> str:
    from actors.plots.render import live  # noqa: PLC0415  # altair is an optional package

    return rendered(tag("div", class_="live", role="img", aria_label=chart.title, data_chart=live(chart.chart)))


def table_of(table: Table, caption: str, *, is_shown: bool = True) -> Element:
    """Return a table as an element; in a box that is too narrow for it, its rows are lists."""
    rows, note = [[_shown(cell) for cell in row] for row in table.rows], None
    if (step := len(rows) / ROWS_MAX) > 1:
        rows = [rows[int(place * step)] for place in range(ROWS_MAX)]
        note = tag("p", f"{ROWS_MAX} of {len(table.rows):,} rows, evenly chosen.", class_="quiet")
    # Columns of numbers are aligned to the right.
    columns = zip(*rows, strict=True) if rows else [()] * len(table.columns)
    numbers = [all(_OF_NUMBERS.issuperset(_WORD.findall(_text(cell))) for cell in column) for column in columns]
    sides = [None if each and at else "text" for at, each in enumerate(numbers)]
    heads = [tag("th", name, scope="col", class_=side) for name, side in zip(table.columns, sides, strict=True)]
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row", class_="text", data_column=table.columns[0] or None),
            *(tag("td", row[at], class_=sides[at], data_column=table.columns[at]) for at in range(1, len(row))),
        )
        for row in rows
    ]
    heading = tag("caption", caption, class_=None if is_shown else "unseen")
    looks = next((f"room-{room}" for least, room in ROOMS if len(table.columns) >= least), None)
    drawn = tag("table", heading, tag("thead", tag("tr", *heads)), tag("tbody", *body), class_=looks)
    return tag("div", scrolled(drawn, f"Table: {caption}"), note)


def _shown(cell: Any) -> Node:
    if isinstance(cell, int):
        return count(cell)
    shown: Node = pages_number(cell) if cell is None or isinstance(cell, float) else cell
    return shown


def _text(cell: Node) -> str:
    return cell if isinstance(cell, str) else "".join(map(_text, getattr(cell, "children", ())))


def scrolled(content: Node, name: str) -> Element:
    return tag("div", content, class_="scroll", tabindex=0, role="region", aria_label=name)


def missing(text: str) -> Element:
    return tag("p", text, class_="quiet")


def noticed(texts: Iterable[str]) -> list[Node]:
    return [tag("p", text, class_="notice") for text in texts]


def figures(told: Iterable[tuple[str, str]]) -> Element:
    items = (
        tag("div", tag("dt", name), tag("dd", value, class_="small" if len(value) > 9 else None))
        for name, value in told
    )
    return tag("dl", *items, class_="figures")


def lead_of(answers: Sequence[Answer], limits: str) -> Element:
    """Return the answers to the hypotheses, and in one paragraph their limits: caveats, versions and inputs."""
    parts: list[Node] = []
    for answer in answers[:SHOWN_MAX]:
        named = tag("span", answer.hypothesis, class_="quiet") if len(answers) > 1 and answer.hypothesis else None
        parts.append(tag("p", f"{answer.text} ", named, class_="answer"))
    if len(answers) > SHOWN_MAX:
        parts.append(missing(f"{counted(len(answers) - SHOWN_MAX, 'answer')} more stand below."))
    return tag("div", *parts, tag("p", limits, class_="limits quiet"), class_="answers")


def document(title: str, header: Element, sections: Iterable[Section | None], on_step: Callable[[str], None]) -> str:
    """Return a page as an HTML document that loads nothing. `on_step`: called with each title, before it is drawn."""
    kept = list[Section]()
    for section in filter(None, sections):
        on_step(section.title)
        kept.append(section)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="robots", content="noindex"),
        tag("title", title),
        tag("style", report_css()),
    )
    links = [tag("li", tag("a", section.title, href=f"#{section.name}")) for section in kept]
    body = tag(
        "body",
        header,
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *(section.drawn for section in kept)),
        tag("footer", tag("p", "Made by prism report. The file needs no network; save it, send it, print it.")),
    )
    return f"<!DOCTYPE html>\n{rendered(tag('html', head, body, lang='en'), as_svg)}\n"


def report_css() -> str:
    """Return the style rules: light, and dark where the reader's system or `data-theme` on the root asks for it."""
    light, dark = (
        " ".join([f"color-scheme: {scheme};", *(f"--{name}: {color};" for name, color in colors.items())])
        for scheme, colors in (("light", LIGHT), ("dark", DARK))
    )
    rules = files("actors.pages").joinpath("page.css").read_text(encoding="utf-8")
    listed = "".join(_LISTED.format(width=room - 1, room=room) for _, room in ROOMS)
    return (
        f":root {{ {light} }}\n"
        f'@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}\n'
        f'@media screen {{ :root[data-theme="dark"] {{ {dark} }} }}\n'
        f"\n{rules.replace('/* LISTED TABLES */', listed, 1)}"
    )


def pictures(html: str) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures of a page as files for a paper: `(name, content)` of SVG, PDF and PNG; and their captions."""
    from actors.plots.render import as_files  # noqa: PLC0415  # altair is an optional package

    captions = []
    for place, found in enumerate(_PICTURE.finditer(html), start=1):
        title, svg, caption = (unescape(_TAG.sub("", found[1])), found[2], unescape(_TAG.sub("", found[3])))
        name = f"{place:02}-{_NO_WORD.sub('-', title.lower()).strip('-')[:60]}"
        captions.append(f"{name}: {title}. {caption}\n")
        drawn = svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
        for ending, content in as_files(drawn).items():
            yield f"{name}.{ending}", content
    yield "captions.txt", "".join(captions).encode()

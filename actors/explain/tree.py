"""An explanation as one tree of nodes, for JSON, a terminal and a page: `actors.view.explainer` makes HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import msgspec
from rich.cells import cell_len

from prism.quoting import compact, printable

BLOCKS: Final = frozenset({"turn", "post", "change", "nation", "hint"})
"""The kinds of nodes that have a heading in place of a label."""
TEXT: Final = "text"  # the kind of a literal text of a person or a model; its value has the `name` of the text
COLUMNS: Final = "columns"  # the kind of the row with which a table begins: the headings
WIDTH = 80  # the columns of a line, unless a word alone is longer
DEEPEST = 12  # the indent from which lines are not indented further, so that they fit into `WIDTH`
_NUMBER = re.compile(r"[-+]?[\d,.]+%?")


class Node(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fact, in words and as values, with the facts below it. `docs/cause.md` lists the kinds."""

    kind: str
    text: str = ""  # in words; empty if the values are its words
    value: dict[str, Any] = {}  # JSON values by name
    cells: tuple[str, ...] = ()  # the texts of a row of a table
    indent: int = 0  # of a block, such as the depth of a post in its cascade
    children: tuple[Node, ...] = ()

    @property
    def words(self) -> str:
        return self.text or ", ".join(f"{name} {compact(value)}" for name, value in self.value.items())

    def all(self, kind: str) -> Iterator[Node]:
        for each in self.children:
            if each.kind == kind:
                yield each
            yield from each.all(kind)


def lines(tree: Node) -> Iterator[str]:
    """Yield a tree in lines for a terminal. Texts are data: no escape in them reaches it."""
    yield from _wrapped("", tree.words)
    yield from _below(tree.children, "  ", "  ")


def _below(nodes: Sequence[Node], block: str, head: str) -> Iterator[str]:
    """Yield nodes that stand below another one. `block`, `head`: the indents of their block, and of their labels."""
    before = ""
    for group in grouped(nodes):
        each = group[0]
        if each.cells:
            yield from _table(group)
        elif each.kind in BLOCKS:
            indent = "  " * min(each.indent, DEEPEST)
            yield ""
            yield from _wrapped(indent, each.words)
            yield from _below(each.children, f"{indent}  ", f"{indent}  ")
        elif each.kind == TEXT:
            if name := each.value.get("name"):
                yield printable(f"{block}  {name}")
            bar = f"{block}{'  ' if name else ''}| "
            for line in each.text.split("\n"):
                yield from _wrapped(bar, line)
        else:
            # Labels of a block are a column; those below them are the beginning of a line.
            room = 10 if head == block else len(each.kind) + 1
            label = "" if each.kind == before else each.kind
            yield from _wrapped(printable(f"{head}{label:<{room - 1}} "), each.words, head + " " * room)
            yield from _below(each.children, block, head + " " * (room + 6))
        before = each.kind


def grouped(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Yield the rows of each table together, and every other node alone."""
    rows: list[Node] = []
    for each in nodes:
        if rows and (not each.cells or each.kind == COLUMNS):
            yield rows
            rows = []
        if each.cells:
            rows.append(each)
        else:
            yield [each]
    if rows:
        yield rows


def _table(rows: Sequence[Node]) -> Iterator[str]:
    """Yield the rows of a table: numbers are aligned to the right, and texts in the last column are wrapped."""
    texts = [[printable(cell) for cell in row.cells] for row in rows]
    columns = [*zip(*texts, strict=True)]
    widths = [max(map(cell_len, column)) for column in columns]
    bodies = [[cell for cell, row in zip(column, rows, strict=True) if row.kind != COLUMNS] for column in columns]
    is_number = [all(map(_NUMBER.fullmatch, filter(None, body))) for body in bodies]
    yield ""
    for row in texts:
        cells = [
            f"{' ' * (width - cell_len(cell))}{cell}" if right else f"{cell}{' ' * (width - cell_len(cell))}"
            for cell, width, right in zip(row, widths, is_number, strict=True)
        ]
        head = "  ".join(["", *cells[:-1], ""]) + " " * (len(cells[-1]) - len(cells[-1].lstrip()))
        yield from _wrapped(head, row[-1], " " * min(cell_len(head), WIDTH // 2))


def _wrapped(head: str, text: str, rest: str | None = None) -> Iterator[str]:
    """Yield a text in lines of `WIDTH` columns, the first after `head` and each other one after `rest`."""
    rest = head if rest is None else rest
    line, before = "", head
    for word in printable(text).split(" "):
        longer = f"{line} {word}" if line else word
        if line and cell_len(before) + cell_len(longer) > WIDTH:
            yield f"{before}{line}"
            line, before = word, rest
        else:
            line = longer
    yield f"{before}{line}".rstrip()


def shares(probabilities: Mapping[str, float]) -> str:
    """Return probabilities in words, the largest first."""
    ordered = sorted(probabilities.items(), key=lambda each: -each[1])
    return ", ".join(f"{name} {share:.3f}" for name, share in ordered)


def plain(value: Any) -> Any:
    """Return a value as JSON values: a record as an object with its fields, even if it is encoded as an array.

    A number that JSON cannot express, and a value of any other kind, becomes a text as Python shows it.
    """
    match value:
        case msgspec.Struct():
            found: Any = {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        case Enum():
            found = plain(value.value)
        case Mapping():
            found = {str(name): plain(each) for name, each in value.items()}
        case list() | tuple():
            found = [plain(each) for each in value]
        case set() | frozenset():
            found = [plain(each) for each in sorted(value, key=repr)]
        case float() if not math.isfinite(value):
            found = repr(value)
        case _:
            try:
                found = msgspec.to_builtins(value)
            except (TypeError, ValueError):
                found = repr(value)
    return found

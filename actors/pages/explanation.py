"""An explanation as a part of a page: the tree of `actors.explain`, node by node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from actors.explain.tree import BLOCKS, TEXT, Node, grouped
from actors.pages.card import Table, table_of
from actors.pages.html import Element, facts, tag
from actors.pages.words import text_of

CODE = frozenset({"if", "error", "set"})
"""The kinds of nodes whose words are code."""
_LABELS: Final = {
    "context": "what it saw",
    "did": "what it did",
    "embedded": "probabilities",
    "followed": "what came of it",
    "profile": "who it was",
    "row": "rules",
    "values": "the numbers in the rules",
}
"""`{kind: words}` of labels; other kinds are words."""
_HIDDEN: Final = frozenset({"id", "origin"})
"""The values that are numbers for machines."""


def explanation(tree: Node) -> Element:
    return tag("div", tag("p", tag("strong", tree.words)), *_below(tree.children), class_="explanation")


def _below(nodes: Sequence[Node]) -> Iterator[Element]:
    """Yield nodes that stand below another one: tables, texts, blocks with a heading, and lists of labelled facts."""
    for is_fact, found in groupby(
        grouped(nodes), lambda rows: not rows[0].cells and rows[0].kind not in (*BLOCKS, TEXT)
    ):
        if is_fact:
            yield tag("dl", *_facts([row for rows in found for row in rows]))
            continue
        for rows in found:
            first = rows[0]
            if first.cells:
                head, *cells = (each.cells for each in rows)
                yield table_of(Table(head, cells), head[0])
            elif first.kind == TEXT:
                if name := first.value.get("name"):
                    yield tag("h4", name)
                yield tag("pre", first.text, tabindex=0)
            else:
                yield tag("section", tag("h3", first.words), *_below(first.children))


def _facts(nodes: Sequence[Node]) -> Iterator[Element]:
    before = ""
    for each in nodes:
        if each.kind != before:
            yield tag("dt", _LABELS.get(each.kind, each.kind.replace("_", " ")))
        before = each.kind
        words = " ".join(each.words.replace(" --", " → ").replace("--> ", " → ").replace(" -> ", " → ").split())
        said = tag("code", each.words) if each.kind in CODE else tag("span", words)
        if not each.text:
            hidden = _HIDDEN | ({"author"} if "author_name" in each.value else set())
            told = {name: text_of(value) for name, value in each.value.items() if name not in hidden}
            said = facts((name.replace("_", " "), value) for name, value in told.items() if value)
        is_taken = each.value.get("is_taken")
        yield tag("dd", tag("strong", said) if is_taken else said, *_below(each.children))

"""An explanation as a part of a page: the tree of `actors.explain`, node by node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from actors.explain.tree import BLOCKS, TEXT, Node, grouped
from actors.pages.card import Table, table_of
from actors.pages.html import Element, tag
from prism.quoting import compact

CODE = frozenset({"if", "error", "set"})
"""The kinds of nodes whose words are code."""


def explanation(tree: Node) -> Element:
    return tag("div", tag("p", tag("strong", tree.words)), *_below(tree.children), class_="explanation")


def _below(nodes: Sequence[Node]) -> Iterator[Element]:
    """Yield nodes that stand below another one: tables, texts, blocks with a heading, and lists of labelled facts."""
    for is_fact, groups in groupby(
        grouped(nodes), lambda each: not each[0].cells and each[0].kind not in {*BLOCKS, TEXT}
    ):
        if is_fact:
            yield tag("dl", *_facts([each for group in groups for each in group]))
            continue
        for group in groups:
            first = group[0]
            if first.cells:
                head, *rows = (each.cells for each in group)
                yield table_of(Table(head, rows, frozenset(range(len(head)))), head[0])
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
            yield tag("dt", each.kind.replace("_", " "))
        before = each.kind
        words = tag("code", each.words) if each.kind in CODE else each.words
        if not each.text:
            pairs = ((name.replace("_", " "), compact(value)) for name, value in each.value.items())
            words = tag("span", ", ".join(f"{name} {value}" for name, value in pairs))
        is_taken = "taken" if each.value.get("is_taken") else None
        yield tag("dd", words, _shares(each), *_below(each.children), class_=is_taken)


def _shares(node: Node) -> Element | None:
    """Return the probabilities that a node has as bars."""
    bars = [
        tag(
            "li",
            tag("span", name),
            tag("progress", max=1, value=share, aria_hidden="true"),
            tag("span", f"{share:.1%}"),
        )
        for name, share in (node.value.get("probabilities") or {}).items()
        if node.kind != "replied"  # a text below it has them
    ]
    return tag("ul", *bars, class_="options") if bars else None

"""An explanation as a part of a page: the tree of `actors.explain`, node by node."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from actors.explain.tree import BLOCKS, TEXT, Node, grouped
from actors.pages.card import Table, table_of
from actors.pages.html import Element, facts, tag
from actors.pages.words import text_of

CODE = frozenset({"if", "error", "set"})
"""The kinds of nodes whose words are code."""
ROW: Final = "row"
_LABELS: Final = {
    "context": "what it saw",
    "did": "what it did",
    "embedded": "probabilities",
    "followed": "what came of it",
    "profile": "who it was",
    "values": "the numbers in the rules",
}
"""`{kind: words}` of labels; other kinds are words."""
_OUTCOMES: Final = {
    "true": "holds",
    "needs_oracle": "asks the oracle",
    "else": "holds, because no rule before it does",
    "raised": "does not hold: an error",
    "not_asked": "not looked at",
    "not_needed": "not looked at",
}
"""`{outcome of a row of the chart: words}`; any other does not hold."""
_ARROW: Final = re.compile(r"^(\w+) --(\w+)--> (.*)$")
_HIDDEN: Final = frozenset({"id", "origin"})
"""The values that are numbers for machines."""


def explanation(tree: Node) -> Element:
    return tag("div", tag("p", tag("strong", tree.words)), *_below(tree.children), class_="explanation")


def _below(nodes: Sequence[Node]) -> Iterator[Element]:
    """Yield nodes that stand below another one: tables, texts, blocks with a heading, and lists of labelled facts."""

    def kind_of(group: list[Node]) -> str:
        first = group[0]
        return "table" if first.cells else first.kind if first.kind in {*BLOCKS, TEXT, ROW} else "fact"

    for kind, found in groupby(grouped(nodes), kind_of):
        groups = list(found)
        if kind == "fact":
            yield tag("dl", *_facts([each for group in groups for each in group]))
        elif kind == ROW:
            yield _rules([each for group in groups for each in group])
        for group in groups if kind not in {"fact", ROW} else ():
            first = group[0]
            if first.cells:
                head, *rows = (each.cells for each in group)
                yield table_of(Table(head, rows), head[0])
            elif first.kind == TEXT:
                if name := first.value.get("name"):
                    yield tag("h4", name)
                yield tag("pre", first.text, tabindex=0)
            else:
                yield tag("section", tag("h3", first.words), *_below(first.children))


def _rules(rows: Sequence[Node]) -> Element:
    """Return the rows of the chart as a table: each with its condition and what became of it."""
    cells = []
    for row in rows:
        below = [tag("code", each.text) for each in row.children if each.kind in CODE]
        outcome = _OUTCOMES.get(row.value.get("outcome", ""), "does not hold" if row.value else row.text)
        name = _ARROW.sub(r"\2: \1 → \3", str(row.value.get("name", row.text)))
        is_taken = row.value.get("is_taken")
        cells.append(
            (
                tag("strong", name) if is_taken else name,
                tag("span", *below),
                f"{outcome}{' ✓ taken' if is_taken else ''}",
            )
        )
    return table_of(Table(("rule", "if", "outcome"), cells), "Rules of the chart", is_shown=True)


def _facts(nodes: Sequence[Node]) -> Iterator[Element]:
    before = ""
    for each in nodes:
        if each.kind != before:
            yield tag("dt", _LABELS.get(each.kind, each.kind.replace("_", " ")))
        before = each.kind
        words = tag("code", each.words) if each.kind in CODE else each.words.replace(" -> ", " → ")
        if not each.text:
            hidden = _HIDDEN | ({"author"} if "author_name" in each.value else set())
            told = {name: text_of(value) for name, value in each.value.items() if name not in hidden}
            words = facts((name.replace("_", " "), value) for name, value in told.items() if value)
        # The probabilities that a node has as bars.
        bars = [
            tag(
                "li",
                tag("span", name),
                tag("progress", max=1, value=share, aria_hidden="true"),
                tag("span", f"{share:.1%}"),
            )
            for name, share in (each.value.get("probabilities") or {}).items()
            if each.kind != "replied"  # a text below it has them
        ]
        yield tag("dd", words, tag("ul", *bars, class_="options") if bars else None, *_below(each.children))

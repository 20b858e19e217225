"""Turns worked out again for the page, in another process, and shown on it: the tree of `actors.explain`.

It takes as long as a replay, and may take its memory. One turn is worked out at a time, and none for longer than a
limit. So neither the page nor a run under way waits.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec

from actors.core.errors import RunDirectoryError
from actors.explain.tree import BLOCKS, TEXT, Node, grouped
from actors.pages.page import Element, Table, facts, table_of, tag
from actors.pages.words import text_of

LIMIT_S = 180.0
EXPLAIN = (sys.executable, "-P", "-m", "actors.cli", "explain")
"""The command that works out a turn. With `-P` Python imports nothing from the current directory, which may hold other
people's runs."""


class Explainer:
    """A worker that explains turns by a command. A later question ends an earlier one that is being worked out."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        if (process := self._process) is not None:
            process.kill()

    def get(self, path: Path, agent: int, tick: int) -> Element:
        """Return an agent's turns in a tick as a part of the page, or raise a RunDirectoryError. It blocks."""
        if not self._command:
            raise RunDirectoryError("turns are not worked out here")
        arguments = ("--agent", str(agent), "--tick", str(tick))
        command = (*self._command, str(path.resolve()), *arguments, "--json", "--log-format", "json")
        self.close()
        with self._lock:
            try:
                with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603  # our own
                    self._process = process
                    try:
                        out, err = process.communicate(timeout=LIMIT_S)
                    except subprocess.TimeoutExpired:
                        process.kill()
                        asked = f"ask `prism explain {path} {' '.join(arguments)}`"
                        raise RunDirectoryError(f"it takes more than {LIMIT_S:g} s: {asked}") from None
                    finally:
                        self._process = None
            except (OSError, ValueError) as error:
                raise RunDirectoryError(f"the command cannot be begun: {error}") from error
        if process.returncode:
            problem = "it could not be worked out, or another turn was asked for"
            for line in err.splitlines():
                with suppress(msgspec.MsgspecError):
                    problem = str(msgspec.json.decode(line, type=dict[str, object]).get("error", problem))
            raise RunDirectoryError(problem)
        return explanation(msgspec.json.decode(out, type=Node))


CODE = frozenset({"if", "error", "set"})  # the kinds of nodes whose words are code
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
_HIDDEN: Final = frozenset({"id", "origin"})  # the values that are numbers for machines


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
                yield table_of(Table(head, cells), head[0], is_shown=False)
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

"""The words of the source: docstrings begin plainly, and one thing has one word."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.paths import ROOT

PACKAGES = ("actors", "prism", "deploy", "benchmarks")
"""The packages that are checked."""

RIDDLES = frozenset({"What", "How", "Whether", "Who", "Whose", "Whom", "Where", "Which", "When", "That", "Nobody"})
RIDDLES |= {"Somebody", "Whoever", "Whatever", "Why"}
"""First words of a docstring that say neither what is defined nor what is done."""

NOUNS = frozenset({"The", "A", "An", "Its", "Their", "Every", "All", "Each"})
"""First words that define a noun: a class or a property is one, and a function does something."""

SENT_TO_MODELS = frozenset({"Whether an action belongs to the domain.", "What an action does to the interest rate."})
"""Docstrings in prism/models.py that are data: they are in JSON schemas, and the keys of tapes are made from these."""

BANNED = {
    "earlier life": "an earlier process",
    "later life": "a later process",
    "let it go": "discard it",
    "lets? go of": "close, release",
    "consultation": "call",
    "verdict": "decision, or a validator's verdict",
    "ordeal": "trial",
    "strangers?": "reader",
    "watchers?": "observer, or display",
    "spectator": "observer",
    "tally": "statistics, or counts",
}
"""`{pattern: the word to use}`."""

VALIDATORS = ("prism/economy", "prism/validators")
"""A validator gives a verdict; nothing else does."""


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def docstrings(tree: ast.Module) -> Iterator[tuple[ast.AST, int, str]]:
    """Every docstring with what it describes and its line; those below an attribute too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if text := ast.get_docstring(node):
                yield node, getattr(node, "lineno", 1), text
            for statement, after in pairwise(node.body):
                if isinstance(statement, ast.Assign | ast.AnnAssign) and (text := constant_text(after)):
                    yield statement, after.lineno, text


def constant_text(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return statement.value.value if isinstance(statement.value.value, str) else ""
    return ""


def is_plain_function(node: ast.AST) -> bool:
    """Whether a docstring of this node describes an action: of a function that is no property."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not any(
        "property" in ast.unparse(decorator) for decorator in node.decorator_list
    )


def misbegun(source: str) -> Iterator[tuple[int, str]]:
    """Line and first line of every docstring that does not begin as it should."""
    for node, line, text in docstrings(ast.parse(source)):
        first = re.split(r"\W", text, maxsplit=1)[0]
        summary = text.splitlines()[0]
        if summary not in SENT_TO_MODELS and (first in RIDDLES or (is_plain_function(node) and first in NOUNS)):
            yield line, summary


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_begin_with_a_verb_or_the_noun_that_they_define(package: str) -> None:
    faults = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in modules(package)
        for line, text in misbegun(path.read_text(encoding="utf-8"))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("package", PACKAGES)
def test_one_thing_has_one_word(package: str) -> None:
    faults = [
        f"{path.relative_to(ROOT)}: {found.group()!r} is {word}"
        for path in modules(package)
        for pattern, word in BANNED.items()
        if not (pattern == "verdict" and str(path.relative_to(ROOT)).startswith(VALIDATORS))
        for found in re.finditer(rf"\b({pattern})\b", path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ('"""What it is."""', True),
        ('def f():\n    """The sum."""', True),
        ('@property\ndef f():\n    """The sum."""', False),
        ('x = 1\n"""Whether it is."""', True),
        ('class C:\n    """A class."""\n\n    x: int = 1\n    """How much."""', True),
        ('"""A module."""\n\ndef f():\n    """Return the sum."""', False),
    ],
)
def test_the_check_sees_a_docstring_wherever_it_stands(source: str, is_found: bool) -> None:
    assert bool(list(misbegun(source))) == is_found

"""The words of the source: docstrings begin plainly, and one thing has one word."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.paths import ROOT
from tests.source import Module, modules, parse

PACKAGES = ("actors", "prism", "deploy", "benchmarks")
"""The packages that are checked."""

RIDDLES = frozenset({"What", "How", "Whether", "Who", "Whose", "Whom", "Where", "Which", "When", "That", "Nobody"})
RIDDLES |= {"Somebody", "Whoever", "Whatever", "Why"}
"""First words of a docstring that say neither what is defined nor what is done."""

NOUNS = frozenset({"The", "A", "An", "Its", "Their", "Every", "All", "Each"})
"""First words that define a noun: a class or a property is one, and a function does something."""

SENT_TO_MODELS = frozenset({"Whether an action belongs to the domain.", "What an action does to the interest rate."})
"""Docstrings in prism/models/answers.py that are data: they are in JSON schemas, from which keys of tapes are made."""

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


@pytest.fixture(scope="module", autouse=True)
def _parsed() -> None:
    """Parse every module before the first test, which would be the slowest of all."""
    for package in PACKAGES:
        modules(package)


def misbegun(module: Module) -> Iterator[tuple[int, str]]:
    """Line and first line of every docstring that does not begin as it should."""
    for docstring in module.docstrings:
        word = re.split(r"\W", docstring.first, maxsplit=1)[0]
        is_riddle = word in RIDDLES or (docstring.is_of_a_function and word in NOUNS)
        if is_riddle and docstring.first not in SENT_TO_MODELS:
            yield docstring.line, docstring.first


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_begin_with_a_verb_or_the_noun_that_they_define(package: str) -> None:
    faults = [
        f"{module.path.relative_to(ROOT)}:{line}: {text}"
        for module in modules(package)
        for line, text in misbegun(module)
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("package", PACKAGES)
def test_one_thing_has_one_word(package: str) -> None:
    faults = [
        f"{module.path.relative_to(ROOT)}: {found.group()!r} is {word}"
        for module in modules(package)
        for pattern, word in BANNED.items()
        if not (pattern == "verdict" and str(module.path.relative_to(ROOT)).startswith(VALIDATORS))
        for found in re.finditer(rf"\b({pattern})\b", module.text, re.IGNORECASE)
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
    assert bool(list(misbegun(parse(source)))) == is_found

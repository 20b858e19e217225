"""The JSON objects within the text of a model's answer, and the one of them that counts: the last that can be read.

A model may think before it answers, and name in its thoughts what it then rejects. So what stands between tags of
reasoning does not count, and of several objects the last one does.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

_MOST = 100
"""The number of objects kept, the last ones of a text: more are no answer."""

_TAG = re.compile(
    r"<(?P<closes>/?)(?:think|thinking|reasoning|thought)\b[^<>]{0,100}>|\[(?P<closes_too>/?)THINK\]", re.IGNORECASE
)
"""A tag around reasoning: `<think>`, or `[THINK]` as Mistral's models write it."""

_SPACE = r"[ \t\n\r]*+"
_STRING = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
_KEY = rf"{_STRING}{_SPACE}:{_SPACE}"
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"

# Repetitions are possessive: a text that does not match is not read twice.
_BEGINNING = re.compile(rf'\{{(?={_SPACE}["}}])')
_VALUE = re.compile(
    rf"(?P<empty>\{{{_SPACE}\}}|\[{_SPACE}\])|(?P<opens>\{{{_SPACE}{_KEY}|\[{_SPACE})"
    rf"|(?P<scalar>{_STRING}|{_NUMBER}|true|false|null)"
)
_IN_OBJECT = re.compile(rf"{_SPACE}(?:(?P<closes>\}})|(?P<more>,{_SPACE}{_KEY}))")
_IN_ARRAY = re.compile(rf"{_SPACE}(?:(?P<closes>\])|(?P<more>,{_SPACE}))")


def read_answer(text: str, read: Callable[[str], T], errors: tuple[type[Exception], ...]) -> T:
    """Return the answer in a text: the text itself, or the last object in it that can be read.

    Args:
        read: returns the answer that a JSON text holds.
        errors: what `read` raises if it holds none.

    Raises:
        Exception: one of `errors`: that of the last object, or of the text if there is no object in it.
    """
    problem: Exception | None = None
    for number, candidate in enumerate(_candidates(text)):
        try:
            return read(candidate)
        except errors as error:
            problem = error if number < 2 else problem  # the first two are the text, and the last object in it
    if problem is None:
        raise AssertionError("the text itself is a candidate")
    raise problem


def extract_object(text: str) -> str | None:
    """Return the last JSON object in the text that is not reasoning; None if there is none."""
    said, unfinished = without_reasoning(text)
    found = json_objects(said) or json_objects(unfinished)
    return found[-1] if found else None


def _candidates(text: str) -> Iterator[str]:
    yield text  # as it is: a text in an answer may have tags and braces
    for part in without_reasoning(text):
        yield from reversed(json_objects(part))


def without_reasoning(text: str) -> tuple[str, str]:
    """Return `(the text outside of reasoning, the text after an opening tag that no closing one follows)`.

    Before a closing tag without an opening one, all is reasoning: some servers put the opening tag into the prompt. An
    answer that was cut is refused earlier, so one whose reasoning never closes may still end with what was asked for.
    """
    said: list[str] = []
    start, is_open = 0, False
    for tag in _TAG.finditer(text):
        if tag["closes"] or tag["closes_too"]:
            if not is_open:
                said.clear()
            start, is_open = tag.end(), False
        elif not is_open:
            said.append(text[start : tag.start()])
            start, is_open = tag.end(), True
    said.append("" if is_open else text[start:])
    return "\n".join(said), text[start:] if is_open else ""


def json_objects(text: str) -> list[str]:
    """Return the last 100 JSON objects in a text, in their order. An object within another one is part of that.

    The time is linear in the length of the text, whatever stands in it.
    """
    found: deque[tuple[int, int]] = deque(maxlen=_MOST)
    at = 0
    while (begins := _BEGINNING.search(text, at)) is not None:
        at = _read(text, begins.start(), found)
    return [text[begin:end] for begin, end in found]


def _read(text: str, start: int, found: deque[tuple[int, int]]) -> int:
    """Read the object at `start`, and return the place from which the next one is looked for.

    Objects that are whole are added to `found`, in place of those within them.
    """
    at, last_scalar, expected = start, start, _VALUE
    around: list[int] = []
    while (token := expected.match(text, at)) is not None:
        kind, begin, at = token.lastgroup, at, token.end()
        if kind in ("opens", "more"):
            if kind == "opens":
                around.append(begin)
            last_scalar, expected = at, _VALUE
            continue
        last_scalar = begin if kind == "scalar" else at
        if kind == "closes":
            begin = around.pop()
        if text[begin] == "{":
            _add(found, begin, at)
        if not around:
            return at
        expected = _IN_OBJECT if text[around[-1]] == "{" else _IN_ARRAY
    # A quote in prose can pair with the first quote of an object, which then looks like a string. That string has no
    # such quote in it, so reading it once more keeps the time linear.
    return max(start + 1, last_scalar)


def _add(found: deque[tuple[int, int]], begin: int, end: int) -> None:
    while found and found[-1][0] > begin:
        found.pop()
    found.append((begin, end))

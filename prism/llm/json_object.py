"""The JSON objects within the text of a model's answer, and the one of them that counts: the last that can be read.

A model may think before it answers, and name in its thoughts what it then rejects. So what stands between tags of
reasoning does not count, and of several objects the last one does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

_MOST = 100
"""The number of objects kept, the last ones of a text: more are no answer."""
_BEGINNING = re.compile(r'\{(?=[ \t\n\r]*+["}])')
_LINES_PER_CHAR = 64
_LOST = 10_000
"""About the characters that are read before an object is found to be too deep."""

_TAG = re.compile(
    r"<(?P<closes>/?)(?:think|thinking|reasoning|thought)\b[^<>]{0,100}>|\[(?P<closes_too>/?)THINK\]", re.IGNORECASE
)
"""A tag around reasoning: `<think>`, or `[THINK]` as Mistral's models write it."""

_WORK_PER_CHAR = 20
"""Characters that may be decoded for each of a text: one object may be tried again from within another."""


def _refuse(constant: str) -> float:
    raise ValueError(constant)  # NaN and Infinity are no JSON


_decode = json.JSONDecoder(parse_constant=_refuse).raw_decode


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
    found: list[tuple[int, int]] = []  # the last object first
    work = _WORK_PER_CHAR * len(text)
    for at in reversed([begin.start() for begin in _BEGINNING.finditer(text)]):
        if len(found) == _MOST or work <= 0:
            break
        try:
            _, end = _decode(text, at)
        except (ValueError, RecursionError) as error:
            read = error.pos - at if isinstance(error, json.JSONDecodeError) else _LOST
            work -= read + at // _LINES_PER_CHAR  # an error counts the lines before it
            continue
        work -= end - at
        while found and found[-1][0] < end:
            found.pop()
        found.append((at, end))
    return [text[begin:end] for begin, end in reversed(found)]

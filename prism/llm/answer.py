"""The answer in a model's text: JSON, or a JSON object in prose.

A model may think before it answers, and name in its thoughts what it then rejects. So what stands between tags of
reasoning does not count, and of several JSON objects the last one does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from prism.errors import OracleResponseError
from prism.statechart.oracle import NEXT_STATE, parse_oracle_response
from prism.statechart.states import S

T = TypeVar("T")

BROKEN_MAX: Final = 1_000
"""The braces that may begin no object before the rest of a text is left unread, so that its time is bounded."""

_TAG = re.compile(
    r"<(?P<closes>/?)(?:think|thinking|reasoning|thought)\b[^<>]{0,100}>|\[(?P<closes_too>/?)THINK\]", re.IGNORECASE
)
"""A tag around reasoning: `<think>`, or `[THINK]` as Mistral's models write it."""


def _refuse(constant: str) -> float:
    raise ValueError(constant)  # NaN and Infinity are no JSON


_decode = json.JSONDecoder(parse_constant=_refuse).raw_decode


def read_answer(text: str, read: Callable[[str], T], errors: tuple[type[Exception], ...]) -> T:
    """Return the answer in a text: the text itself, or the last object in it that `read` can read.

    Raises:
        Exception: one of `errors`: that of the last object, or of the text if there is no object in it.
    """
    problems = list[Exception]()
    said, unfinished = without_reasoning(text)
    # The text as it is comes first: a text in an answer may have tags and braces.
    for candidate in (text, *reversed(json_objects(said)), *reversed(json_objects(unfinished))):
        try:
            return read(candidate)
        except errors as error:
            problems.append(error)
    raise problems[:2][-1]  # that of the last object in it, if there is one


def read_choice(text: str, options: Sequence[S], key: str = NEXT_STATE) -> S:
    """Return the option that a text names under the key. Raises: OracleResponseError."""
    return read_answer(text, lambda part: parse_oracle_response(part, options, key), (OracleResponseError,))


def extract_object(text: str) -> str | None:
    """Return the last JSON object in the text that is not reasoning; None if there is none."""
    said, unfinished = without_reasoning(text)
    found = json_objects(said) or json_objects(unfinished)
    return found[-1] if found else None


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
    """Return the JSON objects in a text, in their order. An object within another one is part of that."""
    found, at, broken = list[str](), text.find("{"), 0
    while at >= 0 and broken < BROKEN_MAX:
        try:
            _, end = _decode(text, at)
            found.append(text[at:end])
        except (ValueError, RecursionError):
            broken, end = broken + 1, at + 1
        at = text.find("{", end)
    return found

"""The answer in a model's text: JSON, a JSON object in prose, or an option in loose wording.

A model may think before it answers, and name in its thoughts what it then rejects. So what stands between tags of
reasoning does not count, and of several JSON objects the last one does. Where nothing holds them to a schema, small
models write options as words, or with other separators. That is read if exactly one option can be meant: asking again
costs a call, and a guess costs the result.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from prism.errors import OracleResponseError
from prism.statechart.oracle import NEXT_STATE, parse_oracle_response
from prism.statechart.states import S

T = TypeVar("T")

REPAIRED: Final = "repaired"
"""The method of a choice that was read in spite of its wording."""
LOOSE_CHARS_MAX: Final = 4_000
"""The longest text that is read loosely. A choice takes a dozen tokens; a text of this length is something else."""
BROKEN_MAX: Final = 1_000
"""The braces that may begin no object before the rest of a text is left unread, so that its time is bounded."""

_TAG = re.compile(
    r"<(?P<closes>/?)(?:think|thinking|reasoning|thought)\b[^<>]{0,100}>|\[(?P<closes_too>/?)THINK\]", re.IGNORECASE
)
"""A tag around reasoning: `<think>`, or `[THINK]` as Mistral's models write it."""
_FENCE = re.compile(r"```[a-zA-Z0-9]*")
_MARKS = " \t\r\n\"'`*“”„‟«»‘’‚‛‹›"  # noqa: RUF001
"""The characters that may stand around a name."""
_BETWEEN = re.compile(r"(?<=\w)(?<!\d)[ \t_\-‐‑]+(?=\w)|(?<=\d)[ \t_\-‐‑]+(?=[^\W\d])")  # noqa: RUF001
"""The separators between the words of a name; digits stay apart, so `1 2` is not `12`."""


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


def read_choice(text: str, options: Sequence[S], key: str = NEXT_STATE) -> tuple[S, str]:
    """Return the option that a text names under the key, and the method: `REPAIRED` if the wording is loose.

    Raises:
        OracleResponseError: it names no option, or more than one may be meant.
    """
    return read_option(text, options, lambda part: parse_oracle_response(part, options, key), key)


def read_option(text: str, options: Sequence[S], read: Callable[[str], T], key: str) -> tuple[T, str]:
    """Return what is read from the JSON in a text that names an option under the key, and the method as `read_choice`.

    Args:
        read: returns the answer that a JSON text holds.

    Raises:
        OracleResponseError: as `read_choice`.
    """
    try:
        part, answer = read_answer(text, lambda part: (part, read(part)), (OracleResponseError,))
    except OracleResponseError:
        found = loose_choice(without_reasoning(text)[0], key, [option.value for option in options])
        if found is None:
            raise
        return read(found), REPAIRED
    is_exact = json.loads(part)[key].strip() in [option.value for option in options] and (
        part == text or len(json_objects(without_reasoning(text)[0])) == 1
    )
    return answer, "" if is_exact else REPAIRED


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


def loose_choice(text: str, key: str, options: Sequence[str]) -> str | None:
    """Return the JSON that a loosely worded answer means: an object with one of the options under the key.

    The whole text may be the option, or JSON with key and option in another case or with other separators.

    Returns:
        None if none of the options is meant, or not exactly one.
    """
    if len(text) > LOOSE_CHARS_MAX:
        return None
    found: list[dict[str, Any]] = [json.loads(each) for each in json_objects(text)] or [{key: _FENCE.sub(" ", text)}]
    named = [{key if _plain(name) == _plain(key) else name: value for name, value in pairs.items()} for pairs in found]
    named = [pairs for pairs in named if key in pairs]
    meant = {_option(pairs[key], options) for pairs in named}
    option = meant.pop() if len(meant) == 1 else None
    return None if option is None else json.dumps({**named[-1], key: option})


def _option(value: object, options: Sequence[str]) -> str | None:
    if not isinstance(value, str) or value in options:
        return value if isinstance(value, str) else None
    meant = [option for option in options if _plain(option) == _plain(value)]
    return meant[0] if len(meant) == 1 and _plain(value) else None


def _plain(name: str) -> str:
    """Return a name without case, separators between its words, marks around it, and a stop after it."""
    text = unicodedata.normalize("NFKC", name).strip(_MARKS).rstrip(f"{_MARKS}.,;!")
    return _BETWEEN.sub("", text).casefold()

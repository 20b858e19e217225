"""Texts that a model writes with its choice: the form of such an answer, and what is taken from it.

A text from a model is data, as text from people is: one line of bounded length, which later prompts quote.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from prism.statechart.oracle import parse_oracle_response
from prism.statechart.states import S

TEXT_CHARS: Final = 280
REASON_CHARS: Final = 200


class Written(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The text and the reason that a model wrote with its choice."""

    text: str = ""
    reason: str = ""


def one_line(text: str, most: int) -> str:
    """Return a text on one line, without characters that nobody sees, and cut to `most` characters."""
    line = "".join(character for character in " ".join(text.split()) if character.isprintable())
    return line[:most].strip()


def writing_form(writers: Sequence[StrEnum], key: str) -> str:
    """Return the part of a prompt about the form of an answer with a text; `key` is where it names an option."""
    names = " or ".join(f"{option.value!r}" for option in writers)
    return f"""{{"{key}": "<one of these>", "text": "<what you write>", "reason": "<why you do this>"}}

The text is for {names} only: what you write, on one line of at most {TEXT_CHARS} characters. Otherwise it is empty.
The reason is one line of at most {REASON_CHARS} characters."""


def writing_schema(options: Sequence[StrEnum], key: str) -> dict[str, Any]:
    """Return the JSON schema of an answer with a text.

    The lengths are not in it: servers that turn a schema into a grammar unroll them character by character.
    """
    text = {"type": "string"}
    return {
        "type": "object",
        "properties": {
            key: {"type": "string", "enum": [option.value for option in options]},
            "text": text,
            "reason": text,
        },
        "required": [key, "text", "reason"],
        "additionalProperties": False,
    }


def parse_written(response_text: str, options: Sequence[S], writers: Sequence[S], key: str) -> tuple[S, Written]:
    """Return the option that a response names, and what is written in it. A text of another option is left out.

    Raises:
        OracleResponseError: the response names no option. A response whose text is missing or no text has an empty one.
    """
    state = parse_oracle_response(response_text, options, key)
    said = json.loads(response_text)
    text = _line(said.get("text"), TEXT_CHARS) if state in writers else ""
    return state, Written(text=text, reason=_line(said.get("reason"), REASON_CHARS))


def _line(value: object, most: int) -> str:
    return one_line(value, most) if isinstance(value, str) else ""

"""Answers of the test server: a pure function of the messages, the seed and the format, valid for the schema."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import xxhash

from prism.rng import WORLD, Draw, integer, uniform

WRONG_STATE = "not_an_option"
"""The value of an answer that is outside the options."""
LISTS_MAX = 8
"""The level of a schema from which on lists are empty."""
_WORDS = ("I", "would", "rather", "think", "about", "this", "before", "saying", "more", "today", "with", "friends")


def answer(messages: Sequence[Mapping[str, object]], seed: object, form: object, *, wrong: bool = False) -> str:
    """Return JSON valid for a format: a schema, or "json" for any object; without a format return prose.

    Args:
        wrong: True if each enumerated value is to be outside its options.

    Raises:
        ValueError: it is not a valid schema, or has references.
    """
    key = _key(json.dumps(messages, sort_keys=True), seed)
    if not isinstance(form, dict):
        return json.dumps({"answer": _prose(key, 1)}) if form else _prose(key, 12)
    try:
        return json.dumps(_value(form, key, wrong=wrong))
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError("invalid JSON schema in format") from error


def _value(schema: Any, key: int, depth: int = 0, *, wrong: bool) -> object:
    """Return a value for a part of the schema. Its draws follow from its path, so no property depends on another."""
    number = integer(1 << 48, key, WORLD, 0, Draw.SERVER_ANSWER)
    if isinstance(options := schema.get("enum", [schema["const"]] if "const" in schema else None), list):
        return WRONG_STATE if wrong else options[number % len(options)]
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return _value(branches[number % len(branches)], key, depth + 1, wrong=wrong)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = kind[number % len(kind)]
    if kind == "object":
        fields = schema.get("properties", {})
        return {name: _value(each, _key(key, name), depth + 1, wrong=wrong) for name, each in fields.items()}
    if kind == "array":
        count = schema.get("minItems", int(depth < LISTS_MAX))
        return [_value(schema["items"], _key(key, i), depth + 1, wrong=wrong) for i in range(min(count, 1000))]
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", max(1, low + 1)))
    if kind == "integer":
        least = math.ceil(low) + ("exclusiveMinimum" in schema)
        return least + number % max(1, math.floor(high) - ("exclusiveMaximum" in schema) - least + 1)
    simple: dict[str, Callable[[], object]] = {
        "boolean": lambda: number % 2 == 0,
        "null": lambda: None,
        # The ends may be excluded.
        "number": lambda: float(low + (high - low) * (0.001 + 0.998 * uniform(key, WORLD, 0, Draw.SERVER_ANSWER))),
        "string": lambda: _prose(key, 6).ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength", 80)],
    }
    return simple[kind]()


def _key(*parts: object) -> int:
    return xxhash.xxh3_64_intdigest(repr(parts).encode())


def _prose(key: int, words: int) -> str:
    return " ".join(_WORDS[integer(len(_WORDS), _key(key, i), WORLD, 0, Draw.SERVER_ANSWER)] for i in range(words))

"""Answers of the scripted model: a pure function of the messages, the seed and the format, valid for the schema."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence

from tests.standin.draw import key_of, number_for, share_for
from tests.standin.economist import is_asked, opinion
from tests.standin.errors import ApiError

Schema = Mapping[str, object]
Path = tuple[object, ...]
Reply = Callable[[Sequence[Mapping[str, object]], Mapping[str, object], object], str]
"""Returns the text of a model, from the messages, the options and the format of a request."""

Weigh = Callable[[str, Sequence[str]], Sequence[float]]
"""Returns the weights of the options of a choice, in their order, from the text of the state."""

WRONG_STATE = "not_an_option"
"""The value of an answer that is outside the options."""

MAX_DEPTH = 32
MAX_VALUES = 10_000
MAX_LENGTH = 10_000
"""Limits of what a schema may ask for: levels, values, and the length of one text or list."""

_RECURSION_ENDS = 8
"""Below this depth a list that may be empty is empty, so that an answer to a recursive schema comes to an end."""
_QUOTES_TRIED = 100
_WORDS = ("I", "would", "rather", "think", "about", "this", "before", "saying", "more", "today", "with", "friends")


def answer(messages: Sequence[Mapping[str, object]], seed: object, form: object) -> str:
    """Return JSON valid for `form` (a schema, or "json" for any object); with no form, prose.

    If the format has no schema but a message quotes one, the answer follows the quoted schema, as a model that reads
    its prompt would: plain JSON for "json", and JSON in the middle of prose without a format.

    Raises:
        ApiError: it is not a valid schema, or it asks for too much.
    """
    key = key_of(json.dumps(messages, sort_keys=True), seed)
    if isinstance(form, dict):
        return opinion(messages, form, key) if is_asked(form) else json.dumps(_filled(form, key))
    quoted = _quoted_schema(messages)
    said = json.dumps(_filled(quoted, key)) if quoted else json.dumps({"answer": _prose(key, 1)})
    if form == "json":
        return said
    return f"Here is my answer:\n\n{said}\n\nI hope it helps." if quoted else _prose(key, 12)


def wrong_answer(form: object) -> str:
    """Return valid JSON of the shape asked for, each enumerated value outside its options.

    Raises:
        ApiError: it is not a valid schema, or it asks for too much.
    """
    return json.dumps(_filled(form, key_of("wrong"), wrong=True) if isinstance(form, dict) else {"state": WRONG_STATE})


def _filled(schema: Schema, key: int, *, wrong: bool = False) -> object:
    try:
        return _Filler(schema, key, wrong=wrong).value(schema, ())
    except (ArithmeticError, LookupError, TypeError, ValueError):
        # Every invalid schema gets the same text, as in Ollama: the kinds of mistake are not worth telling apart.
        raise ApiError(500, "invalid JSON schema in format") from None


class _Filler:
    """Fills a schema: each value is drawn for its path, so that one property never depends on its neighbours."""

    def __init__(self, root: Schema, key: int, *, wrong: bool) -> None:
        self._root = root
        self._key = key
        self._wrong = wrong
        self._values = 0

    def value(self, schema: object, path: Path) -> object:
        """Return a value that is valid for a part of the schema."""
        self._values += 1
        _refuse_beyond(MAX_VALUES, self._values)
        _refuse_beyond(MAX_DEPTH, len(path))
        schema = self._resolve(schema)
        if "const" in schema:
            return schema["const"]
        options = schema.get("enum")
        if isinstance(options, list):
            return WRONG_STATE if self._wrong else options[self._number(path) % len(options)]
        for word in ("anyOf", "oneOf"):
            branches = schema.get(word)
            if isinstance(branches, list):
                return self.value(branches[self._number(path) % len(branches)], (*path, word))
        return self._typed(schema, path)

    def _typed(self, schema: Schema, path: Path) -> object:
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = kind[self._number(path) % len(kind)]
        makers: dict[object, Callable[[Schema, Path], object]] = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "number": self._float,
            "integer": self._integer,
            "boolean": lambda _, where: self._number(where) % 2 == 0,
            "null": lambda _, __: None,
        }
        return makers[kind](schema, path)

    def _object(self, schema: Schema, path: Path) -> object:
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return {}
        required = schema.get("required")
        needed = required if len(path) >= _RECURSION_ENDS and isinstance(required, list) else properties
        return {name: self.value(below, (*path, name)) for name, below in properties.items() if name in needed}

    def _array(self, schema: Schema, path: Path) -> object:
        items = schema.get("items")
        count = max(int(_real(schema, "minItems", len(path) < _RECURSION_ENDS)), 0)
        _refuse_beyond(MAX_LENGTH, count)
        return [self.value(items, (*path, i)) for i in range(count)] if isinstance(items, dict) else []

    def _string(self, schema: Schema, path: Path) -> object:
        text = _prose(number_for(self._key, path), 3)
        least = int(_real(schema, "minLength", 0))
        _refuse_beyond(MAX_LENGTH, least)
        return text.ljust(least, ".")[: int(_real(schema, "maxLength", max(least, 80)))]

    def _float(self, schema: Schema, path: Path) -> object:
        low, high = _bounds(schema)
        share = share_for(self._key, path)
        # Halfway at the ends, because an end may be excluded.
        return low + (high - low) * min(max(share, 2.0**-52), 1 - 2.0**-52)

    def _integer(self, schema: Schema, path: Path) -> object:
        low, high = _bounds(schema)
        step = int(_real(schema, "multipleOf", 1))
        least = math.ceil(low / step) + (schema.get("exclusiveMinimum") == low)
        most = math.floor(high / step) - (schema.get("exclusiveMaximum") == high)
        return step * (least + self._number(path) % max(most - least + 1, 1))

    def _number(self, path: Path) -> int:
        return number_for(self._key, path)

    def _resolve(self, schema: object) -> Schema:
        for _ in range(MAX_DEPTH):
            if schema is True:
                return {}
            if not isinstance(schema, dict):
                raise TypeError
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                return schema
            found: object = self._root
            for name in reference.removeprefix("#/").split("/"):
                found = found[name] if isinstance(found, dict) else None
            schema = found
        raise ValueError


def _refuse_beyond(limit: int, wanted: int) -> None:
    if wanted > limit:
        raise ValueError


def _bounds(schema: Schema) -> tuple[float, float]:
    low = _real(schema, "minimum", _real(schema, "exclusiveMinimum", math.nan))
    high = _real(schema, "maximum", _real(schema, "exclusiveMaximum", math.nan))
    if math.isnan(low):
        low = 0.0 if math.isnan(high) else min(0.0, high - 1)
    return low, (max(1.0, low + 1) if math.isnan(high) else high)


def _real(schema: Schema, name: str, default: float) -> float:
    value = schema.get(name, default)
    return float(value) if isinstance(value, int | float) else default


def _prose(key: int, words: int) -> str:
    return " ".join(_WORDS[number_for(key, "prose", i) % len(_WORDS)] for i in range(words))


def _quoted_schema(messages: Sequence[Mapping[str, object]]) -> Schema | None:
    """Return the last JSON schema quoted in a message, if any."""
    decoder = json.JSONDecoder()
    tried = 0
    for message in reversed(messages):
        text = str(message.get("content", ""))
        start = text.find("{")
        while start >= 0 and tried < _QUOTES_TRIED:
            tried += 1
            try:
                found, _ = decoder.raw_decode(text, start)
            except (ValueError, RecursionError):
                found = None
            if isinstance(found, dict) and ("properties" in found or "$ref" in found):
                return found
            start = text.find("{", start + 1)
    return None

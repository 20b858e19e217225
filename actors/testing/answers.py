"""What the model says: a pure function of the messages, the seed and the format, always valid for the schema."""

import json
import math
from collections.abc import Callable, Mapping, Sequence

from actors.testing.draw import number, uniform
from actors.testing.economist import is_asked, opinion

__all__ = ["WRONG_STATE", "Reply", "Schema", "answer", "wrong_answer"]

Schema = Mapping[str, object]
Reply = Callable[[Sequence[Mapping[str, object]], Mapping[str, object], object], str]

WRONG_STATE = "not_an_option"

_WORDS = ("I", "would", "rather", "think", "about", "this", "before", "saying", "more", "today", "with", "friends")


def answer(messages: Sequence[Mapping[str, object]], seed: object, form: object) -> str:
    """JSON valid for `form` (a schema, or "json" for any object); with no form, prose.

    Where the format names no schema but the messages quote one, the answer follows that, as a model would that reads
    its prompt: bare for "json", in the middle of prose for no format.
    """
    key = (json.dumps(messages, sort_keys=True), seed)
    if isinstance(form, dict):
        return opinion(messages, form, key) if is_asked(form) else json.dumps(_Filler(form, key).value(form, ()))
    quoted = _quoted_schema(messages)
    said = json.dumps(_Filler(quoted, key).value(quoted, ())) if quoted else json.dumps({"answer": _prose(key, 1)})
    if form == "json":
        return said
    return f"Here is my answer:\n\n{said}\n\nI hope it helps." if quoted else _prose(key, 12)


def wrong_answer(form: object) -> str:
    """Valid JSON of the shape asked for, each enumerated value outside its options."""
    if not isinstance(form, dict):
        return json.dumps({"state": WRONG_STATE})
    return json.dumps(_Filler(form, ("wrong",), wrong=True).value(form, ()))


class _Filler:
    """Fills a schema: each value is drawn for its path, so that one property never depends on its neighbours."""

    def __init__(self, root: Schema, key: tuple[object, ...], *, wrong: bool = False) -> None:
        self._root = root
        self._key = key
        self._wrong = wrong

    def value(self, schema: Schema, path: tuple[object, ...]) -> object:
        schema = self._resolve(schema)
        if "const" in schema:
            return schema["const"]
        options = schema.get("enum")
        if isinstance(options, list):
            return WRONG_STATE if self._wrong else options[self._number(path) % len(options)]
        for word in ("anyOf", "oneOf"):
            branches = schema.get(word)
            if isinstance(branches, list):
                return self.value(branches[self._number(path) % len(branches)], path)
        return self._typed(schema, path)

    def _typed(self, schema: Schema, path: tuple[object, ...]) -> object:
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = kind[self._number(path) % len(kind)]
        makers: dict[object, Callable[[Schema, tuple[object, ...]], object]] = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "number": self._float,
            "integer": self._integer,
            "boolean": lambda _, where: self._number(where) % 2 == 0,
            "null": lambda _, __: None,
        }
        return makers[kind](schema, path)

    def _object(self, schema: Schema, path: tuple[object, ...]) -> object:
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return {}
        return {name: self.value(below, (*path, name)) for name, below in properties.items()}

    def _array(self, schema: Schema, path: tuple[object, ...]) -> object:
        items = schema.get("items")
        count = max(int(_real(schema, "minItems", 1)), 0)
        return [self.value(items, (*path, i)) for i in range(count)] if isinstance(items, dict) else []

    def _string(self, schema: Schema, path: tuple[object, ...]) -> object:
        text = _prose((*self._key, path), 3)
        least = int(_real(schema, "minLength", 0))
        return text.ljust(least, ".")[: int(_real(schema, "maxLength", max(least, 80)))]

    def _float(self, schema: Schema, path: tuple[object, ...]) -> object:
        low, high = _bounds(schema)
        return low + (high - low) * uniform(*self._key, path)

    def _integer(self, schema: Schema, path: tuple[object, ...]) -> object:
        low, high = _bounds(schema)
        step = int(_real(schema, "multipleOf", 1))
        least = math.ceil(low / step) + (schema.get("exclusiveMinimum") == low)
        most = math.floor(high / step) - (schema.get("exclusiveMaximum") == high)
        return step * (least + self._number(path) % max(most - least + 1, 1))

    def _number(self, path: tuple[object, ...]) -> int:
        return number(*self._key, path)

    def _resolve(self, schema: Schema) -> Schema:
        reference = schema.get("$ref")
        while isinstance(reference, str):
            found: object = self._root
            for name in reference.removeprefix("#/").split("/"):
                found = found[name] if isinstance(found, dict) else {}
            schema = found if isinstance(found, dict) else {}
            reference = schema.get("$ref")
        return schema


def _bounds(schema: Schema) -> tuple[float, float]:
    low = _real(schema, "minimum", _real(schema, "exclusiveMinimum", math.nan))
    high = _real(schema, "maximum", _real(schema, "exclusiveMaximum", math.nan))
    if math.isnan(low):
        low = 0.0 if math.isnan(high) else min(0.0, high - 1)
    return low, (max(1.0, low + 1) if math.isnan(high) else high)


def _real(schema: Schema, name: str, default: float) -> float:
    value = schema.get(name, default)
    return float(value) if isinstance(value, int | float) else default


def _prose(key: object, words: int) -> str:
    return " ".join(_WORDS[number("prose", key, i) % len(_WORDS)] for i in range(words))


def _quoted_schema(messages: Sequence[Mapping[str, object]]) -> Schema | None:
    """The last JSON schema quoted in a message, if any."""
    decoder = json.JSONDecoder()
    for message in reversed(messages):
        text = str(message.get("content", ""))
        start = text.find("{")
        while start >= 0:
            try:
                found, _ = decoder.raw_decode(text, start)
            except ValueError:
                found = None
            if isinstance(found, dict) and ("properties" in found or "$ref" in found):
                return found
            start = text.find("{", start + 1)
    return None

"""Request bodies, checked as Go's encoding/json and Ollama's option table check them, with their messages."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.standin.errors import ApiError

Body = dict[str, object]

_GO_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "string"),
    "bool": ((bool,), "bool"),
    "map": ((dict,), "map[string]interface {}"),
    "messages": ((list,), "[]api.Message"),
    "integer": ((int,), "int"),
}

_INTEGERS = ("num_ctx", "num_keep", "num_predict", "num_batch", "num_gpu", "num_thread", "main_gpu", "seed", "top_k")
_FLOATS = ("temperature", "top_p", "min_p", "typical_p", "repeat_penalty", "presence_penalty", "frequency_penalty")
_OPTIONS: Mapping[str, str] = {
    **dict.fromkeys((*_INTEGERS, "repeat_last_n"), "integer"),
    **dict.fromkeys(_FLOATS, "float32"),
    "stop": "array",
    "use_mmap": "boolean",
}


def decode(raw: bytes, struct: str, fields: Mapping[str, str]) -> Body:
    """Return the body as a dict whose `fields` have the Go types named.

    Raises:
        ApiError: a field has another type; status 400.
    """
    if not raw.strip():
        raise ApiError(400, "missing request body")
    try:
        body = json.loads(raw)
    except ValueError as error:
        raise ApiError(400, _syntax_message(raw, error)) from None
    except RecursionError:
        raise too_deep() from None
    if not isinstance(body, dict):
        raise ApiError(400, f"json: cannot unmarshal {_kind(body)} into Go value of type api.{struct}")
    for name, kind in fields.items():
        types, go_type = _GO_TYPES[kind]
        value = body.get(name)
        if value is not None and (not isinstance(value, types) or (isinstance(value, bool) and kind != "bool")):
            where = f"Go struct field {struct}.{name} of type {go_type}"
            raise ApiError(400, f"json: cannot unmarshal {_kind(value)} into {where}")
    return body


def too_deep() -> ApiError:
    """Return the refusal of JSON that is nested too deeply."""
    return ApiError(400, "exceeded max depth")


def check_options(options: Mapping[str, object]) -> None:
    """Refuse an option of the wrong type; unknown ones are ignored.

    Raises:
        ApiError: an option has a wrong type; status 500, as in the real server.
    """
    for name, value in options.items():
        kind = _OPTIONS.get(name)
        if value is None or kind is None:
            continue
        fits = {
            "array": isinstance(value, list),
            "boolean": isinstance(value, bool),
            "integer": isinstance(value, int | float) and not isinstance(value, bool),
            "float32": isinstance(value, int | float) and not isinstance(value, bool),
        }
        if not fits[kind]:
            raise ApiError(500, f'option "{name}" must be of type {kind}')


def is_zero_duration(value: object) -> bool:
    """Tell whether a keep_alive means now: 0, "0", "0s", "0m"."""
    return value is not None and not isinstance(value, bool) and str(value).rstrip("hmnus") in {"0", "0.0"}


def _kind(value: object) -> str:
    kinds = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def _syntax_message(raw: bytes, error: ValueError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return "invalid character '\\ufffd' looking for beginning of value"
    text = raw.decode()
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "unexpected EOF"
    wanted = "object key string" if "property name" in error.msg else "value"
    return f"invalid character '{text[error.pos]}' looking for beginning of {wanted}"

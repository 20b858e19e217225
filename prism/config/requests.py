"""The settings of a request to a model's server that are the user's own words: path, headers, query, extra fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from prism.credentials import is_secret_name, is_variable_name, looks_like_key, names_variable, secrets_in
from prism.expectations import found

TEXT_SETTINGS = ("host", "model", "keep_alive", "api_key_env")
"""The settings of section `llm` that are texts, so that somebody may put a key there."""

OWN_FIELDS = ("messages", "model")
"""The fields of a question that cannot be replaced: without them it would be no question."""

_PATH = re.compile(r"/(?:(?![?#\\])[!-~])*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FRAMING = frozenset({"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"})
_KEPT = "because a run keeps its settings in files"
_OURS = "is set by PRISM itself; leave it out"


def as_texts(name: str, value: object) -> object:
    """Return headers or a query with each plain value as a text: in YAML a version may look like a date."""
    if name not in ("headers", "query") or not isinstance(value, Mapping):
        return value
    flags = {key: str(item).lower() for key, item in value.items() if isinstance(item, bool)}
    numbers = {key: str(item) for key, item in value.items() if isinstance(item, int | float)}
    dates = {key: item.isoformat() for key, item in value.items() if isinstance(item, date)}
    return {**value, **numbers, **flags, **dates}


def unsendable(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a setting of section `llm.request`: the place, such as `headers.api-key`, and why.

    Neither has the value of a header, or anything that may be secret.
    """
    if name == "path":
        if value is not None and looks_like_key(value):
            yield name, f"expected no key, {_KEPT}; put it in llm.request.headers or query"
        elif value is not None and (not _PATH.fullmatch(value) or ".." in value.split("/")):
            elsewhere = "; parameters belong in llm.request.query" if "?" in value else ""
            yield name, f"expected a path such as /v1/chat/completions, got {found(value)}{elsewhere}"
        return
    for key, item in value.items():
        place = f"{name}.{key if key.isprintable() and key else repr(key)}"
        if name == "extra_body":
            yield from _field_problems(place, key, item)
        elif name == "headers" and not _TOKEN.fullmatch(key):
            yield place, "expected the name of a header, such as api-key"
        elif name == "headers" and key.lower() in _FRAMING:
            yield place, _OURS
        elif name == "headers" and not (item and item.isascii() and item.isprintable()):
            yield place, "expected printable ASCII characters, at least one"
        elif not key or not key.isprintable():
            yield place, "expected the name of a parameter, such as api-version"
        elif not item.isprintable():
            yield place, "expected printable characters"
        elif looks_like_key(item) or (is_secret_name(key) and not names_variable(item)):
            yield place, f"expected an environment variable such as $API_KEY, {_KEPT}, got a text"


def _field_problems(place: str, name: str, value: object) -> Iterator[tuple[str, str]]:
    if name in OWN_FIELDS:
        yield place, _OURS
        return
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        yield place, f"expected a value that JSON has, got {found(value)}"
        return
    for secret in secrets_in({name: value}, "extra_body"):
        yield (
            secret,
            f"expected no secret, {_KEPT}; send it by llm.request.headers or query, as $NAME of the environment",
        )


def text_problem(name: str, text: str) -> str | None:
    """Return the reason why a text cannot be one of `TEXT_SETTINGS`: it is a key, or an address with a secret in it."""
    if name == "api_key_env":
        problem = (
            "expected the name of an environment variable that holds the key, such as OPENAI_API_KEY, never the key "
            "itself; what stands here is not shown, since it may be one"
        )
        return None if is_variable_name(text) else problem
    if name == "host":
        if "@" in text:
            return f"must not carry a user or password, {_KEPT}; put the key in the environment (llm.api_key_env)"
        if "?" in text or "#" in text:
            return f"expected an address without parameters, {_KEPT}; they belong in llm.request.query"
    if looks_like_key(text):
        return f"expected no key, {_KEPT}; put it in the environment (llm.api_key_env)"
    return None

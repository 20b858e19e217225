"""The settings of a request to a model's server that are the user's own words: path, headers, query, extra fields."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

import msgspec

from prism.credentials import is_secret_name, is_variable_name, looks_like_key, names_variable, secrets_in
from prism.expectations import found

TEXT_SETTINGS = ("host", "model", "keep_alive", "api_key_env")
"""The settings of section `llm` that are texts, so that somebody may put a key there."""

OWN_FIELDS = ("messages", "model")
"""The fields of a question that cannot be replaced: without them it would be no question."""

_PATH = re.compile(r"/[!-~]*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FRAMING = frozenset({"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"})
_KEPT = "because a run keeps its settings in files"


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why a setting cannot be sent.

    Args:
        place: the setting, or the part of it: `headers.api-key`.
        problem: what was expected, and what it is; never the value of a header, and nothing that may be secret.
    """

    place: str
    problem: str


def as_texts(name: str, value: object) -> object:
    """Return headers or a query with each plain value as a text: in YAML a version may look like a date."""
    if name not in ("headers", "query") or not isinstance(value, Mapping):
        return value
    return {key: _as_text(item) for key, item in value.items()}


def _as_text(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, int | float) else value


def refusal_of(name: str, value: Any) -> Refusal | None:
    """Return the reason why a setting of section `llm.request` cannot be sent; None if it can."""
    match name:
        case "path":
            return _path(value)
        case "headers":
            refusals = (_header(key, text) for key, text in value.items())
        case "query":
            refusals = (_parameter(key, text) for key, text in value.items())
        case _:
            refusals = (_field(key, item) for key, item in value.items())
    return next((refusal for refusal in refusals if refusal is not None), None)


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


def _path(path: str | None) -> Refusal | None:
    if path is not None and looks_like_key(path):
        return Refusal(place="path", problem=f"expected no key, {_KEPT}; put it in llm.request.headers or query")
    if path is None or (_PATH.fullmatch(path) and not set(path) & set("?#\\") and ".." not in path.split("/")):
        return None
    elsewhere = "; parameters belong in llm.request.query" if "?" in path else ""
    problem = f"expected a path such as /v1/chat/completions, got {found(path)}{elsewhere}"
    return Refusal(place="path", problem=problem)


def _header(name: str, text: str) -> Refusal | None:
    place = f"headers.{_shown(name)}"
    if not _TOKEN.fullmatch(name):
        return Refusal(place=place, problem="expected the name of a header, such as api-key")
    if name.lower() in _FRAMING:
        return Refusal(place=place, problem="is set by PRISM itself; leave it out")
    if not (text and text.isascii() and text.isprintable()):
        return Refusal(place=place, problem="expected printable ASCII characters, at least one")
    return _secret(place, name, text)


def _parameter(name: str, text: str) -> Refusal | None:
    place = f"query.{_shown(name)}"
    if not name or not name.isprintable():
        return Refusal(place=place, problem="expected the name of a parameter, such as api-version")
    if not text.isprintable():
        return Refusal(place=place, problem="expected printable characters")
    return _secret(place, name, text)


def _secret(place: str, name: str, text: str) -> Refusal | None:
    """Refuse a secret that stands in the configuration: a run keeps its settings in files."""
    if not looks_like_key(text) and (not is_secret_name(name) or names_variable(text)):
        return None
    return Refusal(place=place, problem=f"expected an environment variable such as $API_KEY, {_KEPT}, got a text")


def _field(name: str, value: object) -> Refusal | None:
    place = f"extra_body.{_shown(name)}"
    if name in OWN_FIELDS:
        return Refusal(place=place, problem="is set by PRISM itself; leave it out")
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return Refusal(place=place, problem=f"expected a value that JSON has, got {found(value)}")
    secret = next(secrets_in({name: value}, "extra_body"), None)
    if secret is None:
        return None
    problem = f"expected no secret, {_KEPT}; send it by llm.request.headers or query, as $NAME of the environment"
    return Refusal(place=secret, problem=problem)


def _shown(name: str) -> str:
    return name if name.isprintable() and name else repr(name)

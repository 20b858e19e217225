"""The settings of a request to a model's server that are the user's own words: path, headers, query, extra fields.

A run keeps its settings in files, so none of them may be a secret. No problem shows the value of a header, or anything
else that may be secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from prism.credentials import is_secret_name, is_variable_name, looks_like_key, names_variable, secrets_in
from prism.expectations import found

Problems = Iterator[tuple[str, str]]

OWN_FIELDS = ("messages", "model")
"""The fields of a question that cannot be replaced: without them it would be no question."""

_PATH = re.compile(r"/(?:(?![?#\\])[!-~])*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FRAMING = frozenset({"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"})
_KEPT = "because a run keeps its settings in files"
_OURS = "is set by PRISM itself; leave it out"


def is_path(path: str) -> None:
    if looks_like_key(path):
        raise ValueError(f"expected no key, {_KEPT}; put it in llm.request.headers or query")
    if not _PATH.fullmatch(path) or ".." in path.split("/"):
        elsewhere = "; parameters belong in llm.request.query" if "?" in path else ""
        raise ValueError(f"expected a path such as /v1/chat/completions, got {found(path)}{elsewhere}")


def are_headers(headers: dict[str, str]) -> Problems:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            yield _part(name), "expected the name of a header, such as api-key"
        elif name.lower() in _FRAMING:
            yield _part(name), _OURS
        elif not (value and value.isascii() and value.isprintable()):
            yield _part(name), "expected printable ASCII characters, at least one"
    yield from are_parameters(headers)


def are_parameters(values: dict[str, str]) -> Problems:
    for name, value in values.items():
        if not name or not name.isprintable() or not value.isprintable():
            yield _part(name), "expected a name such as api-version, and a value of printable characters"
        elif looks_like_key(value) or (is_secret_name(name) and not names_variable(value)):
            yield _part(name), f"expected an environment variable such as $API_KEY, {_KEPT}, got a text"


def are_fields(fields: dict[str, Any]) -> Problems:
    for name, value in fields.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            yield _part(name), f"expected a value that JSON has, got {found(value)}"
            continue
        if name in OWN_FIELDS:
            yield _part(name), _OURS
        for secret in secrets_in({name: value}, ""):
            yield secret, f"expected no secret, {_KEPT}; send it by llm.request.headers or query, as $NAME"


def _part(name: str) -> str:
    return f".{name if name.isprintable() and name else repr(name)}"


def is_no_key(text: str) -> Problems:
    if looks_like_key(text):
        yield "", f"expected no key, {_KEPT}; put it in the environment (llm.api_key_env)"


def is_host(host: str) -> Problems:
    if "@" in host:
        yield "", f"must not carry a user or password, {_KEPT}; put the key in the environment (llm.api_key_env)"
    if "?" in host or "#" in host:
        yield "", f"expected an address without parameters, {_KEPT}; they belong in llm.request.query"
    yield from is_no_key(host)


def is_variable(name: str) -> Problems:
    if not is_variable_name(name):
        problem = "expected the name of an environment variable that holds the key, such as OPENAI_API_KEY, never the "
        yield "", f"{problem}key itself; what stands here is not shown, since it may be one"

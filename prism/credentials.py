"""Keys and other secrets: names that say that a value is secret, and texts that look like a key.

A run keeps its settings in files, so no setting may be a secret: it names an environment variable instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

HIDDEN = "***"

_SECRET_NAME = re.compile(
    r"(?:^|[^a-z])(?:api|access)?(?:keys?|tokens?|secrets?|auth|authorization|passwords?|cookie|signature|sig|credentials?)"
    r"(?:$|[^a-z])"
)
_PLAIN_NAME = re.compile(
    r"(?:stop|start|end|eos|bos|pad|unk|sep|cls|mask|special|think|thinking|prefix|suffix|cache)[^a-z]+(?:keys?|tokens?)"
)
"""Names of fields that models and servers have for texts which are no secrets, such as `stop_token`."""
VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
"""An environment variable in a setting: `$NAME` or `${NAME}`."""
_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-|gsk_|hf_|AIza|xai-|pplx-|nvapi-|r8_|gh[opsu]_|github_pat_|AKIA|eyJ)[\w.-]{8,}"
)
"""Keys of hosted services by their first letters, and signed tokens."""
_AUTHORIZATION = re.compile(r"(?i)\b(?:bearer|basic)\s+[\w.~+/=-]{6,}")
_NAME_LENGTH_MAX, _WORD_LENGTH_MAX = 100, 16
_NAMING, _NAMED = ("name", "header", "field"), "value"
"""The keys of a pair that stands for a header in a list of them."""


def is_secret_name(name: str) -> bool:
    """Return whether the name of a header or a field says that its value is secret."""
    return _SECRET_NAME.search(_hyphenated(name)) is not None


def looks_like_key(text: str) -> bool:
    """Return whether a text holds a key or an authorization, by its form."""
    return _KEY.search(text) is not None or _AUTHORIZATION.search(VARIABLE.sub("", text)) is not None


def is_variable_name(text: str) -> bool:
    """Return whether a text can name an environment variable, and is no key: these have long words with digits."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) or len(text) > _NAME_LENGTH_MAX or looks_like_key(text):
        return False
    return not any(len(word) >= _WORD_LENGTH_MAX and re.search(r"\d", word) for word in text.split("_"))


def without_keys(text: str) -> str:
    """Return a text with `***` for what looks like a key."""
    return _AUTHORIZATION.sub(HIDDEN, _KEY.sub(HIDDEN, text))


def secrets_in(value: Any, place: str) -> Iterator[str]:
    """Yield the place of each text in a value of JSON that is secret by its name or its form."""
    if isinstance(value, str):
        if looks_like_key(value):
            yield place
    elif isinstance(value, Mapping):
        named = any(isinstance(value.get(key), str) and is_secret_name(value[key]) for key in _NAMING)
        for name, inner in value.items():
            path, plain = f"{place}.{name or repr(name)}", _PLAIN_NAME.sub("", _hyphenated(str(name)))
            if isinstance(inner, str) and inner and (is_secret_name(plain) or (named and name == _NAMED)):
                yield path
            else:
                yield from secrets_in(inner, path)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from secrets_in(inner, f"{place}[{index}]")


def _hyphenated(name: str) -> str:
    """Return a name in lower case, with hyphens between the words of camel case: `api-key` for `apiKey`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()

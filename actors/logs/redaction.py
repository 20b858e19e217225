"""Redaction of log events: values under a secret's name, and the values of secret environment variables anywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from structlog.typing import EventDict, WrappedLogger

HIDDEN = "[redacted]"
SECRET_CHARS_MIN = 8
"""The shortest secret that is redacted in any text: a shorter one occurs in ordinary words, and protects nothing."""

_SECRET_NAME = re.compile(
    r"(?:^|[._-])(?:password|passwd|passphrase|secret|token|authorization|cookie|credentials?|api_?key)(?:$|[._-])",
    re.IGNORECASE,
)


class Redaction:
    """A structlog processor that replaces secrets in an event by `[redacted]`.

    Args:
        environment: its variables with a secret's name hold secrets, such as `OPENAI_API_KEY`.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        secrets = {
            value for name, value in environment.items() if is_secret_name(name) and len(value) >= SECRET_CHARS_MIN
        }
        # The longest first: one secret may be part of another.
        pattern = "|".join(re.escape(secret) for secret in sorted(secrets, key=len, reverse=True))
        self._secrets = re.compile(pattern) if pattern else None

    def __call__(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        """Return the event without secrets."""
        return {key: self._value(key, value) for key, value in event.items()}

    def _value(self, key: str, value: Any) -> Any:
        # Numbers under such names are counts, of tokens for instance.
        if is_secret_name(key) and isinstance(value, str | bytes):
            return HIDDEN
        return self._clean(value)

    def _clean(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, dict):
            return {self._clean(key): self._value(str(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._clean(item) for item in value]
        # Anything else is logged as its text, so the text must be clean.
        text = value if isinstance(value, str) else repr(value) if isinstance(value, bytes) else str(value)
        return text if self._secrets is None else self._secrets.sub(HIDDEN, text)


def is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None

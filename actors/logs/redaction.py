"""Keeps secrets out of log events: what stands under a telling name, and what secret variables hold, anywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from structlog.typing import EventDict, WrappedLogger

HIDDEN = "[redacted]"
SHORTEST = 4
"""A secret of fewer characters would make every other line unreadable, and protects nothing."""

_TELLING = re.compile(
    r"(?:^|[._-])(?:password|passwd|passphrase|secret|token|authorization|cookie|credentials?|api_?key)(?:$|[._-])",
    re.IGNORECASE,
)


class Redaction:
    """A structlog processor.

    Args:
        environment: whose variables with telling names hold secrets, such as `OPENAI_API_KEY`.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        secrets = {value for name, value in environment.items() if is_telling(name) and len(value) >= SHORTEST}
        # The longest first: one secret may be part of another.
        found = "|".join(re.escape(secret) for secret in sorted(secrets, key=len, reverse=True))
        self._secrets = re.compile(found) if found else None

    def __call__(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        """The event without secrets."""
        return {key: self._value(key, value) for key, value in event.items()}

    def _value(self, key: str, value: Any) -> Any:
        # Numbers under such names are counts, of tokens for instance.
        if is_telling(key) and isinstance(value, str | bytes):
            return HIDDEN
        return self._clean(value)

    def _clean(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, dict):
            return {self._clean(key): self._value(str(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._clean(item) for item in value]
        # Anything else is written as its text, so the text is what must be clean.
        text = value if isinstance(value, str) else repr(value) if isinstance(value, bytes) else str(value)
        return text if self._secrets is None else self._secrets.sub(HIDDEN, text)


def is_telling(name: str) -> bool:
    """Whether what goes by this name is a secret."""
    return _TELLING.search(name) is not None

"""The limit on the calls that the server takes a second."""

from __future__ import annotations


class RateLimit:
    """A bucket of tokens, full at first, that holds those of one second."""

    def __init__(self) -> None:
        self._tokens = float("inf")
        self._seen_s = 0.0

    def take(self, rate_per_s: float, now: float) -> float:
        """Take a token and return 0; if there is none, return the seconds until there is one."""
        most = max(1.0, rate_per_s)
        self._tokens = min(most, self._tokens + (now - self._seen_s) * rate_per_s)
        self._seen_s = now
        if self._tokens < 1.0:
            return (1.0 - self._tokens) / rate_per_s
        self._tokens -= 1.0
        return 0.0

"""The pause that a server asks for in the headers of a refusal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_UNITS_S = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = r"(\d+(?:\.\d+)?)(ms|[dhms])"
_DURATION, _PARTS = re.compile(f"(?:{_PART})+"), re.compile(_PART)

_LIMITS = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("ratelimit-remaining", "ratelimit-reset"),
)
"""Pairs of headers: what is left of a limit, and the time until it is full again."""

LONGEST_S = 86_400.0
"""No pause is longer: a damaged header must not stop a run for years."""


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait before the next request; 0 if the headers ask for none, or cannot be read.

    `Retry-After` counts: seconds, or a date, which is compared with the server's own clock in `Date`. Without it, the
    limits that have nothing left count; where a server does not say what is left, the first limit to be full again.

    Args:
        headers: of a response, by name in lower case, as `httpx.Headers` are.
    """
    asked = headers.get("retry-after", "")
    if (seconds := duration_s(asked)) is not None or (seconds := _until(asked, headers.get("date", ""))) is not None:
        return _bounded(seconds)
    resets = [(headers.get(left), duration_s(headers.get(reset, ""))) for left, reset in _LIMITS]
    used_up = [seconds for left, seconds in resets if seconds is not None and left is not None and left.strip() == "0"]
    unsaid = [seconds for left, seconds in resets if seconds is not None and left is None]
    return _bounded(max(used_up, default=min(unsaid, default=0.0)))


def duration_s(text: str) -> float | None:
    """Return a duration such as `6`, `6s`, `1m30s` or `120ms` in seconds; None if it is none."""
    text = text.strip().lower()
    try:
        return float(text)
    except ValueError:
        if _DURATION.fullmatch(text) is None:
            return None
    return sum(float(number) * _UNITS_S[unit] for number, unit in _PARTS.findall(text))


def _until(text: str, now: str) -> float | None:
    """Return the seconds between two dates of HTTP headers; None if one of them is none."""
    try:
        return (parsedate_to_datetime(text) - parsedate_to_datetime(now)).total_seconds()
    except (ValueError, TypeError):  # no date, or one with a time zone and one without
        return None


def _bounded(seconds: float) -> float:
    """Return seconds from 0 to a day; NaN is 0, because every comparison with it is false."""
    return min(seconds, LONGEST_S) if seconds > 0.0 else 0.0

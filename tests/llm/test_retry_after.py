from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from prism.llm.http import LONGEST_S, duration_s, retry_after_s
from tests.catalogue import catalogue

NOW = "Wed, 21 Oct 2026 07:28:00 GMT"


@catalogue(
    ("text", "seconds"),
    [
        ("6", 6.0),
        ("0.5", 0.5),
        ("6s", 6.0),
        ("1m30s", 90.0),
        ("120ms", 0.12),
        ("6m0s", 360.0),
        (" 2H ", 7200.0),
        ("1d", 86_400.0),
        ("", None),
        ("soon", None),
        ("1x", None),
        ("s", None),
    ],
)
def test_a_duration_is_a_number_or_a_sum_of_parts(text: str, seconds: float | None) -> None:
    assert duration_s(text) == (None if seconds is None else pytest.approx(seconds))


@catalogue(
    ("headers", "seconds"),
    [
        ({}, 0.0),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, 0.0),
        ({"retry-after": "inf"}, LONGEST_S),
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": NOW}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30", "date": NOW}, 30.0),
        ({"retry-after": "Wed Oct 21 07:28:30 2026", "date": NOW}, 30.0),
        ({"retry-after": "Wednesday, 21-Oct-26 07:28:30 GMT", "date": NOW}, 30.0),
        ({"retry-after": "2026-10-21T07:28:30Z", "date": NOW}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:30 GMT", "date": NOW}, 0.0),
        ({"retry-after": "Wed, 99 Oct 2026 07:27:30 GMT", "date": NOW}, 0.0),
        ({"retry-after": "1792567710", "date": NOW}, 30.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"x-ms-retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"x-ratelimit-reset": "7"}, 7.0),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "7"}, 0.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1792567710", "date": NOW}, 30.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1792567710000", "date": NOW}, 30.0),
        ({"x-ratelimit-reset": "9" * 300, "date": NOW}, LONGEST_S),
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2026-10-21T07:28:30Z",
                "date": NOW,
            },
            30.0,
        ),
        ({"x-ratelimit-reset-requests": "6s"}, 6.0),
        ({"x-ratelimit-reset-requests": "6s", "x-ratelimit-reset-tokens": "120ms"}, 0.12),
        (
            {
                "x-ratelimit-remaining-requests": "12",
                "x-ratelimit-reset-requests": "6s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "1m30s",
            },
            90.0,
        ),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "7"}, 7.0),
        ({"retry-after": "1", "ratelimit-reset": "7"}, 1.0),
    ],
)
def test_a_pause_is_what_the_server_asks_for(headers: dict[str, str], seconds: float) -> None:
    assert retry_after_s(headers) == pytest.approx(seconds)


def test_a_date_without_the_servers_own_is_compared_with_the_clock_here() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=3600)
    for text in (format_datetime(soon, usegmt=True), soon.strftime("%a %b %d %H:%M:%S %Y"), soon.isoformat()):
        for date in ({}, {"date": "yesterday"}):
            assert retry_after_s({"retry-after": text, **date}) == pytest.approx(3600.0, abs=60.0), text

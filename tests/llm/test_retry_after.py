from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from prism.llm.http import LONGEST_S, retry_after_s
from tests.catalogue import catalogue

NOW = "Wed, 21 Oct 2026 07:28:00 GMT"


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
        ({"retry-after": "Wed, 21 Oct 2026 07:27:30 GMT", "date": NOW}, 0.0),
        ({"retry-after": "Wed, 99 Oct 2026 07:27:30 GMT", "date": NOW}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"x-ms-retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
    ],
)
def test_a_pause_is_what_the_server_asks_for(headers: dict[str, str], seconds: float) -> None:
    assert retry_after_s(headers) == pytest.approx(seconds)


def test_a_date_without_the_servers_own_is_compared_with_the_clock_here() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=3600)
    for text in (format_datetime(soon, usegmt=True), soon.strftime("%a %b %d %H:%M:%S %Y")):
        for date in ({}, {"date": "yesterday"}):
            assert retry_after_s({"retry-after": text, **date}) == pytest.approx(3600.0, abs=60.0), text

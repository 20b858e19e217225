"""What every test may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict


@pytest.fixture
def logged() -> Iterator[list[EventDict]]:
    """The events logged during the test, in order; nothing is printed."""
    with capture_logs() as events:
        yield events

"""A rule for every test of actors: no task may make a blocking call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.actors.real_runs import embedded, live
from tests.blocking import nothing_blocks

__all__ = ["embedded", "live"]


@pytest.fixture(autouse=True)
def _nothing_blocks() -> Iterator[None]:
    """Let a blocking call in a task fail the test: sleeping, files, sockets, locks."""
    with nothing_blocks():
        yield

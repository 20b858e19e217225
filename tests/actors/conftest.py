"""What holds for every test of actors: nothing that a task calls may block."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx

from tests.actors.real_runs import embedded, live

__all__ = ["embedded", "live"]


@pytest.fixture(autouse=True)
def _nothing_blocks() -> Iterator[None]:
    """A blocking call in a task fails the test: sleeping, files, sockets, locks."""
    with blockbuster_ctx():
        yield

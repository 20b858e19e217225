"""A rule for every test of runs: it may block."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: what is on the disk is read and written here, and tests of the event loop say so."""

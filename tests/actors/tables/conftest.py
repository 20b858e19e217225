"""A rule for the tests of tables."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: they read the disk, and commands are run as a user runs them."""

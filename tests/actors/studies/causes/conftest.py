"""The tests of causes read the disk, so they may block."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block."""

"""What the tests of the tape share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where there is no tape yet."""
    return tmp_path / "run.tape"

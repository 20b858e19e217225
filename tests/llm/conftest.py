"""The fixture of the tests of the tape."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a tape that does not exist yet."""
    return tmp_path / "run.tape"

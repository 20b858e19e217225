"""The paths of the project, and of real input outside of it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
"""The root of the project."""

DATA = ROOT.parent / "shared" / "data"
"""The directory of real input, if there is any: tests that need it skip if it is absent."""


def real_path(name: str) -> Path:
    """Return the path of a file of real input; the test is skipped where it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not part of the repository; put it in {DATA}")
    return path

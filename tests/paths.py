"""The paths of the project, and of real input outside of it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
"""The root of the project."""

DATA = ROOT.parent / "shared" / "data"
"""The directory of real input, if there is any: tests that need it skip if it is absent."""


FIELD = ROOT.parent / "shared" / "field"
"""The directory of small files as people have them, if there is any."""


def field_path(name: str) -> Path:
    """Return the path of a file as people have them; the test is skipped where it is absent."""
    path = FIELD / name
    if not path.exists():
        pytest.skip(f"{name} is not part of the repository; put it in {FIELD}")
    return path


def real_path(name: str) -> Path:
    """Return the path of a file of real input; the test is skipped where it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not part of the repository; put it in {DATA}")
    return path

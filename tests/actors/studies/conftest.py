"""A directory in which Ray can put its sockets."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory with a short path, since that of a socket has at most 107 characters."""
    path = Path(tempfile.mkdtemp(prefix="prism", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)

"""The temporary directory of a page, and the server of its processes, which makes itself ready meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from actors.core.forkserver import forkserver

VARIABLE: Final = "PRISM_PLAY_PLACE"  # the variable with the directory in which the server finds the configuration


@contextmanager
def begun() -> Iterator[Path]:
    """Begin the server of processes, and yield the directory, which is removed after the block."""
    with TemporaryDirectory(prefix="prism-play-", ignore_cleanup_errors=True) as place:
        os.environ[VARIABLE] = place
        try:
            forkserver("actors.playground.world", "actors.studies.experiments.cells")
        finally:
            del os.environ[VARIABLE]
        yield Path(place)

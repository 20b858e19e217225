"""Fixtures of the tests of `prism verify`: a run whose files a test may damage."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.actors.cli.conftest import Made


@pytest.fixture(scope="session")
def with_checkpoints(made: Made) -> Path:
    """Return a run with two checkpoints, made once."""
    return made("--set", "run.checkpoint_every_ticks=24", "--set", "run.tick_s=0.001")


@pytest.fixture
def run(with_checkpoints: Path, tmp_path: Path) -> Path:
    """Return a copy of the run, in `run`."""
    return shutil.copytree(with_checkpoints, tmp_path / "run")

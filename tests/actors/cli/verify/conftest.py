"""Fixtures of the tests of `prism verify`: a run whose files a test may damage."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.actors.cli.conftest import SMALL
from tests.command import prism_alone


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: a fork may read files, because no other task waits for it."""


@pytest.fixture(scope="session")
def with_checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with two checkpoints, made once."""
    place = tmp_path_factory.mktemp("checkpoints")
    (place / "small.yaml").write_text(SMALL)
    options = ("--set", "run.checkpoint_every_ticks=24", "--set", "run.tick_s=0.001")
    ended = prism_alone("run", str(place / "small.yaml"), "-q", *options, "--out", str(place / "run"))
    assert ended.code == 0, ended.err
    return place / "run"


@pytest.fixture
def run(with_checkpoints: Path, tmp_path: Path) -> Path:
    """Return a copy of the run, in `run`."""
    return shutil.copytree(with_checkpoints, tmp_path / "run")

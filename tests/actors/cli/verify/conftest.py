"""What the tests of `prism verify` share: a run whose files they may spoil."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Prism


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Here a fork may read files: nothing else is under way that it could hold up."""


@pytest.fixture
def run(prism: Prism, tmp_path: Path) -> Path:
    """A run with two checkpoints, in `run`."""
    options = ("--set", "run.checkpoint_every_ticks=24", "--set", "run.tick_s=0.001")
    assert prism("run", "small.yaml", "-q", *options, "--out", "run").code == 0
    return tmp_path / "run"

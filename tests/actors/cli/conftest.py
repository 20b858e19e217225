"""Running the real command line, in this process and in others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import Ended, run_prism

SMALL = """
simulation: {rounds: 3, ticks_per_round: 24, seed: 5}
population: {size: 60, activity: {mean: 0.9, sigma: 0.1}}
"""


@pytest.fixture
def prism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Run the command line in an empty directory that holds `small.yaml`."""
    (tmp_path / "small.yaml").write_text(SMALL)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ended:
        return run_prism(monkeypatch, capsys, *arguments)

    return run

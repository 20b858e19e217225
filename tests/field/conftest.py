from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Ended, Prism, run_prism


@pytest.fixture
def prism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prism:
    """Return the command line in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str) -> Ended:
        return run_prism(monkeypatch, capsys, *arguments)

    return run

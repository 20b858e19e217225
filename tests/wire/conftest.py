"""The real command line in this process, on a configuration that names a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import Ended, Prism, run_prism
from tests.wire.support import settings


@pytest.fixture
def prism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prism:
    """Return a function that runs `prism run` in an empty directory, on `settings` with these sections, to `out`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    def run(host: str, *, out: str = "run", **sections: dict[str, Any]) -> Ended:
        (tmp_path / "wire.yaml").write_text(yaml.safe_dump(settings(host, **sections)))
        return run_prism(monkeypatch, capsys, "run", "wire.yaml", "--quiet", "--out", out)

    return run

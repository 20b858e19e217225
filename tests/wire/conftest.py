"""The real command line in this process, on a configuration that names a server."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from actors.cli import main
from tests.wire.support import settings


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


Prism = Callable[..., Ended]


@pytest.fixture
def prism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prism:
    """`prism run` in an empty directory, on `settings` with these sections, written to `out`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    def run(host: str, *, out: str = "run", **sections: dict[str, Any]) -> Ended:
        (tmp_path / "wire.yaml").write_text(yaml.safe_dump(settings(host, **sections)))
        monkeypatch.setattr(sys, "argv", ["prism", "run", "wire.yaml", "--quiet", "--out", out])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        code = ended.value.code
        return Ended(code if isinstance(code, int) else 0, printed.out, printed.err)

    return run

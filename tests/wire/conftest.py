"""The real command line in this process, on a configuration that names a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import Ended, Prism, prism_alone, run_prism
from tests.standin import ModelServer
from tests.wire.support import settings


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The output of `prism` with these settings and no others, by Ollama's chat, against a server that never fails."""
    place = tmp_path_factory.mktemp("undisturbed")
    with ModelServer() as server:
        (place / "wire.yaml").write_text(yaml.safe_dump(settings(server.url, llm={"systemone": "off"})))
        ended = prism_alone("run", str(place / "wire.yaml"), "--quiet", "--out", str(place / "run"))
    assert ended.code == 0, ended.err
    return ended.out


@pytest.fixture
def prism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prism:
    """Return a function that runs `prism run` in an empty directory, on `settings` with these sections, to `out`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    def run(host: str, *, out: str = "run", **sections: dict[str, Any]) -> Ended:
        (tmp_path / "wire.yaml").write_text(yaml.safe_dump(settings(host, **sections)))
        return run_prism(monkeypatch, capsys, "run", "wire.yaml", "--quiet", "--out", out)

    return run


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prism:
    """Return a function that runs any command in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: run_prism(monkeypatch, capsys, *arguments)


@pytest.fixture
def quietly(command: Prism) -> Prism:
    """Return a function that runs any command with `--quiet`."""
    return lambda *arguments: command(*arguments, "--quiet")

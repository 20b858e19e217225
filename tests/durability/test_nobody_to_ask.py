"""A run that is to go on, and a model that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.store.manifest import CONFIG, MANIFEST
from tests.actors.cli.conftest import SMALL
from tests.command import run_prism


def test_a_resume_that_cannot_begin_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SMALL)
    begun = tmp_path / "begun"
    assert run_prism(monkeypatch, capsys, "run", "small.yaml", "-q", "--out", "begun", "--ticks", "60").code == 0
    for name, before, after in (
        (CONFIG, "backend: choice", "backend: ollama"),
        (MANIFEST, '"accepted": {}', '"accepted": {"oracle.backend": "ollama"}'),
    ):
        text = (begun / name).read_text()
        assert before in text
        (begun / name).write_text(text.replace(before, after))
    (begun / "run.lock").unlink()
    files = {path.name: path.read_bytes() for path in begun.iterdir()}
    changes = ("--ticks", "72", "--set", "llm.host=http://127.0.0.1:9", "--accept-settings")
    assert run_prism(monkeypatch, capsys, "resume", "begun", *changes).code == 5
    assert {name: (begun / name).read_bytes() for name in files} == files

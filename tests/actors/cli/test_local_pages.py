"""`prism view` and `prism play`: what they refuse before they serve anything."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.command import run_prism


def test_a_directory_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ended = run_prism(monkeypatch, capsys, "view", str(tmp_path / "none"), "--port", "0")
    assert ended.code == 2
    assert ended.err.strip() == f"prism: {tmp_path / 'none'}: no such run or directory"


def test_a_port_in_use_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run_prism(monkeypatch, capsys, "view", str(tmp_path), "--port", str(port))
    assert ended.code == 2
    expected = f"prism: view: cannot listen on 127.0.0.1:{port}: Address already in use; "
    assert ended.err.strip() == f"{expected}set --port to another port, or to 0 for any free one"


def test_a_port_in_use_and_a_run_without_a_tape_are_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run_prism(monkeypatch, capsys, "play", "configs/default.yaml", "--port", str(port))
    assert ended.code == 2
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in ended.err
    ended = run_prism(monkeypatch, capsys, "play", "--tape", str(tmp_path))
    assert ended.code == 3
    assert ended.err.startswith(f"prism: {tmp_path / 'config.yaml'}: ")
    assert ended.err.count("\n") == 1

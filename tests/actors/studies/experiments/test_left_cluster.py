"""A killed cluster leaves its address behind. It is tried before Ray is asked, which waits for it for minutes."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from actors.factory.ray_cluster import left_cluster_is_gone
from tests.catalogue import catalogue


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which Ray keeps the address of this machine's cluster; not there yet."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    (tmp_path / "ray").mkdir()
    return tmp_path / "ray" / "ray_current_cluster"


def test_an_address_at_which_nobody_listens_is_that_of_a_cluster_that_is_gone(file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        file.write_text(f"{host}:{port}")
        assert not left_cluster_is_gone()
    assert left_cluster_is_gone()


@catalogue("text", [None, "", "nonsense"])
def test_without_an_address_ray_is_asked(text: str | None, file: Path) -> None:
    if text is not None:
        file.write_text(text)
    assert not left_cluster_is_gone()


def test_a_cluster_that_is_named_is_asked_for(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("127.0.0.1:1")
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert not left_cluster_is_gone()

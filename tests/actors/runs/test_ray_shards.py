"""The head of a cluster answers, or is gone after some looks in vain."""

from __future__ import annotations

import socket

import pytest

from actors.core.errors import PlaceError
from actors.runs import ray_shards


async def test_a_head_is_gone_after_looks_in_vain_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_shards, "LOOKED_EVERY_S", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        head = ray_shards._Head(f"127.0.0.1:{port}")
        await head.look()
    for _ in range(ray_shards.LOOKS_IN_VAIN_MAX - 1):
        await head.look()
    with socket.create_server(("127.0.0.1", port)):
        await head.look()
    for _ in range(ray_shards.LOOKS_IN_VAIN_MAX - 1):
        await head.look()
    with pytest.raises(PlaceError, match="does not answer"):
        await head.look()

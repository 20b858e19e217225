"""Clients that are silent, slow or too many keep nobody else from reading."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

import pytest

from actors.metrics.http_server import CONNECTIONS_MAX
from tests.actors.metrics.http.support import Serve, ask
from tests.patience import HANG_S

pytestmark = pytest.mark.network


def test_a_silent_client_blocks_nobody(serve: Serve) -> None:
    server = serve()
    with socket.create_connection(("127.0.0.1", server.port)):
        assert ask(server).status == 200


def test_too_many_clients_are_turned_away_until_one_leaves(serve: Serve) -> None:
    server = serve()
    with ExitStack() as clients:
        silent = [
            clients.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(CONNECTIONS_MAX)
        ]
        with pytest.raises(OSError, match=r"."):
            ask(server)
        silent[0].close()
        assert until(lambda: ask(server).status == 200)


@pytest.mark.parametrize("request_bytes", [b"GET", b"GET /metrics HTTP/1.1\r\nX: "])
def test_a_client_that_takes_its_time_does_not_keep_its_place(
    request_bytes: bytes, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.metrics.http_server.CONNECTION_MAX_S", 0.2)
    server = serve()
    with ExitStack() as clients:
        slow = [
            clients.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(CONNECTIONS_MAX)
        ]

        def is_answered_while_they_go_on() -> bool:
            for each in slow:
                with suppress(OSError):
                    each.sendall(request_bytes[-1:])
            return ask(server).status == 200

        for each in slow:
            each.sendall(request_bytes)
        assert until(is_answered_while_they_go_on)


def until(is_so: Callable[[], bool], within_s: float = HANG_S) -> bool:
    """Whether it comes to be so in time."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            if is_so():
                return True
        except OSError:
            continue
    return False

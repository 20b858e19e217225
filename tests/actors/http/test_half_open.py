"""A thousand clients that never finish a request, and a liveness probe."""

from __future__ import annotations

import resource
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.actors.http.support import Listening, Serve, ask, context_of
from tests.patience import HANG_S

CLIENTS = 1_000
CLIENTS_OVER_TLS = 400
"""Each takes three times the work, half of it for the rule that no task may block, which holds in these tests."""
PROBES = 20
PROBE_MAX_S = 3.0
"""Three times the usual timeout of a liveness probe: a process is restarted after three failures."""

BEGINNINGS = (b"", b"G", b"GET / HTTP/1.1\r\nX-Slow: ", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
"""Beginnings of requests; the last one is that of a TLS handshake."""


@pytest.fixture
def _many_files() -> Iterator[None]:
    """Allow this process a file for each client and some more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * CLIENTS + 500
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"a process may open only {hard} files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Crowd:
    """Clients that begin a request, go on with it a byte at a time, and come again when they are dropped."""

    def __init__(self, server: Listening, sockets: ExitStack, size: int) -> None:
        self._server = server
        self._sockets = sockets
        self.clients = [self._begin(number) for number in range(size)]

    def _begin(self, number: int) -> socket.socket:
        client = self._sockets.enter_context(socket.create_connection(("127.0.0.1", self._server.port), HANG_S))
        with suppress(OSError):
            client.sendall(BEGINNINGS[number % len(BEGINNINGS)])
        return client

    def go_on(self, share: int) -> None:
        """Let every client of a share send a byte, and those that were dropped begin again."""
        for number in range(share, len(self.clients), PROBES):
            try:
                self.clients[number].sendall(b"x")
            except OSError:
                self.clients[number].close()
                self.clients[number] = self._begin(number)


def longest_probe_s(server: Listening, size: int, tls: ssl.SSLContext | None = None) -> float:
    """Return the longest time that a probe took beside the crowd."""
    longest_s = 0.0
    with ExitStack() as sockets:
        crowd = Crowd(server, sockets, size)
        for share in range(PROBES):
            crowd.go_on(share)
            begun = time.perf_counter()
            assert ask(server, "/probe", tls=tls).body == "alive"
            longest_s = max(longest_s, time.perf_counter() - begun)
        assert ask(server, tls=tls).status == 200, "and a page can be read, too"
    return longest_s


@pytest.mark.usefixtures("_many_files")
def test_a_thousand_half_open_connections_do_not_hold_up_a_probe(serve: Serve) -> None:
    assert longest_probe_s(serve(), CLIENTS) < PROBE_MAX_S


@pytest.mark.usefixtures("_many_files")
def test_nor_do_they_over_tls(certificate: tuple[Path, Path], serve: Serve) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate[0]))
    assert longest_probe_s(serve(tls=context_of(certificate)), CLIENTS_OVER_TLS, trusting) < PROBE_MAX_S

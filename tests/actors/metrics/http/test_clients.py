"""Clients that are silent, slow or too many keep nobody else from reading."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from http import HTTPStatus
from threading import Event, Semaphore, Thread

import pytest

from actors.metrics.connections import ANSWERED_MAX, WAITING_MAX, ServerOptions
from actors.metrics.http_server import Headers, MetricsServer, Page, plain
from tests.actors.metrics.http.support import ANY, PAGES, Serve, ask, send
from tests.patience import HANG_S

pytestmark = pytest.mark.network

GET_METRICS = b"GET /metrics HTTP/1.1\r\n\r\n"


def connect(server: MetricsServer, clients: ExitStack) -> socket.socket:
    return clients.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S))


def everything(client: socket.socket) -> bytes:
    """All that comes until the server ends the connection."""
    received = bytearray()
    with suppress(ConnectionResetError):
        while part := client.recv(1 << 20):
            received += part
    return bytes(received)


def test_a_silent_client_blocks_nobody(serve: Serve) -> None:
    server = serve()
    with socket.create_connection(("127.0.0.1", server.port)):
        assert ask(server).status == 200


def test_one_silent_client_too_many_and_the_oldest_of_them_is_dropped(serve: Serve) -> None:
    server = serve()
    with ExitStack() as clients:
        silent = [connect(server, clients) for _ in range(WAITING_MAX)]
        assert ask(server).status == 200
        assert silent[0].recv(1) == b""
        for each in silent[1:]:
            each.setblocking(False)
            with pytest.raises(BlockingIOError):
                each.recv(1)


def test_half_a_request_is_no_request_when_its_client_ends(serve: Serve) -> None:
    assert send(serve(), GET_METRICS[:-2]) == b""


class Gate:
    """A page that is not made until it may be, and that counts how many are being made at once."""

    def __init__(self) -> None:
        self.is_open = Event()
        self.begun = Semaphore(0)
        self.most = self.now = 0

    def __call__(self, _: Headers) -> Page:
        self.now += 1
        self.most = max(self.most, self.now)
        self.begun.release()
        assert self.is_open.wait(HANG_S)
        self.now -= 1
        return plain(HTTPStatus.OK, "made")


def test_pages_that_take_long_are_limited_and_hold_up_no_probe(serve: Serve) -> None:
    gate = Gate()
    server = serve(pages={"/metrics": gate, "/healthz": lambda _: plain(HTTPStatus.OK, "ok")})
    with ExitStack() as clients:
        asking = [connect(server, clients) for _ in range(ANSWERED_MAX)]
        for each in asking:
            each.sendall(GET_METRICS)
        # Before it reads the first, the server has accepted all of them; before the second, it has read what they sent.
        assert [ask(server, "/healthz").body for _ in range(2)] == ["ok\n"] * 2
        for _ in range(ServerOptions().workers):
            assert gate.begun.acquire(timeout=HANG_S)
        assert until(lambda: ask(server).status == 503)
        assert [ask(server, "/healthz").body for _ in range(3)] == ["ok\n"] * 3
        assert ask(server, "/admin").status == 404
        gate.is_open.set()
        for each in asking:
            assert everything(each).endswith(b"made\n")
    assert gate.most == ServerOptions().workers
    assert ask(server).status == 200


def test_a_page_that_is_being_made_is_still_sent_when_the_server_is_closed() -> None:
    gate = Gate()
    server = MetricsServer(ANY, {"/metrics": gate}, {})
    with ExitStack() as clients:
        client = connect(server, clients)
        client.sendall(GET_METRICS)
        assert gate.begun.acquire(timeout=HANG_S)
        closing = Thread(target=server.close)
        closing.start()
        gate.is_open.set()
        assert everything(client).endswith(b"made\n")
        closing.join(HANG_S)


def test_a_large_answer_is_sent_as_its_client_takes_it(serve: Serve) -> None:
    large = b"x" * 20_000_000
    server = serve(pages={"/metrics": lambda _: Page(HTTPStatus.OK, large), "/healthz": PAGES["/healthz"]})
    with ExitStack() as clients:
        slow = connect(server, clients)
        slow.sendall(GET_METRICS)
        assert slow.recv(8) == b"HTTP/1.0"
        assert ask(server, "/healthz").status == 503  # which this page says
        assert everything(slow).endswith(b"\r\n\r\n" + large)


@pytest.mark.parametrize("limit", ["SILENCE_MAX_S", "CONNECTION_MAX_S"])
def test_a_client_that_does_not_take_its_answer_is_dropped(
    limit: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"actors.metrics.connections.{limit}", 0.2)
    server = serve(pages={"/metrics": lambda _: Page(HTTPStatus.OK, b"x" * 20_000_000)})
    with ExitStack() as clients:
        slow = connect(server, clients)
        slow.sendall(GET_METRICS)
        slow.recv(1)  # a byte or the end: it has been accepted

        def is_dropped() -> bool:
            return not (server._connections._waiting or server._connections._answered)

        assert until(is_dropped)
        assert len(everything(slow)) < 20_000_000


@pytest.mark.parametrize("request_bytes", [b"GET", b"GET /metrics HTTP/1.1\r\nX: "])
def test_a_client_that_takes_its_time_does_not_keep_its_place(
    request_bytes: bytes, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.metrics.connections.CONNECTION_MAX_S", 0.2)
    server = serve()
    with ExitStack() as clients:
        slow = [clients.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(WAITING_MAX)]

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

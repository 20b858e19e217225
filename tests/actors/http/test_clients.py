"""The server: its clients, and whole requests and others over real sockets."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Event, Semaphore

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp
from structlog.typing import EventDict

from actors.http.server import Server, ServerOptions, listen
from tests.actors.http.support import OPTIONS, Listening, Serve, ask, context_of, send, site
from tests.patience import HANG_S, wait_until

GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
LARGE = b"x" * 20_000_000


def connect(server: Listening, clients: ExitStack) -> socket.socket:
    return clients.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S))


def everything(client: socket.socket) -> bytes:
    """All that comes until the server ends the connection."""
    received = bytearray()
    with suppress(ConnectionResetError):
        while part := client.recv(1 << 20):
            received += part
    return bytes(received)


def is_open(client: socket.socket) -> bool:
    """Return whether the server has not ended the connection."""
    client.setblocking(False)
    try:
        return bool(client.recv(1))
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


BEGUN = (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")


def test_of_clients_with_half_a_request_as_many_are_dropped_as_are_too_many(serve: Serve) -> None:
    server = serve()
    with ExitStack() as clients:
        silent = [connect(server, clients) for _ in range(OPTIONS.waiting_max + 3)]
        for number, each in enumerate(silent):
            with suppress(OSError):  # it may have been dropped already
                each.sendall(BEGUN[number % len(BEGUN)])
        assert ask(server).status == 200
        wait_until(lambda: sum(map(is_open, silent)) == OPTIONS.waiting_max)
        assert ask(server).status == 200


def test_a_process_with_too_many_files_drops_who_has_not_asked_and_says_so_once(
    serve: Serve, logged: list[EventDict]
) -> None:
    server = serve()
    with ExitStack() as clients:
        silent = [connect(server, clients) for _ in range(3)]
        assert ask(server).status == 200
        loop = server._uvicorn.servers[0].get_loop()
        for _ in silent:  # as asyncio tells it of each client that it cannot accept
            loop.call_soon_threadsafe(loop.call_exception_handler, {"message": "", "exception": OSError(24, "files")})
        for each in silent:
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""
        assert ask(server).status == 200
    assert [event["error"] for event in logged] == ["OSError: [Errno 24] files"]


class Gate:
    """A page that is not made until it may be, and that counts how many are being made at once."""

    def __init__(self) -> None:
        self.is_open = Event()
        self.begun = Semaphore(0)
        self.most = self.now = 0

    def __call__(self, _: Request) -> Response:
        self.now += 1
        self.most = max(self.most, self.now)
        self.begun.release()
        assert self.is_open.wait(HANG_S)
        self.now -= 1
        return PlainTextResponse("made")


def test_pages_that_take_long_are_limited_and_hold_up_no_probe(serve: Serve) -> None:
    gate = Gate()
    server = serve(site(gate.__call__))
    with ExitStack() as clients:
        asking = [connect(server, clients) for _ in range(OPTIONS.answered_max or 0)]
        for each in asking:
            each.sendall(GET)
        for _ in range(OPTIONS.workers):
            assert gate.begun.acquire(timeout=HANG_S)
        wait_until(lambda: ask(server, "/elsewhere").status == 503)
        assert [ask(server, "/probe").body for _ in range(3)] == ["alive"] * 3
        gate.is_open.set()
        for each in asking:
            assert everything(each).endswith(b"made")
    assert gate.most == OPTIONS.workers
    assert ask(server).status == 200


def test_a_client_that_takes_nothing_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.http.server.CLOSED_WITHIN_S", 1.0)
    server = Server(
        site(lambda _: Response(LARGE)), listen("127.0.0.1", 0, "test", ("host", "port")), ServerOptions(name="test")
    )
    with ExitStack() as clients:
        client = connect(server, clients)
        client.sendall(GET)
        assert client.recv(8) == b"HTTP/1.1"
        server.close()
        assert len(everything(client)) < len(LARGE)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))


def test_a_client_that_does_not_take_its_answer_is_dropped(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.http.server.SILENCE_MAX_S", 0.1)
    server = serve(site(lambda _: Response(LARGE)), ServerOptions(name="test", answer_max_s=HANG_S))
    with ExitStack() as clients:
        slow = connect(server, clients)
        slow.sendall(GET)
        slow.recv(1)
        wait_until(lambda: not server._uvicorn.server_state.connections)
        assert len(everything(slow)) < len(LARGE)


def test_an_error_is_one_line_in_the_log_and_its_reader_learns_nothing(serve: Serve, logged: list[EventDict]) -> None:
    answer = ask(serve(), "/fails")
    assert (answer.status, answer.body) == (500, "Internal Server Error")
    wait_until(lambda: bool(logged))
    assert [(event["event"], event["error"]) for event in logged] == [
        ("test_request_failed", "RuntimeError: a fault of the page")
    ]


STRANGE = (
    b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\x00" * 100,
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"a" * 70_000 + b"\r\n\r\n",
    b"GET http://[::1 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\nx",
    b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"",
)


def test_a_request_of_another_kind_gets_a_short_answer_and_hurts_nobody(serve: Serve, logged: list[EventDict]) -> None:
    server = serve()
    for request in STRANGE:
        answer = send(server, request)
        assert b"Traceback" not in answer, request
        assert len(answer) < 500, request
    assert ask(server).status == 200
    assert logged == []


def test_over_tls_nobody_else_is_let_in_or_hinders(
    certificate: tuple[Path, Path], serve: Serve, logged: list[EventDict]
) -> None:
    server = serve(tls=context_of(certificate))
    trusting = ssl.create_default_context(cafile=str(certificate[0]))
    assert b"here" not in send(server, b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(server, tls=ssl.create_default_context())
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S):  # it never shakes hands
        assert ask(server, tls=trusting).body == "here"
    assert logged == []


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts a server, which ends with the test."""
    with ExitStack() as servers:

        def start(
            app: ASGIApp | None = None, options: ServerOptions = OPTIONS, tls: ssl.SSLContext | None = None
        ) -> Server:
            listener = listen("127.0.0.1", 0, "test", ("host", "port"))
            return servers.enter_context(closing(Server(app or site(), listener, options, tls)))

        yield start

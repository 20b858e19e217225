"""Requests over real sockets, whole ones and others."""

from __future__ import annotations

import socket
import ssl
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest
from structlog.typing import EventDict

from actors.http.server import ServerOptions
from tests.actors.http.support import OPTIONS, Serve, ask, context_of, send, until
from tests.patience import HANG_S


def test_pages_are_answered_as_http_has_it(serve: Serve) -> None:
    server = serve(options=OPTIONS._replace(headers=(("Cache-Control", "no-store"),)))
    found = ask(server, "/?x=%zz")
    assert (found.status, found.body, found.headers["cache-control"]) == (200, "here", "no-store")
    head = ask(server, method="HEAD")
    assert (head.status, head.headers["content-length"], head.body) == (200, "4", "")
    assert ask(server, "/nowhere").status == 404
    assert ask(server, method="BREW").status == 405


def test_an_error_is_one_line_in_the_log_and_its_reader_learns_nothing(serve: Serve, logged: list[EventDict]) -> None:
    answer = ask(serve(), "/fails")
    assert (answer.status, answer.body) == (500, "Internal Server Error")
    assert until(lambda: bool(logged))
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


def test_a_connection_stays_open_where_it_may(serve: Serve) -> None:
    for server, stays_open in (
        (serve(), False),
        (serve(options=ServerOptions(name="test", keep_alive_s=60.0)), True),
    ):
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=HANG_S)) as connection:
            for _ in range(2):
                connection.request("GET", "/")
                assert connection.getresponse().read() == b"here"
                assert (connection.sock is not None) == stays_open


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

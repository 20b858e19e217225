"""The HTTP endpoint, over real sockets: what it answers to a request."""

from __future__ import annotations

import pytest
from structlog.typing import EventDict

from tests.actors.metrics.http.support import Serve, ask, send

pytestmark = pytest.mark.network


def test_a_page_is_answered_as_it_is(serve: Serve) -> None:
    answer = ask(serve())
    assert (answer.status, answer.body) == (200, "up 1\n")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.headers["Content-Length"] == "5"


def test_a_query_changes_nothing(serve: Serve) -> None:
    assert ask(serve(), "/metrics?name[]=up&x=%zz").body == "up 1\n"


def test_the_head_of_a_page_has_its_length_and_no_body(serve: Serve) -> None:
    answer = ask(serve(), method="HEAD")
    assert (answer.status, answer.headers["Content-Length"], answer.body) == (200, "5", "")


def test_a_page_is_told_what_the_reader_accepts(serve: Serve) -> None:
    assert ask(serve(), "/accept", Accept="application/openmetrics-text").body == "application/openmetrics-text\n"


def test_a_page_may_say_that_things_are_bad(serve: Serve) -> None:
    answer = ask(serve(), "/healthz")
    assert (answer.status, answer.body) == (503, "stuck\n")


def test_an_unknown_path_is_told_which_there_are(serve: Serve) -> None:
    answer = ask(serve(), "/admin")
    assert (answer.status, answer.body) == (404, "there are only /metrics, /healthz, /accept, /broken\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"])
def test_there_is_nothing_to_do_but_read(method: str, serve: Serve) -> None:
    answer = ask(serve(), method=method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert answer.body == "method not allowed\n"


def test_an_error_is_one_line_to_the_reader_and_its_cause_is_in_the_log(serve: Serve, logged: list[EventDict]) -> None:
    answer = ask(serve(), "/broken")
    assert (answer.status, answer.body) == (500, "this page cannot be made; the run's log says why\n")
    assert [(event["event"], event["error"]) for event in logged] == [
        ("metrics_page_failed", "ValueError: a secret thing")
    ]


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /metrics HTTP/9.9\r\n\r\n",
        b"GET /metrics HTTP/1.1 please\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 100,
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\n" + b"X-Many: 1\r\n" * 500 + b"\r\n",
        b"GET /metrics HTTP/1.1\r\nX-Long: " + b"a" * 70_000 + b"\r\n\r\n",
        b"GET http://[::1 HTTP/1.1\r\n\r\n",
        b"GET /accept HTTP/1.1\r\nAccept: a\r\n b\r\n\r\n",
        b"",
    ],
)
def test_a_malformed_request_gets_a_short_answer_and_hurts_nobody(request_bytes: bytes, serve: Serve) -> None:
    server = serve()
    answer = send(server, request_bytes)
    assert b"Traceback" not in answer
    assert b"<html" not in answer.lower()
    assert len(answer) < 500
    assert ask(server).status == 200

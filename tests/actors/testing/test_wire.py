"""Requests are cut from a stream of bytes, whatever the pieces they come in, and never beyond their limits."""

from http import HTTPStatus

import pytest

from actors.testing.errors import BadFrameError
from actors.testing.wire import MAX_BODY_BYTES, MAX_HEAD_BYTES, RequestParser
from tests.catalogue import catalogue

LENGTH = b"POST /a?b HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;ext=1\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
BARE = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"
ALL = LENGTH + CHUNKED + BARE + LENGTH


@catalogue("size", [1, 2, 3, 7, 64, len(ALL)])
def test_requests_are_the_same_in_pieces_of_any_size(size: int) -> None:
    parser = RequestParser()
    found = [request for i in range(0, len(ALL), size) for request in parser.feed(ALL[i : i + size])]
    assert [(request.method, request.path, request.body) for request in found] == [
        ("POST", "/a", b"hello"),
        ("POST", "/c", b"hello"),
        ("GET", "/", b""),
        ("POST", "/a", b"hello"),
    ]
    assert [request.keeps_alive for request in found] == [True, True, False, True]


def head(*lines: str) -> bytes:
    return "\r\n".join(["POST / HTTP/1.1", *lines, "", ""]).encode("latin-1")


CHUNKS = head("Transfer-Encoding: chunked")


@catalogue(
    ("data", "status"),
    [
        (b"hello\r\n\r\n", HTTPStatus.BAD_REQUEST),
        (b"GET / HTTP/2\r\n\r\n", HTTPStatus.BAD_REQUEST),
        (head("no colon"), HTTPStatus.BAD_REQUEST),
        (head("Content-Length: -5"), HTTPStatus.BAD_REQUEST),
        (head("Content-Length: \xb2"), HTTPStatus.BAD_REQUEST),
        (head(f"Content-Length: {'9' * 5000}"), HTTPStatus.BAD_REQUEST),
        (CHUNKS + b"-5\r\n", HTTPStatus.BAD_REQUEST),
        (CHUNKS + b"1_0\r\n", HTTPStatus.BAD_REQUEST),
        (CHUNKS + b"5" * 2000, HTTPStatus.BAD_REQUEST),
        (b"x" * (MAX_HEAD_BYTES + 1), HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
        (head(f"X: {'x' * MAX_HEAD_BYTES}"), HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
        (head(f"Content-Length: {MAX_BODY_BYTES + 1}"), HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        (CHUNKS + b"%x\r\n" % (MAX_BODY_BYTES + 1), HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    ],
)
def test_bytes_that_are_no_request_are_refused_with_their_status(data: bytes, status: HTTPStatus) -> None:
    with pytest.raises(BadFrameError) as caught:
        RequestParser().feed(data)
    assert caught.value.status is status


def test_a_body_of_many_chunks_is_refused_once_it_is_too_long() -> None:
    parser, chunk = RequestParser(), b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    parser.feed(CHUNKS)
    for _ in range(MAX_BODY_BYTES // 0x10000):
        assert parser.feed(chunk) == []
    with pytest.raises(BadFrameError):
        parser.feed(chunk)

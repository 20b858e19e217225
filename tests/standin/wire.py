"""HTTP/1.1 as bytes: requests in, responses out. Written by hand, since the faults need what a library would forbid."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from email.utils import formatdate
from http import HTTPStatus

import msgspec

from tests.standin.errors import BadFrameError

JSON = "application/json; charset=utf-8"
NDJSON = "application/x-ndjson"
PLAIN = "text/plain; charset=utf-8"

MAX_HEAD_BYTES = 64 << 10
MAX_BODY_BYTES = 4 << 20
"""Limits of a request. The longest prompt of a run has some ten thousand characters."""

_MAX_LINE_BYTES = 1 << 10
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?", re.DOTALL)


def dump(value: object) -> bytes:
    """Return compact JSON, as Go writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A whole request; header names are in lower case, and `query` is what follows the path."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""

    @property
    def keeps_alive(self) -> bool:
        """The client wants the connection to stay."""
        return self.headers.get("connection", "").lower() != "close"


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """A status and a body; `parts` instead of a body makes it a chunked stream."""

    status: int = 200
    body: bytes = b""
    parts: tuple[bytes, ...] = ()
    content_type: str = JSON
    headers: Mapping[str, str] = {}

    def head(self, *, close: bool = False) -> bytes:
        """Return the status line and headers."""
        length = {"Transfer-Encoding": "chunked"} if self.parts else {"Content-Length": str(len(self.body))}
        fields = {"Content-Type": self.content_type, **self.headers, "Date": formatdate(usegmt=True), **length}
        if close:
            fields["Connection"] = "close"
        first = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"
        return "\r\n".join([first, *(f"{name}: {fields[name]}" for name in fields), "", ""]).encode()

    def pieces(self) -> tuple[bytes, ...]:
        """Return the body as it goes over the wire, a piece a write."""
        if not self.parts:
            return (self.body,)
        chunks = (b"%x\r\n%b\r\n" % (len(part), part) for part in self.parts)
        return (*chunks, b"0\r\n\r\n")


def as_json(value: object, status: int = 200) -> Response:
    """Return a JSON response."""
    return Response(status=status, body=dump(value))


def bad_frame(status: HTTPStatus) -> bytes:
    """Return what Go's server answers to bytes that it cannot read as a request."""
    said = f"{status.value} {status.phrase}"
    return f"HTTP/1.1 {said}\r\nContent-Type: {PLAIN}\r\nConnection: close\r\n\r\n{said}".encode()


class RequestParser:
    """Cuts a byte stream into requests, with Content-Length or chunked bodies, each byte looked at once."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._looked = 0
        """The number of bytes at the start of the buffer in which no end of a head begins."""
        self._head: tuple[str, str, str, dict[str, str]] | None = None
        self._body: _LengthBody | _ChunkedBody | None = None

    def feed(self, data: bytes) -> list[Request]:
        """Return the requests completed by these bytes.

        Raises:
            BadFrameError: the bytes are no request, or one beyond the limits.
        """
        self._buffer += data
        found: list[Request] = []
        while (request := self._take()) is not None:
            found.append(request)
        return found

    def _take(self) -> Request | None:
        if self._head is None:
            self._head = self._take_head()
        if self._head is None:
            return None
        method, path, query, headers = self._head
        if self._body is None:
            is_chunked = headers.get("transfer-encoding", "").lower() == "chunked"
            self._body = _ChunkedBody() if is_chunked else _LengthBody(headers.get("content-length", "0"))
        body = self._body.take(self._buffer)
        if body is None:
            return None
        self._head = self._body = None
        return Request(method=method, path=path, headers=headers, body=body, query=query)

    def _take_head(self) -> tuple[str, str, str, dict[str, str]] | None:
        end = self._buffer.find(b"\r\n\r\n", self._looked)
        if max(end, len(self._buffer) if end < 0 else 0) > MAX_HEAD_BYTES:
            raise BadFrameError("a head that is too long", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if end < 0:
            self._looked = max(len(self._buffer) - 3, 0)
            return None
        head = _parse_head(bytes(self._buffer[:end]))
        del self._buffer[: end + 4]
        self._looked = 0
        return head


class _LengthBody:
    """The bytes that Content-Length promises."""

    def __init__(self, length: str) -> None:
        if not _LENGTH.fullmatch(length):
            raise BadFrameError(length)
        self._size = int(length)
        _refuse_beyond_limit(self._size)

    def take(self, buffer: bytearray) -> bytes | None:
        """Return the body, taken from the buffer, once it is whole."""
        if len(buffer) < self._size:
            return None
        body = bytes(buffer[: self._size])
        del buffer[: self._size]
        return body


class _ChunkedBody:
    """Chunks, each after its size, until one that is empty."""

    def __init__(self) -> None:
        self._body = bytearray()
        self._size: int | None = None
        """The size of the next chunk, once its line was read."""

    def take(self, buffer: bytearray) -> bytes | None:
        """Return the body, taken from the buffer, once it is whole."""
        while True:
            if self._size is None:
                self._size = _take_chunk_size(buffer)
            if self._size is None:
                return None
            size = self._size
            _refuse_beyond_limit(len(self._body) + size)
            if len(buffer) < size + 2:
                return None
            self._body += buffer[:size]
            del buffer[: size + 2]
            self._size = None
            if size == 0:
                return bytes(self._body)


def _take_chunk_size(buffer: bytearray) -> int | None:
    end = buffer.find(b"\r\n", 0, _MAX_LINE_BYTES)
    if end < 0 and len(buffer) < _MAX_LINE_BYTES:
        return None
    found = _CHUNK_SIZE.fullmatch(bytes(buffer[: max(end, 0)]))
    if found is None:
        raise BadFrameError("a chunk without a size")
    del buffer[: end + 2]
    return int(found[1], 16)


def _refuse_beyond_limit(body_bytes: int) -> None:
    if body_bytes > MAX_BODY_BYTES:
        raise BadFrameError("a body that is too long", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


def _parse_head(head: bytes) -> tuple[str, str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadFrameError(first)
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise BadFrameError(line)
        headers[name.strip().lower()] = value.strip()
    path, _, query = words[1].partition("?")
    return words[0], path, query, headers

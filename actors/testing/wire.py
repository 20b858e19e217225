"""HTTP/1.1 as bytes: requests in, responses out. Written by hand, since the faults need what a library would forbid."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus

from actors.testing.errors import BadFrameError

__all__ = ["GO_BAD_REQUEST", "JSON", "NDJSON", "Request", "RequestParser", "Response", "as_json", "dump"]

JSON = "application/json; charset=utf-8"
NDJSON = "application/x-ndjson"

GO_BAD_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
)


def dump(value: object) -> bytes:
    """Compact JSON, as Go writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


@dataclass(frozen=True, kw_only=True)
class Request:
    """A whole request; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def keeps_alive(self) -> bool:
        """Whether the client wants the connection to stay."""
        return self.headers.get("connection", "").lower() != "close"


@dataclass(frozen=True, kw_only=True)
class Response:
    """A status and a body; `parts` instead of a body makes it a chunked stream."""

    status: int = 200
    body: bytes = b""
    parts: tuple[bytes, ...] = ()
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    def head(self, *, close: bool = False) -> bytes:
        """The status line and headers."""
        length = {"Transfer-Encoding": "chunked"} if self.parts else {"Content-Length": str(len(self.body))}
        fields = {"Content-Type": self.content_type, **self.headers, "Date": formatdate(usegmt=True), **length}
        if close:
            fields["Connection"] = "close"
        lines = [f"HTTP/1.1 {self.status} {_reason(self.status)}", *(f"{name}: {fields[name]}" for name in fields)]
        return "\r\n".join([*lines, "", ""]).encode()

    def pieces(self) -> tuple[bytes, ...]:
        """The body as it goes over the wire, a piece a write."""
        if not self.parts:
            return (self.body,)
        chunks = (b"%x\r\n%b\r\n" % (len(part), part) for part in self.parts)
        return (*chunks, b"0\r\n\r\n")


def as_json(value: object, status: int = 200) -> Response:
    """A JSON response."""
    return Response(status=status, body=dump(value))


def _reason(status: int) -> str:
    return HTTPStatus(status).phrase


class RequestParser:
    """Cuts a byte stream into requests, with Content-Length or chunked bodies."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> list[Request]:
        """The requests completed by these bytes. Raises: BadFrameError."""
        self._buffer += data
        found: list[Request] = []
        while request := self._take():
            found.append(request)
        return found

    def _take(self) -> Request | None:
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return None
        method, path, headers = _parse_head(head)
        taken = (
            _take_chunked(rest)
            if headers.get("transfer-encoding", "").lower() == "chunked"
            else _take_length(rest, headers.get("content-length", "0"))
        )
        if taken is None:
            return None
        body, self._buffer = taken
        return Request(method=method, path=path, headers=headers, body=body)


def _parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
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
    return words[0], words[1].partition("?")[0], headers


def _take_length(rest: bytes, length: str) -> tuple[bytes, bytes] | None:
    if not length.isdigit():
        raise BadFrameError(length)
    size = int(length)
    return (rest[:size], rest[size:]) if len(rest) >= size else None


def _take_chunked(rest: bytes) -> tuple[bytes, bytes] | None:
    body = b""
    while True:
        line, end, rest = rest.partition(b"\r\n")
        if not end:
            return None
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError:
            raise BadFrameError(line.decode("latin-1")) from None
        if len(rest) < size + 2:
            return None
        body, rest = body + rest[:size], rest[size + 2 :]
        if size == 0:
            return body, rest

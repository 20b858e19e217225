"""The listener of a gateway: requests of cells over HTTP/1.1, each with the token, and their answers."""

from __future__ import annotations

import asyncio
import hmac
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus

import anyio
import msgspec

from actors.studies.gateway.broker import Broker
from actors.studies.gateway.tape import Kept
from actors.studies.gateway.upstream import Request
from prism.llm.gateway import CELL, FAILURE, HEARTBEAT_S, PLACE, PROCESS, SERVICE, TOKEN, WITHIN
from prism.llm.question_id import REQUEST_ID

HEAD_MAX_BYTES = 64 << 10
BODY_MAX_BYTES = 16 << 20
STATISTICS = "/statistics"
STRANGERS_MAX = 1024
"""The connections that have not shown the token yet. With one more the oldest is closed: a cell shows it at once."""
STRANGER_S = 30.0
"""The time that a connection gets for its first request."""
_STILL_THERE = b"HTTP/1.1 102 Processing\r\n\r\n"


class _BadRequestError(Exception):
    """A request that cannot be read, or may not be answered.

    Args:
        status: the status of the answer.
    """

    def __init__(self, status: HTTPStatus) -> None:
        self.status = status
        super().__init__(status.phrase)


class _Received(msgspec.Struct, frozen=True, kw_only=True):
    """A whole request; names of headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Listener:
    """The answers to all requests.

    Args:
        token: what each request has to know.
    """

    def __init__(self, broker: Broker, token: str) -> None:
        self._broker = broker
        self._token = token.encode()
        self._strangers: list[anyio.CancelScope] = []
        """The connections without a request so far, the oldest first."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until its client is gone."""
        try:
            received = await self._first(reader)
            while received is not None:
                if received.path == STATISTICS:
                    body = msgspec.json.encode(self._broker.statistics())
                    await _send(writer, 200, body, {"Content-Type": "application/json"})
                else:
                    await self._pass_on(received, writer)
                received = await _receive(reader, self._check)
        except _BadRequestError as error:
            await _send(writer, error.status, error.status.phrase.encode(), {"Connection": "close"})
        except (OSError, asyncio.IncompleteReadError):
            pass  # a client that is gone
        finally:
            writer.close()

    async def _first(self, reader: asyncio.StreamReader) -> _Received | None:
        """Return the first request of a connection; None if it has none in time, or too many others came since."""
        if len(self._strangers) >= STRANGERS_MAX:
            self._strangers.pop(0).cancel()
        scope = anyio.move_on_after(STRANGER_S)
        self._strangers.append(scope)
        try:
            with scope:
                return await _receive(reader, self._check)
        finally:
            if scope in self._strangers:
                self._strangers.remove(scope)
        return None

    def _check(self, headers: Mapping[str, str]) -> None:
        given = headers.get(TOKEN.lower(), "").encode()
        if not hmac.compare_digest(given, self._token):
            raise _BadRequestError(HTTPStatus.FORBIDDEN)

    async def _pass_on(self, received: _Received, writer: asyncio.StreamWriter) -> None:
        request = _request_of(received)
        if (problem := self._broker.refusal(request)) is not None:
            await _send(writer, HTTPStatus.NOT_FOUND, problem.encode(), {})
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_say_still_there, writer)
            kept = await self._broker.answer(request)
            tasks.cancel_scope.cancel()
        await _send(writer, kept.status or HTTPStatus.BAD_GATEWAY, kept.body.encode(), _headers_of(kept))
        if kept.is_answer:
            self._broker.note_served(request)


def _request_of(received: _Received) -> Request:
    """Return the request of a cell.

    Raises:
        _BadRequestError: a header is missing.
    """
    headers = received.headers
    try:
        within_s = float(headers[WITHIN.lower()])
        if not within_s > 0.0:
            raise _BadRequestError(HTTPStatus.BAD_REQUEST)
        return Request(
            method=received.method,
            place=headers[PLACE.lower()],
            body=received.body,
            headers=headers,
            service=headers[SERVICE.lower()],
            cell=headers[CELL.lower()],
            process=headers[PROCESS.lower()],
            question=headers.get(REQUEST_ID.lower(), ""),
            within_s=within_s,
        )
    except (KeyError, ValueError):
        raise _BadRequestError(HTTPStatus.BAD_REQUEST) from None


def _headers_of(kept: Kept) -> dict[str, str]:
    """Return the headers of an answer to a cell."""
    if kept.failure:
        return {FAILURE: kept.failure, "Content-Type": "text/plain; charset=utf-8"}
    kind = {"Content-Type": kept.kind} if kept.kind else {}
    return {**kept.headers, **kind}


async def _say_still_there(writer: asyncio.StreamWriter) -> None:
    """Send an interim response now and then, so that a client can tell a long wait from a gateway that is gone."""
    with suppress(OSError):  # the client is gone; its call goes on, for the tape
        while True:
            await anyio.sleep(HEARTBEAT_S)
            writer.write(_STILL_THERE)
            await writer.drain()


async def _receive(reader: asyncio.StreamReader, check: Callable[[Mapping[str, str]], None]) -> _Received | None:
    """Return the next request; None if the client has closed the connection.

    Args:
        check: refuses headers, before the body is read, which takes memory.

    Raises:
        _BadRequestError: it cannot be read, or is refused.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise _BadRequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    try:
        method, path, version = first.split(" ")
        headers = {name.strip().lower(): text.strip() for name, _, text in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
    except ValueError:
        raise _BadRequestError(HTTPStatus.BAD_REQUEST) from None
    if version != "HTTP/1.1" or "transfer-encoding" in headers or not 0 <= length < math.inf:
        raise _BadRequestError(HTTPStatus.BAD_REQUEST)
    check(headers)
    if length > BODY_MAX_BYTES:
        raise _BadRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    body = await reader.readexactly(length) if length else b""
    return _Received(method=method, path=path, headers=headers, body=body)


async def _send(writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str]) -> None:
    fields = "".join(f"{name}: {text}\r\n" for name, text in {**headers, "Content-Length": str(len(body))}.items())
    writer.write(f"HTTP/1.1 {int(status)} -\r\n{fields}\r\n".encode("latin-1", errors="replace") + body)
    await writer.drain()

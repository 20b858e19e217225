"""The listener of a gateway: the requests of cells, each with the token, and their answers."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from actors.http.connection import STILL_THERE, ServerOptions
from actors.studies.gateway.broker import Broker
from actors.studies.gateway.tape import Kept
from actors.studies.gateway.upstream import Request
from prism.llm.gateway import CELL, FAILURE, HEARTBEAT_S, PLACE, PROCESS, SERVICE, TOKEN, WITHIN
from prism.llm.question_id import REQUEST_ID

BODY_MAX_BYTES = 16 << 20
STATISTICS = "/statistics"
OPTIONS = ServerOptions(
    name="gateway",
    waiting_max=1024,  # cells begin at once, and a cell has a connection for each of its questions
    answered_max=None,  # the clients have shown the token
    answer_max_s=None,  # calls have limits of their own
    keep_alive_s=60.0,  # longer than a client keeps an idle connection, so that none is closed as it is used again
)

_REFUSAL = PlainTextResponse("Forbidden", 403, {"Connection": "close"})


def application(token: str, broker: Callable[[], AbstractAsyncContextManager[Broker]]) -> ASGIApp:
    """Return the application of a gateway."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Broker]]:
        async with broker() as opened:
            yield {"broker": opened}

    routes = [Route(STATISTICS, _statistics), Route("/", _pass_on, methods=["GET", "POST"])]
    inner = Starlette(routes=routes, lifespan=lifespan)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse requests without the token before their body is read, which takes memory."""
        is_known = scope["type"] != "http" or hmac.compare_digest(
            Headers(scope=scope).get(TOKEN, "").encode(), token.encode()
        )
        await (inner if is_known else _REFUSAL)(scope, receive, send)

    return guarded


async def _statistics(received: HttpRequest) -> Response:
    return Response(msgspec.json.encode(received.state.broker.statistics()), media_type="application/json")


async def _pass_on(received: HttpRequest) -> Response:
    request, broker = await _request_of(received), received.state.broker
    if (problem := broker.refusal(request)) is not None:
        return PlainTextResponse(problem, 404)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_say_still_there, received)
        kept = await broker.answer(request)
        tasks.cancel_scope.cancel()
    if kept.is_answer and not await received.is_disconnected():
        broker.note_served(request)
    status = kept.status if 200 <= kept.status < 600 else 502
    return Response(kept.body, status, _headers_of(kept))


async def _request_of(received: HttpRequest) -> Request:
    headers = received.headers
    try:
        within_s = float(headers[WITHIN])
        if not within_s > 0.0:
            raise HTTPException(400)
        return Request(
            method=received.method,
            place=headers[PLACE],
            body=await _body_of(received),
            headers=dict(headers),
            service=headers[SERVICE],
            cell=headers[CELL],
            process=headers[PROCESS],
            question=headers.get(REQUEST_ID, ""),
            within_s=within_s,
        )
    except (KeyError, ValueError):
        raise HTTPException(400) from None


async def _body_of(received: HttpRequest) -> bytes:
    body = bytearray()
    async for chunk in received.stream():
        body += chunk
        if len(body) > BODY_MAX_BYTES:
            raise HTTPException(413, headers={"Connection": "close"})
    return bytes(body)


def _headers_of(kept: Kept) -> dict[str, str]:
    if kept.failure:
        return {FAILURE: kept.failure, "Content-Type": "text/plain; charset=utf-8"}
    kind = {"Content-Type": kept.kind} if kept.kind else {}
    found = {**kept.headers, **kind}
    return {name: text.encode("latin-1", errors="replace").decode("latin-1") for name, text in found.items()}


async def _say_still_there(received: HttpRequest) -> None:
    """Send an interim response now and then, so that a client can tell a long wait from a gateway that is gone."""
    say = received.scope["extensions"].get(STILL_THERE, lambda: None)
    while True:
        await anyio.sleep(HEARTBEAT_S)
        say()

"""The process of a gateway: it serves cells, is begun again if it is killed, and ends with the driver."""

from __future__ import annotations

import hmac
import os
import resource
import secrets
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, contextmanager
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext, ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal

import anyio
import httpx
import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from actors.core.errors import AddressError, RunDirectoryError
from actors.http.connection import STILL_THERE, ServerOptions
from actors.http.server import Server, address_of, listen
from actors.logs.failure_log import log_failure
from actors.logs.setup import logging_to
from actors.studies.gateway.broker import Broker, Request, Upstream
from actors.studies.gateway.service import GatewayPlace, GatewayStatistics, Limits, Service
from actors.studies.gateway.tape import ExperimentTape, Kept
from prism.llm.gateway import CELL, FAILURE, HEARTBEAT_S, PLACE, PROCESS, SERVICE, TOKEN, WITHIN
from prism.llm.question_id import REQUEST_ID
from prism.llm.tape_file import TapeError

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
        body = bytearray()
        async for chunk in received.stream():
            body += chunk
            if len(body) > BODY_MAX_BYTES:
                raise HTTPException(413, headers={"Connection": "close"})
        return Request(
            method=received.method,
            place=headers[PLACE],
            body=bytes(body),
            headers=dict(headers),
            service=headers[SERVICE],
            cell=headers[CELL],
            process=headers[PROCESS],
            question=headers.get(REQUEST_ID, ""),
            within_s=within_s,
        )
    except (KeyError, ValueError):
        raise HTTPException(400) from None


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


LOOPBACK = "127.0.0.1"
STARTS_MAX = 50  # the times that a gateway is begun. If it ends so often, another start would not help.
START_S = 60.0
STATISTICS_S = 5.0
ENDING_S = 5.0  # the time that the process gets to end by itself: its calls are cancelled, and its tape is closed
FILES = 65_536
"""The most connections, as far as the system allows: each cell may have a connection for each of its questions."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The work of a gateway. Its secrets are in memory alone: it goes to the process through a pipe."""

    tape: Path  # the file
    mode: Literal["record", "replay"]  # `record` to ask servers, `replay` to ask nobody
    limits: Limits
    services: dict[str, Service]  # `{name: servers}` of those that cells may ask
    address: str = LOOPBACK  # the address to listen on


def read_statistics(place: GatewayPlace) -> GatewayStatistics | None:
    """Return the counts of a gateway now; None if it does not answer."""
    try:
        address = f"{place.address}{STATISTICS}"
        response = httpx.get(address, headers={TOKEN: place.token}, timeout=STATISTICS_S, trust_env=False)
        return msgspec.json.decode(response.content, type=GatewayStatistics)
    except (httpx.HTTPError, msgspec.DecodeError):
        return None


@contextmanager
def open_gateway(plan: Plan, context: ForkServerContext) -> Iterator[GatewayPlace]:
    """Provide a gateway in a process of its own, which is begun again if it is killed."""
    keeper = _Keeper(plan, context, secrets.token_urlsafe(32))
    keeper.begin()
    watch = threading.Thread(target=keeper.watch, name="gateway", daemon=True)
    watch.start()
    try:
        yield keeper.place
    finally:
        keeper.watch_no_more()
        watch.join()
        keeper.end()


class _Keeper:
    def __init__(self, plan: Plan, context: BaseContext, token: str) -> None:
        self._plan = plan
        self._context = context
        self._token = token
        self._port = 0
        self._process: BaseProcess | None = None
        self._stop, self._go_on = os.pipe()
        """The two ends of a pipe: the first becomes readable once the second is closed."""
        self._starts = 0

    @property
    def place(self) -> GatewayPlace:
        services = {name: service.has_key for name, service in self._plan.services.items()}
        address = address_of(self._plan.address, self._port, socket.gethostname())
        return GatewayPlace(address=address, token=self._token, services=services)

    def begin(self) -> None:
        self._starts += 1
        ours, theirs = self._context.Pipe()
        process = self._context.Process(  # type: ignore[attr-defined]
            target=_run, args=(self._plan, self._token, self._port, theirs), name="gateway", daemon=True
        )
        process.start()
        self._process = process
        theirs.close()
        with ours:
            if not ours.poll(START_S):
                raise RunDirectoryError(f"{self._plan.tape}: the gateway has not begun within {START_S:g} s")
            try:
                found = ours.recv()
            except EOFError:
                found = "its process ended at once"
        if not isinstance(found, int):
            process.join()
            raise RunDirectoryError(f"the gateway of the experiment cannot begin: {found}")
        self._port = found

    def watch(self) -> None:
        """Begin the process again whenever it ends, until `end`."""
        while self._process is not None and self._starts < STARTS_MAX:
            if self._stop in wait([self._process.sentinel, self._stop]):
                break
            try:
                self.begin()
            except RunDirectoryError:
                continue

    def watch_no_more(self) -> None:
        os.close(self._go_on)

    def end(self) -> None:
        os.close(self._stop)
        if self._process is not None:
            self._process.terminate()
            self._process.join(ENDING_S)
            self._process.kill()
            self._process.join()


def _run(plan: Plan, token: str, port: int, pipe: Connection) -> None:
    """Run as the gateway's process. It sends its port through the pipe, or the reason in words why it has no port."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver ends it
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    driver = parent_process()
    if driver is not None:
        threading.Thread(target=_end_after, args=(driver,), name="driver", daemon=True).start()
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, min(most, FILES)), most))
    try:
        tape, listener = (
            ExperimentTape(plan.tape, plan.mode),
            listen(plan.address, port, "gateway", ("oracle.address", "its port")),
        )
    except (AddressError, TapeError) as error:
        pipe.send(" ".join(str(error).split()))
        return
    with logging_to(None), closing(tape), closing(serve(plan, token, tape, listener, ended.set)):
        pipe.send(listener.getsockname()[1])
        pipe.close()
        ended.wait()


def _end_after(driver: BaseProcess) -> None:
    driver.join()
    os._exit(1)


def serve(
    plan: Plan, token: str, tape: ExperimentTape, listener: socket.socket, on_end: Callable[[], None] = lambda: None
) -> Server:
    """Return the server of a gateway."""

    @asynccontextmanager
    async def broker() -> AsyncIterator[Broker]:
        callers = {name: Upstream(service) for name, service in plan.services.items()}
        try:
            async with anyio.create_task_group() as tasks:
                calls = {name: caller.call for name, caller in callers.items()}
                yield Broker(plan.limits, tape, plan.services, calls, tasks)
                tasks.cancel_scope.cancel()
        except Exception as error:
            log_failure("gateway_failed", error, "gateway")
            raise
        finally:
            on_end()
            with anyio.CancelScope(shield=True):
                for caller in callers.values():
                    await caller.aclose()

    return Server(application(token, broker), listener, OPTIONS)

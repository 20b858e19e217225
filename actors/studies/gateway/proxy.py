"""The gateway of an experiment: a proxy that asks the servers of models for all cells.

request of a cell -> the tape, or a call under way -> the budget -> a place -> the server -> the tape -> the cell

A cell sends what it would send to its server, under `/SERVICE/CELL`. The proxy adds the secrets, and holds one limit,
one budget and one tape for all cells, so that nothing is paid for twice, whatever is killed.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import resource
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

import anyio
import msgspec
from anyio import to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from actors.factory.oracle_backends import make_model
from actors.http.server import Server, ServerOptions, address_of, listen
from actors.logs.setup import logging_to
from actors.oracle.limits import Pace
from actors.studies.gateway.place import (
    ExperimentTape,
    GatewayPlace,
    GatewayStatistics,
    Limits,
    Totals,
    servers_key,
    service_name,
)
from prism.config import Config, PricesConfig
from prism.llm.headers import ATTEMPT_HEADER, DEADLINE_HEADER, FAILURE_HEADER, REQUEST_ID, Replied
from prism.llm.model_client import WARM_UP, ModelClient
from prism.llm.spending import Spent, cost_usd
from prism.llm.tape import TapeError

PAUSE_MAX_S: Final = 900.0
BODY_MAX_BYTES: Final = 16 << 20
OPTIONS: Final = ServerOptions(
    name="gateway",
    waiting_max=1024,  # cells begin at once, and a cell has a connection for each of its questions
    answered_max=None,  # the clients have shown the token
    answer_max_s=None,  # calls have limits of their own
    keep_alive_s=60.0,  # longer than a client keeps an idle connection, so that none is closed as it is used again
)
FILES: Final = 65_536
"""The most connections, as far as the system allows: each cell may have a connection for each of its questions."""

_Found = tuple[Replied, bool]


class Asked(NamedTuple):
    """A request of a cell to a path of the server; without the id of a question, it is of the check at the start."""

    service: str
    cell: str
    method: str
    path: str
    body: bytes
    question: str
    headers: Headers

    @property
    def within_s(self) -> float:
        try:
            return float(self.headers.get(DEADLINE_HEADER, "inf"))
        except ValueError:
            return math.inf


class Service(NamedTuple):
    """A model that cells may ask, or None if all replies come from the tape; the key names it there."""

    key: str
    prices: PricesConfig
    timeout_s: float
    model: ModelClient | None = None


class Places:
    """Places for calls, in the order of the questions: a cell has no more questions than its own limit."""

    def __init__(self, places: int, rate_per_s: float | None = None) -> None:
        self._free = anyio.Semaphore(places)
        self._pace = Pace(1, rate_per_s)
        self._paused: dict[str, float] = {}
        """`{service: the time until which it wants no calls}`."""

    async def take(self, service: str) -> None:
        """Wait for a place. It has to be given back."""
        while True:
            await self._free.acquire()
            now = anyio.current_time()
            rate_s, pause_s = self._pace.delay(now), self._paused.get(service, now) - now
            if max(rate_s, pause_s) <= 0.0:
                self._pace.take(now)
                return
            self._free.release()  # other services may go on
            await anyio.sleep(max(rate_s, pause_s))

    def give_back(self) -> None:
        self._free.release()

    def pause(self, service: str, seconds: float) -> None:
        """Start no call of a service for a time, as its server asks for."""
        until = anyio.current_time() + seconds
        self._paused[service] = max(until, self._paused.get(service, until))


class Broker:
    """The one place that answers requests: from the tape, from a call under way, or by a call to the server."""

    def __init__(self, limits: Limits, tape: ExperimentTape, services: Mapping[str, Service]) -> None:
        self.services = services
        self._limits = limits
        self._tape = tape
        self._places = Places(limits.max_concurrency, limits.rate_per_s)
        self._flights: dict[bytes, asyncio.Task[_Found]] = {}  # `{key of a request: its way to a reply}`
        self._thread = anyio.CapacityLimiter(1)
        self._calls = tape.totals.calls
        """The calls of the tape, and those that were begun since: a tape counts them when they are on it."""
        self._statistics = GatewayStatistics(totals=tape.totals)

    def statistics(self) -> GatewayStatistics:
        return msgspec.structs.replace(self._statistics, totals=self._tape.totals)

    async def aclose(self) -> None:
        for task in (tasks := [*self._flights.values()]):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for service in self.services.values():
            if service.model is not None:
                await service.model.aclose()

    async def answer(self, asked: Asked) -> Replied:
        """Return the reply to a request. A call that was begun is finished, also if its cell is gone."""
        attempt = asked.headers.get(ATTEMPT_HEADER, "")
        scope = [] if self._limits.ask_once or not asked.question else [asked.cell, asked.question]
        parts = [self.services[asked.service].key, asked.method, asked.path, asked.body.decode(errors="replace")]
        key = blake2b(msgspec.json.encode([*parts, attempt, scope]), digest_size=16).digest()
        is_first = key not in self._flights
        if is_first:
            self._flights[key] = asyncio.create_task(self._found(asked, key))
            self._flights[key].add_done_callback(lambda _: self._flights.pop(key))
        reply, is_recorded = await asyncio.shield(self._flights[key])
        if asked.question:
            self._statistics.from_tape += is_recorded
            self._statistics.shared += not (is_first or is_recorded)
        return reply

    async def _found(self, asked: Asked, key: bytes) -> _Found:
        """Return the reply on the tape, or else call in its turn and keep the reply. Failures are asked again."""
        service = self.services[asked.service]
        try:
            reply = await to_thread.run_sync(self._tape.read, key, limiter=self._thread)
        except TapeError as error:
            return self._stopped(str(error)), False
        if reply is not None and (reply.is_answer or service.model is None):
            return reply, True
        if service.model is None:
            named = f"the question {asked.question}" if asked.question else f"a request for {asked.path}"
            return _unavailable(f"{self._tape.path}: no answer to {named}, which nobody has asked before"), False
        await self._places.take(asked.service)
        try:
            if problem := self._statistics.problem or (self._spent() if asked.question else ""):
                return _unavailable(problem), False
            return await self._called(asked, service, service.model, key), False
        finally:
            self._places.give_back()

    async def _called(self, asked: Asked, service: Service, model: ModelClient, key: bytes) -> Replied:
        """Make a call and keep its reply. It counts from its beginning on, unless it reaches no server."""
        counts = bool(asked.question)
        self._calls += counts
        within_s = min(asked.within_s, service.timeout_s) if counts else WARM_UP * service.timeout_s
        name = asked.headers.get(REQUEST_ID, "")
        reply = await model.forward(asked.method, asked.path, asked.body, name, within_s)
        if reply.pause_s > 0.0 and not reply.is_answer:
            self._places.pause(asked.service, min(reply.pause_s, PAUSE_MAX_S))
        added = Totals()
        if reply.failure == "connection_error":
            self._calls -= counts
        elif counts:
            usage = reply.usage
            spent = Spent("", 1, 0.0, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
            added = Totals(
                calls=1,
                failed=int(not reply.is_answer),
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                usd=cost_usd((spent,), service.prices) or 0.0,
            )
        try:  # no cell gets a reply that cannot be kept
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._tape.write, key, reply, asked.question, added, limiter=self._thread)
        except TapeError as error:
            return self._stopped(f"{error}; what was under way is lost")
        return reply

    def _stopped(self, problem: str) -> Replied:
        self._statistics.problem = problem
        return _unavailable(problem)

    def _spent(self) -> str:
        totals, limits = self._tape.totals, self._limits
        used = {
            "max_calls": self._calls,
            "max_tokens": totals.prompt_tokens + totals.completion_tokens,
            "max_usd": totals.usd,
        }
        for name, amount in used.items():
            if amount >= (most if (most := getattr(limits, name)) is not None else math.inf):
                shown = f"{amount:.4f}" if name == "max_usd" else f"{amount:,}"
                return (
                    f"the budget of the experiment is spent: {shown} of oracle.{name} {most:,}; "
                    "raise it in the experiment's file and run it again: nothing is asked twice"
                )
        return ""


def _unavailable(detail: str) -> Replied:
    return Replied(status=503, body=detail, failure="unavailable")


class OpenGateway(NamedTuple):
    place: GatewayPlace
    statistics: Callable[[], GatewayStatistics]


@contextmanager
def open_gateway(
    path: Path, limits: Limits, configs: Sequence[Config], address: str = "127.0.0.1", *, is_replay: bool = False
) -> Iterator[OpenGateway]:
    """Provide a gateway in a thread of this process: cells that run elsewhere ask it, and it ends with the command.

    A replay from the tape asks no server; the configurations name the models that cells may ask.
    """
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, min(most, FILES)), most))
    token, services = secrets.token_urlsafe(32), dict[str, Service]()
    for name, config in {service_name(config): config for config in configs}.items():
        model = None if is_replay else make_model(config)
        client = model if isinstance(model, ModelClient) else None  # a model without a server is asked by each cell
        services[name] = Service(servers_key(config), config.llm.prices, config.llm.timeout_s, client)
    with (
        logging_to(None),
        closing(ExperimentTape(path, "replay" if is_replay else "record")) as tape,
        closing(listen(address, 0, "gateway", ("oracle.address", "its port"))) as listener,
    ):
        broker = Broker(limits, tape, services)
        with closing(Server(application(token, broker), listener, OPTIONS)) as server:
            url = address_of(address, server.port, socket.gethostname())
            place = GatewayPlace(address=url, token=token, services=frozenset(services))
            yield OpenGateway(place, broker.statistics)


def application(token: str, broker: Broker) -> ASGIApp:
    async def answer(received: Request) -> Response:
        body = bytearray()
        async for chunk in received.stream():
            body += chunk
            if len(body) > BODY_MAX_BYTES:
                raise HTTPException(413, headers={"Connection": "close"})
        service, cell, path = (received.path_params[name] for name in ("service", "cell", "path"))
        if service not in broker.services:
            raise HTTPException(404)
        question = received.headers.get(REQUEST_ID, "").rsplit("-", 3)[0]
        path = f"/{path}?{received.url.query}" if received.url.query else f"/{path}"
        asked = Asked(service, cell, received.method, path, bytes(body), question, received.headers)
        reply = await broker.answer(asked)
        headers = {FAILURE_HEADER: reply.failure} if reply.failure else {}
        if reply.pause_s > 0.0:
            headers["Retry-After-Ms"] = str(math.ceil(reply.pause_s * 1000))
        return Response(reply.body, reply.status, headers, "application/json")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await broker.aclose()

    routes = [Route("/{service}/{cell}/{path:path}", answer, methods=["GET", "POST"])]
    inner = Starlette(routes=routes, lifespan=lifespan)
    refusal, shown = PlainTextResponse("Forbidden", 403, {"Connection": "close"}), f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse requests without the token before their body is read, which takes memory."""
        is_known = scope["type"] != "http" or hmac.compare_digest(
            Headers(scope=scope).get("Authorization", "").encode(), shown
        )
        await (inner if is_known else refusal)(scope, receive, send)

    return guarded

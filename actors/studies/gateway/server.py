"""The server of a gateway, in a thread of the command: its clients are cells on this machine and on others."""

from __future__ import annotations

import hmac
import resource
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    closing,
    contextmanager,
)
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
import httpx
import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from actors.factory.oracle_backends import check_models, make_model
from actors.http.connection import ServerOptions
from actors.http.server import Server, address_of, listen
from actors.logs.setup import logging_to
from actors.studies.gateway.broker import Broker, Service
from actors.studies.gateway.place import GatewayPlace, GatewayStatistics, Limits, servers_key
from actors.studies.gateway.tape import ExperimentTape
from prism.config import Config
from prism.llm.gateway_model import Put

BODY_MAX_BYTES = 16 << 20
STATISTICS = "/statistics"
OPTIONS = ServerOptions(
    name="gateway",
    waiting_max=1024,  # cells begin at once, and a cell has a connection for each of its questions
    answered_max=None,  # the clients have shown the token
    answer_max_s=None,  # calls have limits of their own
    keep_alive_s=60.0,  # longer than a client keeps an idle connection, so that none is closed as it is used again
)
STATISTICS_S = 5.0
FILES = 65_536
"""The most connections, as far as the system allows: each cell may have a connection for each of its questions."""

_put = msgspec.msgpack.Decoder(Put)
_encode = msgspec.msgpack.Encoder().encode


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The work of a gateway."""

    tape: Path  # the file
    mode: Literal["record", "replay"]  # `record` to ask servers, `replay` to ask nobody
    limits: Limits
    services: dict[str, Config]  # `{name: a configuration that names the model}` of those that cells may ask
    address: str = "127.0.0.1"  # the address to listen on


def application(token: str, opened: Callable[[], AbstractAsyncContextManager[Broker]]) -> ASGIApp:
    """Return the application of a gateway."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Broker]]:
        async with opened() as broker:
            yield {"broker": broker}

    async def answer(received: Request) -> Response:
        body, broker = bytearray(), received.state.broker
        async for chunk in received.stream():
            body += chunk
            if len(body) > BODY_MAX_BYTES:
                raise HTTPException(413, headers={"Connection": "close"})
        try:
            put = _put.decode(body)
        except msgspec.DecodeError:
            raise HTTPException(400) from None
        if put.service not in broker.services:
            raise HTTPException(404)
        return Response(_encode(await broker.answer(put)))

    async def statistics(received: Request) -> Response:
        return Response(msgspec.json.encode(received.state.broker.statistics()), media_type="application/json")

    routes = [Route(STATISTICS, statistics), Route("/", answer, methods=["POST"])]
    inner = Starlette(routes=routes, lifespan=lifespan)
    refusal, shown = PlainTextResponse("Forbidden", 403, {"Connection": "close"}), f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse requests without the token before their body is read, which takes memory."""
        is_known = scope["type"] != "http" or hmac.compare_digest(
            Headers(scope=scope).get("Authorization", "").encode(), shown
        )
        await (inner if is_known else refusal)(scope, receive, send)

    return guarded


def read_statistics(place: GatewayPlace) -> GatewayStatistics | None:
    """Return the counts of a gateway now; None if it does not answer."""
    try:
        headers = {"Authorization": f"Bearer {place.token}"}
        response = httpx.get(f"{place.address}{STATISTICS}", headers=headers, timeout=STATISTICS_S, trust_env=False)
        return msgspec.json.decode(response.content, type=GatewayStatistics)
    except (httpx.HTTPError, msgspec.DecodeError):
        return None


@contextmanager
def open_gateway(plan: Plan) -> Iterator[GatewayPlace]:
    """Provide a gateway in a thread of this process: cells that run elsewhere ask it, and it ends with the command."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, min(most, FILES)), most))
    token = secrets.token_urlsafe(32)

    services = {}
    for name, config in plan.services.items():
        services[name] = Service(servers_key(config), config.llm.prices)
        if plan.mode == "record":
            model = make_model(config)
            services[name] = services[name]._replace(model=model, check=partial(check_models, config, model))

    @asynccontextmanager
    async def broker() -> AsyncIterator[Broker]:
        async with anyio.create_task_group() as tasks:
            yield Broker(plan.limits, tape, services, tasks)
            tasks.cancel_scope.cancel()
        for service in services.values():
            if service.model is not None:
                await service.model.aclose()

    with (
        logging_to(None),
        closing(ExperimentTape(plan.tape, plan.mode)) as tape,
        closing(listen(plan.address, 0, "gateway", ("oracle.address", "its port"))) as listener,
        closing(Server(application(token, broker), listener, OPTIONS)) as server,
    ):
        address = address_of(plan.address, server.port, socket.gethostname())
        yield GatewayPlace(address=address, token=token, services=frozenset(plan.services))

"""The server of a gateway, in a thread of the command: its clients are cells on this machine and on others."""

from __future__ import annotations

import hmac
import resource
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from actors.factory.oracle_backends import check_models, make_model
from actors.http.server import Server, ServerOptions, address_of, listen
from actors.logs.setup import logging_to
from actors.studies.gateway.broker import Broker, Service
from actors.studies.gateway.place import GatewayPlace, GatewayStatistics, Limits, servers_key, service_name
from actors.studies.gateway.tape import ExperimentTape
from prism.config import Config
from prism.llm.gateway_model import Put

BODY_MAX_BYTES = 16 << 20
OPTIONS = ServerOptions(
    name="gateway",
    waiting_max=1024,  # cells begin at once, and a cell has a connection for each of its questions
    answered_max=None,  # the clients have shown the token
    answer_max_s=None,  # calls have limits of their own
    keep_alive_s=60.0,  # longer than a client keeps an idle connection, so that none is closed as it is used again
)
FILES = 65_536
"""The most connections, as far as the system allows: each cell may have a connection for each of its questions."""

_put = msgspec.msgpack.Decoder(Put)
_encode = msgspec.msgpack.Encoder().encode


class OpenGateway(NamedTuple):
    """A gateway that is open: as workers see it, and its counts now."""

    place: GatewayPlace
    statistics: Callable[[], GatewayStatistics]


@contextmanager
def open_gateway(
    path: Path, limits: Limits, configs: Sequence[Config], address: str = "127.0.0.1", *, is_replay: bool = False
) -> Iterator[OpenGateway]:
    """Provide a gateway in a thread of this process: cells that run elsewhere ask it, and it ends with the command.

    Args:
        path: the tape. A replay asks no server.
        configs: those that name the models that cells may ask.
        address: the address to listen on.
    """
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, min(most, FILES)), most))
    token = secrets.token_urlsafe(32)
    services = {}
    for name, config in {service_name(config): config for config in configs}.items():
        services[name] = Service(servers_key(config), config.llm.prices)
        if not is_replay:
            model = make_model(config)
            services[name] = services[name]._replace(model=model, check=partial(check_models, config, model))
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
    """Return the application of a gateway."""

    async def answer(received: Request) -> Response:
        body = bytearray()
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

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await broker.aclose()

    inner = Starlette(routes=[Route("/", answer, methods=["POST"])], lifespan=lifespan)
    refusal, shown = PlainTextResponse("Forbidden", 403, {"Connection": "close"}), f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse requests without the token before their body is read, which takes memory."""
        is_known = scope["type"] != "http" or hmac.compare_digest(
            Headers(scope=scope).get("Authorization", "").encode(), shown
        )
        await (inner if is_known else refusal)(scope, receive, send)

    return guarded

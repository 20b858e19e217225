"""The server's application: it routes, checks, queues and answers each request, and applies faults."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

import msgspec

from tests.standin import models
from tests.standin.completions import Api, Ask, Timing, complete
from tests.standin.decode import too_deep
from tests.standin.errors import ApiError, BusyError, TooManyError
from tests.standin.exchange import Exchange, readable
from tests.standin.faults import Fault, FaultPlayer
from tests.standin.models import full_name
from tests.standin.ollama_api import ChatApi, GenerateApi
from tests.standin.openai_api import OpenAiApi, unauthorized
from tests.standin.quirks import Quirks
from tests.standin.server_statistics import Counters
from tests.standin.settings import ServerSettings, SystemOne
from tests.standin.slots import RateLimit, Slots
from tests.standin.spells import SLOWER, SpellKind, spells_at
from tests.standin.systemone_api import SystemOneApi
from tests.standin.wire import PLAIN, Request, Response, as_json, dump

OnExchange = Callable[[Exchange], None]
"""A function that gets each ended exchange, in the server's thread."""

_APIS: Mapping[str, Callable[[ServerSettings], Api]] = {
    "/api/chat": ChatApi,
    "/api/generate": GenerateApi,
    "/v1/systemone": SystemOneApi,
    "/v1/chat/completions": OpenAiApi,
}
_METHODS: Mapping[str, tuple[str, ...]] = {
    "/": ("GET", "HEAD"),
    "/api/version": ("GET", "HEAD"),
    "/api/tags": ("GET", "HEAD"),
    "/api/ps": ("GET",),
    "/api/show": ("POST",),
    "/v1/models": ("GET",),
    **dict.fromkeys(_APIS, ("POST",)),
}
_CRASH = "llama runner process has terminated: exit status 2"
_PROSE = "Sure! I would go on scrolling for a while, since nothing here speaks to me."


class App:
    """The server's state, apart from its socket. Only its own event loop changes it."""

    def __init__(self, settings: ServerSettings, on_exchange: OnExchange | None = None) -> None:
        self.settings = settings
        self.exchanges: deque[Exchange] = deque()
        self.counters = Counters()
        self.requests = 0
        self.calls = 0
        self.loads = 0
        self.in_flight = 0
        self.peak_in_flight = 0
        self.outages = 0
        self._on_exchange = on_exchange
        self.restart()

    def restart(self) -> None:
        """Forget the loaded models and the queue, as a new process would."""
        self.slots = Slots(self.settings.slots, self.settings.max_queue)
        self.loaded: dict[str, object] = {}
        self._loading = asyncio.Lock()
        self._player = FaultPlayer()
        self._rate = RateLimit()
        self._begun_s = time.monotonic()

    async def handle(self, request: Request, link: Link) -> None:
        """Answer one request, and remember it."""
        exchange = Exchange(
            method=request.method,
            path=request.path,
            body=readable(request.body),
            started_s=time.monotonic(),
            request_id=request.headers.get("x-request-id", ""),
            traceparent=request.headers.get("traceparent", ""),
        )
        self.requests += 1
        self.exchanges.append(exchange)
        while len(self.exchanges) > self.settings.keeps:
            self.exchanges.popleft()
        try:
            await self._route(request, link, exchange)
        except asyncio.CancelledError:
            exchange.abandoned = True
            if exchange.call is not None and SpellKind.OUTAGE in self._spells():
                exchange.spell = SpellKind.OUTAGE
            raise
        finally:
            exchange.ended_s = time.monotonic()
            self.counters.count(exchange)
            if self._on_exchange is not None:
                self._on_exchange(exchange)

    async def _route(self, request: Request, link: Link, exchange: Exchange) -> None:
        quirks = Quirks(self.settings.quirks)
        request = msgspec.structs.replace(request, path=quirks.route(request.path))
        refusal = unauthorized(request.headers, self.settings.key) if request.path.startswith("/v1/") else None
        refusal = refusal or quirks.refusal(request)
        if refusal is None and request.method == "POST" and request.path in self._open_apis():
            await self._infer(_APIS[request.path](self.settings), request, link, exchange)
            return
        response = refusal or self._look_up(request)
        exchange.status = response.status
        if request.method == "HEAD":
            link.write(response.head(close=link.closes))
        else:
            await deliver(link, response)

    def _open_apis(self) -> tuple[str, ...]:
        off = self.settings.systemone is SystemOne.OFF
        return tuple(path for path in _APIS if not (off and path == "/v1/systemone"))

    def _look_up(self, request: Request) -> Response:
        methods = _METHODS.get(request.path, ())
        if not methods or (request.path in _APIS and request.path not in self._open_apis()):
            return Response(status=404, body=b"404 page not found", content_type="text/plain")
        if request.method not in methods:
            allow = {"Allow": ", ".join(methods)}
            return Response(status=405, body=b"405 method not allowed", content_type="text/plain", headers=allow)
        if request.path == "/":
            return Response(body=b"Ollama is running", content_type=PLAIN)
        makers: Mapping[str, Callable[[], object]] = {
            "/api/version": lambda: {"version": self.settings.version},
            "/api/tags": lambda: models.list_models(self.settings),
            "/api/ps": lambda: models.list_loaded(self.loaded),
            "/api/show": lambda: models.show(self.settings, request.body),
            "/v1/models": lambda: models.list_ids(self.settings),
        }
        try:
            return as_json(makers[request.path]())
        except ApiError as error:
            return as_json({"error": error.message}, error.status)

    async def _infer(self, api: Api, request: Request, link: Link, exchange: Exchange) -> None:
        try:
            ask = api.parse(Quirks(self.settings.quirks).understood(request.body))
        except RecursionError:
            await self._refuse(api, link, exchange, too_deep())
            return
        except ApiError as error:
            await self._refuse(api, link, exchange, error)
            return
        self.calls += 1
        exchange.call = self.calls
        if (refusal := self._refusal(exchange)) is not None:
            await self._refuse(api, link, exchange, *refusal)
            return
        is_silent = exchange.spell is SpellKind.SILENCE
        exchange.fault = fault = None if is_silent else self._player.next(self.settings.faults, self.calls)
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        try:
            if is_silent or fault is Fault.HANG:
                await asyncio.get_running_loop().create_future()  # until the client leaves
            response = _failed(api, fault) or await self._run(api, ask, link, exchange)
            if response is not None:
                response = Quirks(self.settings.quirks).failed(response)
                exchange.status = None if fault in (Fault.RESET, Fault.GARBAGE) else response.status
                await deliver(link, response, fault, self.settings.faults.drip_s)
        finally:
            self.in_flight -= 1

    def _refusal(self, exchange: Exchange) -> tuple[ApiError, float | None] | None:
        """Return the refusal of a call, with its pause for the client; None if it is taken. Note the spell it meets."""
        if (wait_s := self._refused_s()) > 0.0:
            return TooManyError(), wait_s if self.settings.says_when else None
        spells = self._spells()
        exchange.spell = next((kind for kind in SpellKind if kind in spells and kind is not SpellKind.OUTAGE), None)
        if exchange.spell is SpellKind.BUSY:
            return BusyError(), None
        return (TooManyError(), spells[SpellKind.LIMIT]) if exchange.spell is SpellKind.LIMIT else None

    def _spells(self) -> dict[SpellKind, float]:
        """Return `{kind: remaining seconds}` of the spells under way."""
        now_s = time.monotonic() - self._begun_s
        return {kind: end_s - now_s for kind, end_s in spells_at(self.settings.spells, now_s).items()}

    def _refused_s(self) -> float:
        """Return the seconds until a call is taken again, after too many calls; 0 if this call is taken."""
        rate_per_s = self.settings.rate_per_s
        return 0.0 if rate_per_s is None else self._rate.take(rate_per_s, time.monotonic())

    async def _refuse(
        self, api: Api, link: Link, exchange: Exchange, error: ApiError, retry_after_s: float | None = None
    ) -> None:
        response = Quirks(self.settings.quirks).failed(api.render_error(error.status, error.message))
        exchange.status = response.status
        if retry_after_s is not None:
            response = msgspec.structs.replace(response, headers={"Retry-After": str(math.ceil(retry_after_s))})
        await deliver(link, response)

    async def _run(self, api: Api, ask: Ask, link: Link, exchange: Exchange) -> Response | None:
        """Run a call in a slot and return its response; None if the response was already streamed."""
        settings, call = self.settings, exchange.call or 0
        if ask.only == "unload":
            self.loaded.pop(full_name(ask.model), None)
            return api.render(ask, complete(ask, "", timing=Timing(started_s=exchange.started_s), call=call, done=True))
        try:
            async with self._slot():
                load_s = await self._load(ask)
                run_s = 0.0 if ask.only else settings.latency.seconds(call)
                run_s *= SLOWER if exchange.spell is SpellKind.SLOW else 1.0
                ahead_s = run_s / 2 if ask.stream and exchange.fault is None else 0.0
                await asyncio.sleep(run_s - ahead_s)
                timing = Timing(started_s=exchange.started_s, load_s=load_s, run_s=run_s, ahead_s=ahead_s)
                quirks = Quirks(settings.quirks if isinstance(api, ChatApi | OpenAiApi) else ())
                content = quirks.said(self._content(api, ask, exchange))
                done = exchange.fault is not Fault.NOT_DONE
                response = quirks.rendered(api.render(ask, complete(ask, content, timing=timing, call=call, done=done)))
                if not response.parts or exchange.fault is not None:
                    return response
                exchange.status = response.status
                await stream(link, response, ahead_s)
                return None
        except ApiError as error:
            return api.render_error(error.status, error.message)

    def _content(self, api: Api, ask: Ask, exchange: Exchange) -> str:
        if ask.only or exchange.fault is Fault.EMPTY:
            return ""
        if exchange.fault is Fault.NOT_JSON:
            return _PROSE
        try:
            if exchange.fault is Fault.WRONG_STATE:
                return api.say_wrong(ask)
            return api.say(ask, exchange.call if self.settings.live else None, self.settings.reply)
        except RecursionError:
            raise too_deep() from None

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        await self.slots.acquire()
        try:
            yield
        finally:
            self.slots.release()

    async def _load(self, ask: Ask) -> float:
        """Return the seconds of the wait for the model, which another context length makes the server load again."""
        name, started_s = full_name(ask.model), time.monotonic()
        async with self._loading:
            if self.loaded.get(name) == ask.num_ctx:
                return time.monotonic() - started_s
            self.loads += 1
            await asyncio.sleep(self.settings.load_s)
            self.loaded[name] = ask.num_ctx
        return time.monotonic() - started_s


def _failed(api: Api, fault: Fault | None) -> Response | None:
    if fault is Fault.BUSY:
        busy = BusyError()
        return api.render_error(busy.status, busy.message)
    if fault is Fault.ERROR:
        return api.render_error(500, _CRASH)
    if fault is Fault.STRING_ERROR:
        return Response(status=500, body=dump(_CRASH))
    return None


_GARBAGE = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\xde\xad\xbe\xef\r\n\r\n"


class Link(Protocol):
    """The raw side of a connection."""

    @property
    def closes(self) -> bool:
        """The client asked to close after this response."""

    def write(self, data: bytes) -> None:
        """Send bytes, buffered if need be."""

    def close(self) -> None:
        """Send what is buffered, then close."""

    def reset(self) -> None:
        """Drop the connection with an RST."""


async def deliver(link: Link, response: Response, fault: Fault | None = None, drip_s: float = 0.0) -> None:
    """Send the response, as far as the fault lets it."""
    body = b"".join(response.pieces())
    if fault is Fault.RESET:
        link.reset()
    elif fault is Fault.GARBAGE:
        link.write(_GARBAGE)
        link.close()
    elif fault is Fault.CUT:
        link.write(response.head() + body[: len(body) // 2])
        link.close()
    elif fault is Fault.DRIP:
        link.write(response.head(close=link.closes))
        for i in range(len(body)):
            link.write(body[i : i + 1])
            await asyncio.sleep(drip_s)
        _end(link)
    else:
        link.write(response.head(close=link.closes) + body)
        _end(link)


async def stream(link: Link, response: Response, over_s: float) -> None:
    """Send the response piece by piece, over this time."""
    link.write(response.head(close=link.closes))
    pieces = response.pieces()
    for piece in pieces:
        link.write(piece)
        await asyncio.sleep(over_s / len(pieces))
    _end(link)


def _end(link: Link) -> None:
    if link.closes:
        link.close()

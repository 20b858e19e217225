"""The broker: it answers a cell's request from the tape, from a call under way, or by a call to a server."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

import anyio
import anyio.abc
import httpx
import msgspec
from anyio import to_thread

from actors.oracle.pace import Pace
from actors.studies.gateway.service import GatewayStatistics, Limits, Service, origin
from actors.studies.gateway.tape import ExperimentTape, Kept
from prism.llm.body import PLAIN, bound_body
from prism.llm.failure import Usage
from prism.llm.http import LIMITS, redacted, retry_after_s
from prism.llm.reply import read_chat, read_completion
from prism.llm.spending import Spent, cost_usd
from prism.llm.tape_file import TapeError
from prism.llm.tls import verification

FROM_CELL = ("content-type", "accept", "x-request-id", "traceparent")
"""The headers of a cell's request that a server gets."""
TO_CELL = ("retry-after", "date", "location")
"""The headers of a response that a cell gets, besides those of rate limits and the content type."""
CONNECT_S = 10.0
SERVED_MAX = 200_000
"""The most questions whose number of answers is remembered. It is only used if a question is asked again."""
PAUSE_MAX_S = 900.0
REFUSALS = frozenset({429, 503})


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a cell."""

    method: str
    place: str  # the address that it is for
    body: bytes
    headers: dict[str, str]  # by name in lower case
    service: str
    cell: str  # the name of the cell
    process: str
    question: str  # the id of its question; empty for other requests, as in the check of a server
    within_s: float  # the time that the call may take

    @property
    def is_call(self) -> bool:
        """True if it asks a model; other requests, such as for a list of models, cost nothing."""
        return self.method == "POST"


class Upstream:
    """The servers of one service."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._client = httpx.AsyncClient(
            params=service.query,
            verify=verification(max(service.origins), service.ca_files),  # an address with https is the largest
            trust_env=False,
            limits=LIMITS,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
        )

    async def call(self, request: Request, key: str) -> Kept:
        """Return what became of a request: a response with any status, or the reason why there is none."""
        try:
            with anyio.fail_after(request.within_s):
                return await self._sent(request, key)
        except (TimeoutError, httpx.TimeoutException):
            failure, detail = "timeout", f"no whole answer within {request.within_s:g} s"
        except (httpx.TransportError, OSError) as error:
            failure, detail = "connection_error", str(error) or type(error).__name__
        except (ValueError, httpx.HTTPError, httpx.InvalidURL) as error:
            failure, detail = "invalid_response", str(error) or type(error).__name__
        text = redacted(self.service.secrets, detail)
        return Kept(key=key, is_call=request.is_call, asked_by=request.question, failure=failure, body=text)

    async def _sent(self, request: Request, key: str) -> Kept:
        service = self.service
        own = {name.lower() for name in service.headers}
        passed = {name: text for name, text in request.headers.items() if name in FROM_CELL and name not in own}
        headers = {**PLAIN, **passed, **service.headers}
        async with self._client.stream(
            request.method, request.place, content=request.body or None, headers=headers
        ) as response:
            bound_body(response)
            body = await response.aread()
        usage = usage_of(body) if response.is_success and request.is_call else Usage()
        spent = Spent("ok", 1, 0.0, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
        back = {
            name: redacted(service.secrets, text)
            for name, text in ({} if response.is_success else response.headers).items()
            if name in TO_CELL or "ratelimit" in name
        }
        return Kept(
            key=key,
            is_call=request.is_call,
            asked_by=request.question,
            status=response.status_code,
            kind=response.headers.get("content-type", ""),
            body=redacted(service.secrets, body.decode(errors="replace")),
            headers=back,
            read=usage.prompt_tokens,
            cached=usage.cached_tokens,
            written=usage.completion_tokens,
            usd=cost_usd((spent,), service.prices) or 0.0,
        )

    async def aclose(self) -> None:
        await self._client.aclose()


def usage_of(body: bytes) -> Usage:
    """Return the tokens that an answer took, as far as the answer states them."""
    for read in (_systemone, read_completion, read_chat):
        try:
            found = read(body)
        except Exception:  # noqa: BLE001, S112  # anything may come from a server, and the client judges it
            continue
        usage = found if isinstance(found, Usage) else found.usage
        if usage != Usage():
            return usage
    return Usage()


def _systemone(body: bytes) -> Usage:
    found = msgspec.json.decode(body)["usage"]
    return Usage(int(found["input_tokens"]), int(found.get("output_tokens", 0)))


class Places:
    """Places for calls, in the order of the requests: a cell has no more requests than its own limit."""

    def __init__(self, places: int, rate_per_s: float | None = None) -> None:
        self._free = anyio.Semaphore(places)
        self._pace = Pace(1, rate_per_s)
        self._paused: dict[str, float] = {}
        """`{service: the time until which it wants no calls}`."""
        self.waiting = 0

    async def take(self, service: str) -> None:
        """Wait for a place. It has to be given back."""
        self.waiting += 1
        try:
            has_waited = False
            while True:
                await self._free.acquire()
                now = anyio.current_time()
                rate_s, pause_s = self._pace.delay(now), self._paused.get(service, now) - now
                if max(rate_s, pause_s) <= 0.0:
                    self._pace.take(now, waited=has_waited)
                    return
                self._free.release()  # other services may go on
                has_waited = rate_s > 0.0
                await anyio.sleep(max(rate_s, pause_s))
        finally:
            self.waiting -= 1

    def give_back(self) -> None:
        self._free.release()

    def pause(self, service: str, seconds: float) -> None:
        """Start no call of a service for a time, as its server asks for."""
        until = anyio.current_time() + seconds
        self._paused[service] = max(until, self._paused.get(service, until))


class _Flight:
    """A reply that is looked up on the tape, or a call that waits for its place or is under way."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.reply: Kept | None = None
        self.is_recorded = False  # true if the reply was on the tape


class Broker:
    """The broker.

    Args:
        services: `{name: service}` of those that cells may ask.
        callers: `{name: the `call` of its servers}`; not used by a replay.
        tasks: the group in which calls run: a call that was begun is finished, also if its cell is gone.
    """

    def __init__(
        self,
        limits: Limits,
        tape: ExperimentTape,
        services: Mapping[str, Service],
        callers: Mapping[str, Callable[[Request, str], Any]],
        tasks: anyio.abc.TaskGroup,
    ) -> None:
        self._limits = limits
        self._tape = tape
        self._services = services
        self._callers = callers
        self._tasks = tasks
        self._places = Places(limits.max_concurrency, limits.rate_per_s)
        self._flights: dict[tuple[str, int], _Flight] = {}  # `{(key, number of the answer): the call}`
        self._served: OrderedDict[tuple[str, str, str], int] = OrderedDict()
        """`{(process, question, key): answers that it has had}`."""
        self._thread = anyio.CapacityLimiter(1)
        self._calls = tape.totals.calls
        """The calls of the tape, and those that were begun since: a tape counts them when they are on it."""
        self._statistics = GatewayStatistics(totals=tape.totals)

    def statistics(self) -> GatewayStatistics:
        return msgspec.structs.replace(self._statistics, waiting=self._places.waiting)

    def refusal(self, request: Request) -> str | None:
        """Return why a request may not be passed on at all; None if it may."""
        service = self._services.get(request.service)
        if service is None:
            return "no such service"
        try:
            return None if origin(request.place) in service.origins else "not the address of this service"
        except ValueError:
            return "no address"

    async def answer(self, request: Request) -> Kept:
        """Return the reply to a request: a server's, or a failure. `note_served` tells that the cell has it."""
        key = self._key(request)
        if self._tape.mode == "replay":
            return await self._replayed(request, key)
        if not request.is_call:
            # Ask at once, without a place and without a price, and keep a changed reply for a replay.
            kept: Kept = await self._callers[request.service](request, key)
            recorded = msgspec.structs.replace(kept, key="", asked_by="")
            if kept.is_answer and recorded != await self._read(self._tape.latest, key):
                return await self._keep(kept)
            return kept
        number = self._served.get((request.process, request.question, key), 0)
        flight = self._flights.get((key, number))
        is_first = flight is None
        if flight is None:
            flight = self._flights[key, number] = _Flight()
            self._tasks.start_soon(self._fly, request, key, number, flight)
        await flight.ended.wait()
        if flight.reply is None:
            raise AssertionError("a call that has ended has a reply")
        self._statistics.from_tape += flight.is_recorded
        self._statistics.shared += not is_first and not flight.is_recorded
        return flight.reply

    def note_served(self, request: Request) -> None:
        """Note that a cell has got an answer: if it asks the same again, that answer could not be used."""
        key = (request.process, request.question, self._key(request))
        self._served[key] = self._served.pop(key, 0) + 1
        if len(self._served) > SERVED_MAX:
            self._served.popitem(last=False)

    def _key(self, request: Request) -> str:
        """Return the key of a request.

        All cells share the check of a server at the start: it is no part of a result. If cells asked a server in
        different ways, that would be part of their results.
        """
        whose: list[str] = []
        parts_of_id = request.question.split("-")  # the tick, the agent, digits of its own
        if request.question and not self._limits.ask_once:
            whose = [request.cell, "-".join(parts_of_id[:3])]
        elif request.question and not _names_its_draw(request):
            whose = ["-".join(parts_of_id[:2])]
        path = "/" + request.place.partition("://")[2].partition("/")[2]
        parts = [self._services[request.service].key, request.method, path, whose]
        return blake2b(msgspec.json.encode(parts) + request.body, digest_size=16).hexdigest()

    async def _read(self, read: Callable[..., Kept | None], key: str, *number: int) -> Kept | None:
        """Return the reply on the tape; or a refusal, if the tape was damaged in use: then no new request is made."""
        try:
            return await to_thread.run_sync(read, key, *number, limiter=self._thread)
        except TapeError as error:
            self._statistics.problem = str(error)
        return _stop(key, "tape", self._statistics.problem)

    async def _replayed(self, request: Request, key: str) -> Kept:
        """Return what is on the tape: the answers in their order, or the failures if there was never an answer."""
        number = self._served.get((request.process, request.question, key), 0)
        kept = await self._read(self._tape.answer, key, number)
        if kept is None and await self._read(self._tape.latest, key) is None:
            kept = await self._read(self._tape.failure, key, number)
            self.note_served(request)
        if kept is None:
            named = f"the question {request.question}" if request.question else f"{request.method} {request.place}"
            return _stop(key, "missing", f"{self._tape.path}: no answer to {named}, which nobody has asked before")
        self._statistics.from_tape += request.is_call
        return kept

    async def _fly(self, request: Request, key: str, number: int, flight: _Flight) -> None:
        """Take the reply from the tape, or else call in its turn and keep the reply; tell all who wait for it."""
        statistics, reply = self._statistics, await self._read(self._tape.answer, key, number)
        try:
            if reply is not None:
                flight.is_recorded = reply.is_answer
                flight.reply = reply
                return
            await self._places.take(request.service)
            statistics.under_way += 1
            statistics.under_way_max = max(statistics.under_way_max, statistics.under_way)
            try:
                flight.reply = await self._called(request, key)
            finally:
                statistics.under_way -= 1
                self._places.give_back()
        finally:
            del self._flights[key, number]
            flight.ended.set()

    async def _called(self, request: Request, key: str) -> Kept:
        """Make a call and keep its reply. It counts from its beginning on, unless it reaches no server."""
        statistics = self._statistics
        if statistics.problem:
            return _stop(key, "tape", statistics.problem)
        if spent := self._spent():
            statistics.refused += 1
            return _stop(key, "spent", spent)
        self._calls += 1
        has_reached = True
        try:
            kept: Kept = await self._callers[request.service](request, key)
            has_reached = kept.has_reached_a_server
        finally:
            self._calls -= not has_reached
        if kept.status in REFUSALS and (pause_s := min(retry_after_s(kept.headers), PAUSE_MAX_S)) > 0.0:
            self._places.pause(request.service, pause_s)
        return await self._keep(kept)

    def _spent(self) -> str:
        """Return the message about a spent budget; empty if some budget is left."""
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

    async def _keep(self, kept: Kept) -> Kept:
        """Append a reply to the tape, and return it; or a refusal, if it cannot be kept: no cell gets it then."""
        try:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._tape.add, kept, limiter=self._thread)
        except TapeError as error:
            self._statistics.problem = f"{error}; what was under way is lost"
            return _stop(kept.key, "tape", self._statistics.problem)
        return kept


def _stop(key: str, failure: str, detail: str) -> Kept:
    return Kept(key=key, failure=failure, body=detail)


def _names_its_draw(request: Request) -> bool:
    """Return whether equal bodies mean equal draws: by a seed, a temperature of 0, or since they ask for probabilities.

    Without any of these, two agents who ask the same would get the same draw.
    """
    if request.place.endswith("/v1/systemone"):
        return True
    try:
        body: Any = msgspec.json.decode(request.body)
        options = body.get("options") or {}
    except (msgspec.DecodeError, AttributeError):
        return False
    found = {**body, **options} if isinstance(options, dict) else body
    return "seed" in found or found.get("temperature") == 0.0 or bool(found.get("logprobs"))

"""The broker: it answers a cell's request from the tape, from a call under way, or by a call in the cell's turn."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

import anyio
import anyio.abc
import msgspec
from anyio import to_thread

from actors.oracle.pace import Pace
from actors.studies.gateway.service import GatewayStatistics, Limits, Service, origin
from actors.studies.gateway.tape import ExperimentTape, Kept
from actors.studies.gateway.upstream import Request
from prism.llm.http import retry_after_s
from prism.llm.tape_file import TapeError


class _Waiting(NamedTuple):
    service: str
    granted: anyio.Event


class Places:
    """Places for calls. A cell that has many requests gets no more places than one that has few."""

    def __init__(self, places: int, rate_per_s: float | None = None) -> None:
        self.free = places
        self._bucket = Pace(1, rate_per_s)
        self._has_waited = False
        self._queues: dict[str, deque[_Waiting]] = {}
        """`{cell: its requests}`; the first cell has had no turn for the longest time."""
        self._paused: dict[str, float] = {}  # `{service: the time until which it wants no calls}`
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    async def take(self, cell: str, service: str) -> None:
        """Wait for a place. It has to be given back."""
        waiting = _Waiting(service, anyio.Event())
        self._queues.setdefault(cell, deque()).append(waiting)
        self._grant()
        try:
            await waiting.granted.wait()
        except BaseException:
            if waiting.granted.is_set():
                self.give_back()
            else:
                queue = self._queues[cell]
                queue.remove(waiting)
                if not queue:
                    del self._queues[cell]
            raise

    def give_back(self) -> None:
        self.free += 1
        self._grant()

    def pause(self, service: str, seconds: float) -> None:
        """Start no call of a service for a time, as its server asks for."""
        until = asyncio.get_running_loop().time() + seconds
        self._paused[service] = max(until, self._paused.get(service, until))

    def _grant(self) -> None:
        """Let every request begin that may, and set a timer for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        while self.free and self._queues:
            now = loop.time()
            if (delay_s := self._bucket.delay(now)) > 0.0:
                self._has_waited = True
                self._timer = loop.call_later(delay_s, self._grant)
                return
            free = (each for each, queue in self._queues.items() if self._paused.get(queue[0].service, now) <= now)
            cell = next(free, None)
            if cell is None:
                first = min(self._paused[queue[0].service] for queue in self._queues.values())
                self._timer = loop.call_later(max(0.0, first - now), self._grant)
                return
            self._bucket.take(now, waited=self._has_waited)
            self._has_waited = False
            self.free -= 1
            queue = self._queues.pop(cell)
            queue.popleft().granted.set()
            if queue:
                self._queues[cell] = queue  # the cell goes behind all others


SERVED_MAX = 200_000
"""The most questions whose number of answers is remembered. It is only used if a question is asked again."""
PAUSE_MAX_S = 900.0
REFUSALS = frozenset({429, 503})


class Caller(Protocol):
    async def call(self, request: Request, key: str) -> Kept: ...


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
        callers: `{name: its servers}`; not used by a replay.
        tasks: the group in which calls run: a call that was begun is finished, also if its cell is gone.
    """

    def __init__(
        self,
        limits: Limits,
        tape: ExperimentTape,
        services: Mapping[str, Service],
        callers: Mapping[str, Caller],
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
            kept = await self._callers[request.service].call(request, key)
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
        if request.question and not self._limits.ask_once:
            whose = [request.cell, _sampled(request.question, digits=True)]
        elif request.question and not _names_its_draw(request):
            whose = [_sampled(request.question, digits=False)]
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
        served = (request.process, request.question, key)
        number = self._served.get(served, 0)
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
        flight.reply = await self._read(self._tape.answer, key, number)
        if flight.reply is not None:
            flight.is_recorded = flight.reply.is_answer
            del self._flights[key, number]
            flight.ended.set()
            return
        await self._places.take(request.cell, request.service)
        statistics = self._statistics
        statistics.under_way += 1
        statistics.under_way_max = max(statistics.under_way_max, statistics.under_way)
        try:
            spent = self._spent()
            if statistics.problem:
                flight.reply = _stop(key, "tape", statistics.problem)
            elif spent:
                statistics.refused += 1
                flight.reply = _stop(key, "spent", spent)
            else:
                flight.reply = await self._keep(await self._counted(request, key))
                kept = flight.reply
                if kept.status in REFUSALS and (pause_s := min(retry_after_s(kept.headers), PAUSE_MAX_S)) > 0.0:
                    self._places.pause(request.service, pause_s)
        finally:
            statistics.under_way -= 1
            self._places.give_back()
            del self._flights[key, number]
            flight.ended.set()

    async def _counted(self, request: Request, key: str) -> Kept:
        """Make a call. It counts from its beginning on, unless it reaches no server."""
        self._calls += request.is_call
        has_reached = True
        try:
            kept = await self._callers[request.service].call(request, key)
            has_reached = kept.has_reached_a_server
            return kept
        finally:
            self._calls -= request.is_call and not has_reached

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


def _sampled(question: str, *, digits: bool) -> str:
    """Return the part of a question's id that names its tick and agent; with `digits`, its own digits, too."""
    return "-".join(question.split("-")[: 3 if digits else 2])


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
    return "seed" in found or "random_seed" in found or found.get("temperature") == 0.0 or bool(found.get("logprobs"))

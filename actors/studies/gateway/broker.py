"""The broker: it answers a cell's question from the tape, from a call under way, or by a call to the model."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import anyio
import msgspec
from anyio import to_thread

from actors.oracle.pace import Pace
from actors.studies.gateway.place import GatewayStatistics, Limits
from actors.studies.gateway.tape import ExperimentTape, Kept, Totals
from prism.config import PricesConfig
from prism.errors import OracleUnavailableError
from prism.llm.failure import LLMFailureException
from prism.llm.gateway_model import Checked, Put, Reply, Unavailable
from prism.llm.port import ChoiceRequest, Health, LanguageModel
from prism.llm.question_id import ASKED
from prism.llm.spending import Spent, cost_usd
from prism.llm.tape import Failed, NotOffered, Outcome, outcome_of
from prism.llm.tape_file import TapeError
from prism.llm.taped_model import key_of

PAUSE_MAX_S = 900.0
_Found = tuple[Reply, bool]
"""A reply, and whether it was on the tape."""


class Service(NamedTuple):
    """A model that cells may ask.

    Args:
        key: names its servers in the keys of the tape.
        model: None if all replies come from the tape.
        check: returns its health, and raises an `OracleUnavailableError` if it cannot be used.
    """

    key: str
    prices: PricesConfig
    model: LanguageModel | None = None
    check: Callable[[], Awaitable[Health]] | None = None


class Places:
    """Places for calls, in the order of the questions: a cell has no more questions than its own limit."""

    def __init__(self, places: int, rate_per_s: float | None = None) -> None:
        self._free = anyio.Semaphore(places)
        self._pace = Pace(1, rate_per_s)
        self._paused: dict[str, float] = {}
        """`{service: the time until which it wants no calls}`."""

    async def take(self, service: str) -> None:
        """Wait for a place. It has to be given back."""
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

    def give_back(self) -> None:
        self._free.release()

    def pause(self, service: str, seconds: float) -> None:
        """Start no call of a service for a time, as its server asks for."""
        until = anyio.current_time() + seconds
        self._paused[service] = max(until, self._paused.get(service, until))


class Broker:
    """The broker.

    Args:
        services: `{name: model}` of those that cells may ask.
    """

    def __init__(self, limits: Limits, tape: ExperimentTape, services: Mapping[str, Service]) -> None:
        self.services = services
        self._limits = limits
        self._tape = tape
        self._places = Places(limits.max_concurrency, limits.rate_per_s)
        self._checked: dict[str, Checked] = {}  # `{service: the outcome of its check}`
        self._flights: dict[bytes, asyncio.Task[_Found]] = {}  # `{key of a question: its way to a reply}`
        self._thread = anyio.CapacityLimiter(1)
        self._calls = tape.totals.calls
        """The calls of the tape, and those that were begun since: a tape counts them when they are on it."""
        self._statistics = GatewayStatistics(totals=tape.totals)

    def statistics(self) -> GatewayStatistics:
        return msgspec.structs.replace(self._statistics, totals=self._tape.totals)

    async def aclose(self) -> None:
        """Cancel the calls under way, and close the models."""
        for task in (tasks := [*self._flights.values()]):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for service in self.services.values():
            if service.model is not None:
                await service.model.aclose()

    async def answer(self, put: Put) -> Reply:
        """Return the reply to a question. A cell that asks again after a failure leads to a new call."""
        service = self.services[put.service]
        if (checked := self._checked.get(put.service)) is None:  # all cells share one check
            key = f"check {put.service}".encode()
            (found, _), _ = await self._shared(key, lambda: self._check(service, key))
            if not isinstance(found, Checked):
                return found
            checked = self._checked[put.service] = found
        if put.request is None:
            return checked
        asker = "" if put.asked is None else put.asked.question
        scope = [] if self._limits.ask_once else [put.cell, asker]
        parts = [service.key, key_of(put.request, checked.identity).hex(), put.attempt, scope]
        key = blake2b(msgspec.json.encode(parts), digest_size=16).digest()
        (reply, is_recorded), is_first = await self._shared(key, lambda: self._found(put, service, key))
        self._statistics.from_tape += is_recorded
        self._statistics.shared += not (is_first or is_recorded)
        return reply

    async def _shared(self, key: bytes, find: Callable[[], Coroutine[Any, Any, _Found]]) -> tuple[_Found, bool]:
        """Return what is found under a key, and whether this question was the first to look for it.

        A call that was begun is finished, also if its cell is gone.
        """
        is_first = key not in self._flights
        if is_first:
            self._flights[key] = asyncio.create_task(find())
            self._flights[key].add_done_callback(lambda _: self._flights.pop(key))
        return await asyncio.shield(self._flights[key]), is_first

    async def _check(self, service: Service, key: bytes) -> _Found:
        if service.model is None or service.check is None:
            missing = Unavailable(detail=f"{self._tape.path}: has no check of this model")
            return await self._read(key) or missing, True
        try:
            health = await service.check()
        except OracleUnavailableError as error:
            cause = error.__cause__
            failure = Failed.of(cause) if isinstance(cause, LLMFailureException) else None
            return Unavailable(detail=str(error), failure=failure), False
        return await self._keep(key, Checked(health=health, identity=service.model.identity)), False

    async def _found(self, put: Put, service: Service, key: bytes) -> _Found:
        """Return the reply on the tape, or else call in its turn and keep the reply."""
        reply = await self._read(key)
        is_asked_again = isinstance(reply, Failed) and not reply.error().is_answer and service.model is not None
        if reply is not None and not is_asked_again:
            return reply, not isinstance(reply, Unavailable)
        if service.model is None:
            named = "a question" if put.asked is None else f"the question {put.asked.question}"
            missing = Unavailable(detail=f"{self._tape.path}: no answer to {named}, which nobody has asked before")
            return NotOffered() if isinstance(put.request, ChoiceRequest) else missing, False
        await self._places.take(put.service)
        try:
            return await self._called(put, service.model, service.prices, key), False
        finally:
            self._places.give_back()

    async def _called(self, put: Put, model: LanguageModel, prices: PricesConfig, key: bytes) -> Reply:
        """Make a call and keep its reply. It counts from its beginning on, unless it reaches no server."""
        if self._statistics.problem:
            return Unavailable(detail=self._statistics.problem)
        if spent := self._spent():
            return Unavailable(detail=spent)
        ASKED.set(put.asked)  # of this task alone
        self._calls += 1
        reply: Outcome = Failed.of(
            LLMFailureException("timeout", detail=f"no whole answer within {put.within_s:g} s", latency_s=put.within_s)
        )
        with anyio.move_on_after(put.within_s):
            if isinstance(put.request, ChoiceRequest):
                reply = await outcome_of(model.choose(put.request))
            elif put.request is not None:
                reply = await outcome_of(model.complete(put.request))
        if isinstance(reply, NotOffered):
            self._calls -= 1
            return reply
        is_failed = isinstance(reply, Failed)
        if isinstance(reply, Failed) and reply.retry_after_s > 0.0:
            self._places.pause(put.service, min(reply.retry_after_s, PAUSE_MAX_S))
        if isinstance(reply, Failed) and reply.reason == "connection_error":
            self._calls -= 1
            return await self._keep(key, reply, put)
        usage = reply.usage
        spent_on_it = Spent("", 1, 0.0, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
        totals = Totals(
            calls=1,
            failed=int(is_failed),
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            usd=cost_usd((spent_on_it,), prices) or 0.0,
        )
        return await self._keep(key, reply, put, totals)

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

    async def _read(self, key: bytes) -> Kept | Unavailable | None:
        """Return the reply on the tape. If the tape was damaged in use, no new call is made."""
        try:
            return await to_thread.run_sync(self._tape.read, key, limiter=self._thread)
        except TapeError as error:
            self._statistics.problem = str(error)
        return Unavailable(detail=self._statistics.problem)

    async def _keep(self, key: bytes, kept: Kept, put: Put | None = None, added: Totals | None = None) -> Reply:
        """Write a reply to the tape, and return it; no cell gets a reply that cannot be kept."""
        asked_by = "" if put is None or put.asked is None else put.asked.question
        try:
            with anyio.CancelScope(shield=True):
                write = self._tape.write
                await to_thread.run_sync(write, key, kept, asked_by, added or Totals(), limiter=self._thread)
        except TapeError as error:
            self._statistics.problem = f"{error}; what was under way is lost"
            return Unavailable(detail=self._statistics.problem)
        return kept

"""Several servers of one model: each call goes to the one with the fewest calls under way.

    question -> HostPool -> the host that is up and least used -> answer
                         -> connection lost, overloaded, server error: the next host

Each host has a circuit breaker and a limit on calls of its own, so a host that is away or slow costs the others
nothing. Only when no host answers does the pool fail, and the run waits as it does for a single server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio
import msgspec
import structlog

from actors.core.errors import ungrouped
from actors.oracle.circuit_breaker import FAILURES, REFUSED, CircuitBreaker
from actors.oracle.pace import Pace
from prism.errors import OracleUnavailableError
from prism.llm import (
    ChatRequest,
    ChoiceRequest,
    Completion,
    Distribution,
    Health,
    HostState,
    Identity,
    LanguageModel,
    LLMFailureException,
)
from prism.llm.port import Undecided

log = structlog.get_logger(__name__)
T = TypeVar("T")

OPENS_AFTER = 3
"""Failures in a row, and nothing else, after which a host is not asked for a while."""
ELSEWHERE = frozenset({"connection_error", "overloaded", "loading", "server_error"})
"""The reasons after which the next host is asked at once. A timeout has cost too much of the question's time."""


class Host:
    """One server of a pool, with the state that its calls have shown.

    Args:
        most: the most calls under way on it.
    """

    def __init__(self, address: str, model: LanguageModel, most: int) -> None:
        self.address = address
        self.model = model
        self.pace = Pace(most)
        self.breaker = CircuitBreaker(OPENS_AFTER)
        self.in_flight = self.calls = self.failures = 0
        self.health: Health | None = None
        """The result of its check; None until the host has answered one."""

    def state(self) -> HostState:
        return HostState(
            address=self.address,
            is_up=self.breaker.is_closed,
            in_flight=self.in_flight,
            limit=self.pace.limit,
            calls=self.calls,
            failures=self.failures,
        )

    def delay(self, now: float) -> float:
        """Return the seconds until it may be asked: it is away, or has asked for a pause."""
        return max(self.breaker.delay(now), self.pace.delay(now))

    @property
    def has_room(self) -> bool:
        """True if one more call may be under way."""
        return self.in_flight < self.pace.limit

    @property
    def use(self) -> tuple[int, int]:
        """The calls under way, and all of its calls."""
        return self.in_flight, self.calls

    def begun(self) -> bool:
        """Note that a call has started; return whether it tests if the host is back."""
        self.in_flight += 1
        self.calls += 1
        return self.breaker.begun()

    def ended(self, error: LLMFailureException | None, begun: float, *, is_probe: bool) -> None:
        """Note that a call ended."""
        now = anyio.current_time()
        reason = None if error is None else error.reason
        was_up = self.breaker.is_closed
        # An unreadable answer is the model's fault, and the model is the same on every host.
        self.breaker.ended(reason if reason in {*FAILURES, REFUSED} else None, now, is_probe=is_probe)
        self.pace.ended(reason, begun, now)
        if error is not None:
            self.failures += 1
            self.pace.pause(now, error.retry_after_s)
        if was_up and not self.breaker.is_closed and error is not None:
            log.warning("host_away", host=self.address, reason=error.reason, latest=error.detail[:200])
        elif self.breaker.is_closed and not was_up:
            log.info("host_back", host=self.address)

    def absent(self, error: LLMFailureException, *, is_probe: bool) -> None:
        """Note that a check has failed: the host counts as away at once, and not only after several failures."""
        now = anyio.current_time()
        while self.breaker.is_closed:
            self.breaker.ended("connection_error", now)
        if is_probe:
            self.breaker.ended("connection_error", now, is_probe=True)
        self.failures += 1
        log.warning("host_away", host=self.address, reason=error.reason, latest=error.detail[:200])

    def left(self, *, is_probe: bool) -> None:
        """Note that a call was cancelled: this is no sign about the host."""
        if is_probe:
            self.breaker.abandoned()


class HostPool:
    """A language model on several servers.

    Args:
        hosts: at least one. All must answer alike: the same model, asked in the same way.
    """

    def __init__(self, hosts: Sequence[Host]) -> None:
        self._hosts = tuple(hosts)
        self._freed = anyio.Event()

    @property
    def name(self) -> str:
        return f"{self._hosts[0].model.name} on {len(self._hosts)} hosts"

    @property
    def identity(self) -> Identity:
        """The settings that its answers depend on: those of the first host that has been there."""
        return self._first.model.identity

    @property
    def _first(self) -> Host:
        return next((host for host in self._hosts if host.health is not None), self._hosts[0])

    def hosts(self) -> tuple[HostState, ...]:
        return tuple(host.state() for host in self._hosts)

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the answer of one of the hosts to a chat."""
        return await self._ask(lambda model: model.complete(request))

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:
        """Return the weights that one of the hosts gives; None if the hosts offer no weights."""
        return await self._ask(lambda model: model.choose(request))

    async def check(self) -> Health:
        """Return the health of the first host that is there, with the number of those that are.

        Hosts that are away are asked again later: one that is gone is no outage.

        Raises:
            OracleUnavailableError: none is there, one of them cannot be used, or they would not answer alike.
        """
        away: list[OracleUnavailableError] = []

        async def check(host: Host) -> None:
            try:
                await self._check(host)
            except OracleUnavailableError as error:
                away.append(_if_away(error))

        with ungrouped():
            async with anyio.create_task_group() as checks:
                for host in self._hosts:
                    checks.start_soon(check, host)
        if len(away) == len(self._hosts):
            raise max(away, key=_is_loading)  # this host will be there soon, so the run may wait for it
        here = [host for host in self._hosts if host.health is not None]
        for host in here:
            self._require_alike(host)
        health = self._first.health
        if health is None:
            raise AssertionError("one of the hosts is there")
        note = f"{len(here)} of {len(self._hosts)} hosts are there"
        return msgspec.structs.replace(health, note="; ".join(filter(None, (health.note, note))))

    async def aclose(self) -> None:
        for host in self._hosts:
            await host.model.aclose()

    async def _check(self, host: Host) -> None:
        is_probe, begun = host.begun(), anyio.current_time()
        try:
            host.health = await host.model.check()
        except OracleUnavailableError as error:
            failure = error.__cause__ if isinstance(error.__cause__, LLMFailureException) else None
            host.absent(failure or LLMFailureException("connection_error"), is_probe=is_probe)
            raise
        finally:
            host.in_flight -= 1
        host.ended(None, begun, is_probe=is_probe)

    def _require_alike(self, host: Host) -> None:
        """Refuse a host whose answers another host would not give. Raises: OracleUnavailableError."""
        first = self._first
        if host.health is None or first.health is None:
            raise AssertionError("both have been checked")
        mine, theirs = (first.model.identity, first.health.note), (host.model.identity, host.health.note)
        if mine != theirs:
            message = (
                f"llm.hosts: {host.address} would answer otherwise than {first.address}: {difference(mine, theirs)}; "
                "all hosts need the same server and model"
            )
            raise OracleUnavailableError(message)

    async def _ask(self, call: Callable[[LanguageModel], Awaitable[T]]) -> T:
        """Return the answer of a host; ask the next one where a host is away or refuses.

        Raises:
            LLMFailureException: the failure of the host asked last.
        """
        tried: list[Host] = []
        failure: LLMFailureException | None = None
        while (host := await self._choose_host(tried)) is not None:
            tried.append(host)
            try:
                return await self._call(host, call)
            except LLMFailureException as error:
                failure = error
                if error.reason not in ELSEWHERE:
                    break
        if failure is None:
            raise AssertionError("there is a host that has not been tried")
        raise failure

    async def _call(self, host: Host, call: Callable[[LanguageModel], Awaitable[T]]) -> T:
        if host.health is None:
            await self._check_late(host)
        is_probe, begun = host.begun(), anyio.current_time()
        try:
            answer = await call(host.model)
        except LLMFailureException as error:
            host.ended(error, begun, is_probe=is_probe)
            raise
        except BaseException:
            host.left(is_probe=is_probe)
            raise
        finally:
            host.in_flight -= 1
            self._freed.set()
        host.ended(None, begun, is_probe=is_probe)
        return answer

    async def _check_late(self, host: Host) -> None:
        """Check a host that was away at the start, before its first call. Raises: LLMFailureException."""
        try:
            await self._check(host)
            self._require_alike(host)
        except OracleUnavailableError as error:
            host.health = None
            raise LLMFailureException("connection_error", detail=str(error)) from error

    async def _choose_host(self, tried: Sequence[Host]) -> Host | None:
        """Return the host for the next call; None if all have been tried, or those left are away.

        If no host may be asked and none has been tried, return the host that may be asked soonest: the caller has a
        reason to ask, such as a probe. While every host that is up has reached its limit of calls, wait, for at
        most half of the call's time: a small limit must not cost an answer.
        """
        patience_s = (anyio.current_effective_deadline() - anyio.current_time()) / 2
        while True:
            now = anyio.current_time()
            up = [host for host in self._hosts if host not in tried and host.delay(now) <= 0.0]
            if not up:
                return None if tried else min(self._hosts, key=lambda host: host.delay(now))
            free = [host for host in up if host.has_room]
            if free or patience_s <= 0.0:
                return min(free or up, key=lambda host: host.use)
            if self._freed.is_set():
                self._freed = anyio.Event()
            with anyio.move_on_after(patience_s):
                await self._freed.wait()
            patience_s -= anyio.current_time() - now


def _if_away(error: OracleUnavailableError) -> OracleUnavailableError:
    """Return the error of a host that is away; raise that of one that can never be used."""
    cause = error.__cause__
    if isinstance(cause, LLMFailureException) and cause.reason in FAILURES:
        return error
    raise error


def _is_loading(error: OracleUnavailableError) -> bool:
    return isinstance(error.__cause__, LLMFailureException) and error.__cause__.reason == "loading"


def difference(mine: tuple[Identity, str], theirs: tuple[Identity, str]) -> str:
    """Return the difference between two ways of asking, in words; each way is an identity and the note of a health."""
    (mine_identity, *mine_note), (their_identity, *their_note) = mine, theirs
    names = (*mine_identity.__struct_fields__, "note")
    ours = (*msgspec.structs.astuple(mine_identity), *mine_note)
    others = (*msgspec.structs.astuple(their_identity), *their_note)
    pairs = zip(names, ours, others, strict=True)
    return ", ".join(f"{name} is {other!r}, not {own!r}" for name, own, other in pairs if own != other)

"""Several servers of one model: each call goes to the one with the fewest calls under way.

    question -> HostPool -> the host that is up and least used -> answer
                         -> connection lost, overloaded, server error: the next host

A host that is away or has asked for a pause costs the others nothing. Only when no host answers does the pool fail, and
the run waits as it does for a single server.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio
import msgspec
import structlog

from actors.core.errors import ungrouped
from actors.oracle.circuit_breaker import FAILURES, FIRST_HOLD_S, LONGEST_HOLD_S
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

    A host that has failed three times in a row is away: it is asked once after a pause, which doubles with each such
    probe that fails.
    """

    def __init__(self, address: str, model: LanguageModel) -> None:
        self.address = address
        self.model = model
        self.is_up = True
        self.in_flight = self.calls = self.failures = 0
        self.health: Health | None = None
        """The result of its check; None until the host has answered one."""
        self.until = -math.inf
        """The time until which it is not asked; infinite while a probe is under way."""
        self._failed_in_a_row, self._pause_s = 0, FIRST_HOLD_S

    def state(self) -> HostState:
        return HostState(
            address=self.address, is_up=self.is_up, in_flight=self.in_flight, calls=self.calls, failures=self.failures
        )

    @property
    def use(self) -> tuple[int, int]:
        """The calls under way, and all of its calls."""
        return self.in_flight, self.calls

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return the outcome of a call to it."""
        was_up, is_due = self.is_up, self.until <= anyio.current_time()
        self.in_flight += 1
        self.calls += 1
        if not was_up:
            self.until = math.inf
        try:
            answer = await call()
        except (LLMFailureException, OracleUnavailableError) as error:
            cause = error if isinstance(error, LLMFailureException) else error.__cause__
            failure = cause if isinstance(cause, LLMFailureException) else LLMFailureException("connection_error")
            self._failed(failure, was_up=was_up, is_due=is_due)
            raise
        except BaseException:  # a cancelled call is no sign about the host
            self.until = self.until if was_up else anyio.current_time()
            raise
        finally:
            self.in_flight -= 1
        self._answered(was_up=was_up)
        return answer

    def _answered(self, *, was_up: bool) -> None:
        if self.is_up or not was_up:  # an answer to a call from before it was away changes nothing
            self._failed_in_a_row, self._pause_s = 0, FIRST_HOLD_S
            if not self.is_up:
                self.is_up, self.until = True, anyio.current_time()
                log.info("host_back", host=self.address)

    def _failed(self, failure: LLMFailureException, *, was_up: bool, is_due: bool) -> None:
        self.failures += 1
        now = anyio.current_time()
        if failure.reason not in FAILURES:  # it is the model's fault, and the model is the same on every host
            self._answered(was_up=was_up)
        elif not was_up:
            if is_due:  # a host may be asked earlier, if no other is there
                self._pause_s = min(LONGEST_HOLD_S, 2 * self._pause_s)
            self.until = now + self._pause_s
        elif self.is_up:
            self._failed_in_a_row += 1
            # A host that fails its check counts as away at once.
            if self._failed_in_a_row == OPENS_AFTER or self.health is None:
                self.is_up, self.until = False, now + self._pause_s
                log.warning("host_away", host=self.address, reason=failure.reason, latest=failure.detail[:200])
        self.until = max(self.until, now + failure.retry_after_s)


class HostPool:
    """A language model on several servers.

    Args:
        hosts: at least one. All must answer alike: the same model, asked in the same way.
    """

    def __init__(self, hosts: Sequence[Host]) -> None:
        self._hosts = tuple(hosts)

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
        host.health = await host.ask(host.model.check)

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
        while True:
            host = self._next(tried)
            tried.append(host)
            try:
                if host.health is None:
                    await self._check_late(host)
                return await host.ask(lambda host=host: call(host.model))  # type: ignore[misc]
            except LLMFailureException as error:
                if error.reason not in ELSEWHERE or not self._up(tried):
                    raise

    async def _check_late(self, host: Host) -> None:
        """Check a host that was away at the start, before its first call. Raises: LLMFailureException."""
        try:
            await self._check(host)
            self._require_alike(host)
        except OracleUnavailableError as error:
            host.health = None
            raise LLMFailureException("connection_error", detail=str(error)) from error

    def _up(self, tried: Sequence[Host]) -> list[Host]:
        """Return the hosts that may be asked now and have not been."""
        now = anyio.current_time()
        return [host for host in self._hosts if host not in tried and host.until <= now]

    def _next(self, tried: Sequence[Host]) -> Host:
        """Return the host for the next call.

        If none may be asked, return the one that may be asked soonest: the caller has a reason to ask, such as a probe.
        """
        if up := self._up(tried):
            return min(up, key=lambda host: host.use)
        return min(self._hosts, key=lambda host: host.until)


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

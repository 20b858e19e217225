"""A language model in virtual time: it waits, answers and fails as a server would, without a socket."""

from __future__ import annotations

import math
from collections import Counter

import anyio

from prism.llm import (
    ChatRequest,
    ChoiceRequest,
    Completion,
    Distribution,
    Health,
    Identity,
    LLMFailureException,
)
from prism.llm.failure import Reason
from tests.standin import Fault, FaultPlan, Latency
from tests.standin.spells import SLOWER, Spell, SpellKind, spells_at

PROMPT_TOKENS, COMPLETION_TOKENS = 220, 1
REASONS: dict[Fault, Reason] = {
    Fault.RESET: "connection_error",
    Fault.ERROR: "server_error",
    Fault.BUSY: "overloaded",
    Fault.NOT_JSON: "invalid_response",
}
"""The reasons under which a client counts these faults."""


class VirtualModel:
    """A `prism.llm.LanguageModel` that gives equal weights to all options, after a drawn time.

    Args:
        faults: calls that fail, by number or share.
        spells: times in which it behaves in another way, in seconds since the loop began.
        timeout_s: the longest call.
    """

    name = "virtual"
    identity = Identity(backend="virtual", model="virtual", dialect="", options={})

    def __init__(self, latency: Latency, faults: FaultPlan, spells: tuple[Spell, ...], timeout_s: float) -> None:
        self.calls = 0
        self.failures: Counter[str] = Counter()
        """`{fault or kind of spell: calls that failed because of it}`."""
        self._latency = latency
        self._faults = faults
        self._spells = spells
        self._timeout_s = timeout_s

    async def complete(self, request: ChatRequest) -> Completion:  # noqa: ARG002  # the only text asked for
        """Answer the test question of the start, which is asked again while calls are held."""
        latency_s = await self._call()
        return Completion(
            text='{"answer":"yes"}',
            model=self.name,
            prompt_tokens=PROMPT_TOKENS,
            completion_tokens=COMPLETION_TOKENS,
            latency_s=latency_s,
        )

    async def choose(self, request: ChoiceRequest) -> Distribution:
        """Return the same weight for each option."""
        latency_s = await self._call()
        return Distribution(
            probabilities=dict.fromkeys(request.options, 1.0),
            model=self.name,
            prompt_tokens=PROMPT_TOKENS,
            completion_tokens=COMPLETION_TOKENS,
            latency_s=latency_s,
        )

    async def _call(self) -> float:
        """Wait as long as a call takes, and return the seconds.

        Raises:
            LLMFailureException: as told by the faults and the spells.
        """
        self.calls += 1
        call, under_way = self.calls, spells_at(self._spells, anyio.current_time())
        if SpellKind.OUTAGE in under_way:
            self._fail(SpellKind.OUTAGE, "connection_error")
        if SpellKind.BUSY in under_way:
            self._fail(SpellKind.BUSY, "overloaded", status=503)
        if (end_s := under_way.get(SpellKind.LIMIT)) is not None:
            left_s = math.ceil(end_s - anyio.current_time())
            self._fail(SpellKind.LIMIT, "overloaded", status=429, retry_after_s=left_s)
        slower = SLOWER if SpellKind.SLOW in under_way else 1.0
        latency_s = slower * self._latency.seconds(call)
        fault = self._faults.pick(call)
        if SpellKind.SILENCE in under_way or fault is Fault.HANG or latency_s > self._timeout_s:
            await anyio.sleep(self._timeout_s)
            cause = SpellKind.SILENCE if SpellKind.SILENCE in under_way else fault or SpellKind.SLOW
            self._fail(cause, "timeout", self._timeout_s)
        await anyio.sleep(latency_s)
        if fault is not None:
            self._fail(fault, REASONS[fault], latency_s)
        return latency_s

    async def check(self) -> Health:
        return Health(backend=self.name, version="", model=self.name, latency_s=0.0, dialect="", note="")

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""

    def _fail(
        self,
        cause: Fault | SpellKind,
        reason: Reason,
        latency_s: float = 0.0,
        *,
        status: int | None = None,
        retry_after_s: float = 0.0,
    ) -> None:
        self.failures[cause.value] += 1
        raise LLMFailureException(
            reason, component=self.name, status_code=status, latency_s=latency_s, retry_after_s=retry_after_s
        )

"""A language model in virtual time: it waits, answers and fails as a server would, without a socket."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import anyio

from prism.llm import ChatRequest, ChoiceRequest, Completion, Distribution, Identity, LanguageModel, LLMFailureException
from prism.llm.failure import Reason
from tests.standin import Fault, FaultPlan, Latency
from tests.standin.settings import SLOWER, Spell, SpellKind, spells_at

REASONS: dict[Fault, Reason] = {
    Fault.RESET: "connection_error",
    Fault.ERROR: "server_error",
    Fault.BUSY: "overloaded",
    Fault.NOT_JSON: "invalid_response",
}
"""The reasons under which a client counts these faults."""


class VirtualModel(LanguageModel):
    """A language model that gives equal weights to all options, after a drawn time.

    Args:
        faults: calls that fail, by number or share.
        spells: times in which it behaves in another way, in seconds since the loop began.
        timeout_s: the longest call.
    """

    name = "virtual"
    identity = Identity(backend="virtual", model="virtual", dialect="", options={})

    def __init__(self, latency: Latency, faults: FaultPlan, spells: tuple[Spell, ...], timeout_s: float) -> None:
        self.calls, self.failures = 0, Counter[str]()
        """The calls, and `{reason: calls that failed}`."""
        self._latency, self._faults, self._spells, self._timeout_s = latency, faults, spells, timeout_s

    async def complete(self, request: ChatRequest) -> Completion:  # noqa: ARG002  # the only text asked for
        """Answer the test question of the start, which is asked again while calls are held."""
        return Completion(text='{"answer":"yes"}', **await self._call())

    async def choose(self, request: ChoiceRequest) -> Distribution:
        """Return the same weight for each option."""
        return Distribution(probabilities=dict.fromkeys(request.options, 1.0), **await self._call())

    async def _call(self) -> dict[str, Any]:
        """Wait as long as a call takes, and return what its answer has besides the content.

        Raises:
            LLMFailureException: as told by the faults and the spells.
        """
        self.calls += 1
        now_s = anyio.current_time()
        call, under_way = self.calls, spells_at(self._spells, now_s)
        if SpellKind.OUTAGE in under_way:
            raise self._failure("connection_error")
        if SpellKind.BUSY in under_way:
            raise self._failure("overloaded", status_code=503)
        if (end_s := under_way.get(SpellKind.LIMIT)) is not None:
            raise self._failure("overloaded", status_code=429, retry_after_s=math.ceil(end_s - now_s))
        latency_s = self._latency.seconds(call) * (SLOWER if SpellKind.SLOW in under_way else 1.0)
        fault = self._faults.pick(call)
        if SpellKind.SILENCE in under_way or fault is Fault.HANG or latency_s > self._timeout_s:
            await anyio.sleep(self._timeout_s)
            raise self._failure("timeout", latency_s=self._timeout_s)
        await anyio.sleep(latency_s)
        if fault is not None:
            raise self._failure(REASONS[fault], latency_s=latency_s)
        return {"model": self.name, "prompt_tokens": 220, "completion_tokens": 1, "latency_s": latency_s}

    def _failure(self, reason: Reason, **told: Any) -> LLMFailureException:
        self.failures[reason] += 1
        return LLMFailureException(reason, component=self.name, **told)

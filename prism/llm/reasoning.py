"""A component's question to a model, and the record of the reasoning behind the answer."""

from __future__ import annotations

import logging
from typing import Any, Protocol, TypeVar

import msgspec

from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.llm.client import Call, LLMClient
from prism.llm.failure import LLMFailureException
from prism.models import Component, LLMReasoningChain, PolicyDecision, StateUpdateDecision, ValidationResult
from prism.quoting import quoted

_log = logging.getLogger(__name__)


T = TypeVar("T", bound=msgspec.Struct)
D = TypeVar("D", PolicyDecision, ValidationResult, StateUpdateDecision)


class DecisionClient(Protocol):
    """A client that answers a prompt with an instance of a response model: an `LLMClient`, or a scripted one.

    Raises:
        LLMFailureException: no usable answer.
    """

    async def call_with_retry(self, prompt: str, response_model: type[T]) -> T:
        """Return the answer."""


def asked_by(component: Component, agent_name: str, turn: int) -> str:
    """Return the asker's name, for messages and for a tape: it differs for every question of a run."""
    return f"{component} for {agent_name} in turn {turn}"


class Reasoner:
    """A component's way to a model. It logs every chain of reasoning, and every exchange, at DEBUG.

    Args:
        client: the client that answers. An `LLMClient` also gives the facts of each call, which the chains record.
        clock: turns a turn's number into the timestamp of a chain.
    """

    def __init__(self, client: DecisionClient, component: Component, clock: SimulatedClock = DEFAULT_CLOCK) -> None:
        self._client = client
        self._component: Component = component
        self._clock = clock

    async def ask(
        self, prompt: str, response_model: type[D], *, agent_name: str, turn: int
    ) -> tuple[D, LLMReasoningChain]:
        """Return the decision, and its chain of reasoning.

        Args:
            turn: the turn's number; the same prompt in another turn is another draw.

        Raises:
            LLMFailureException: no usable answer; it names the component that asked, even if several share the client.
        """
        calls: list[Call[D]] = []
        facts: dict[str, Any] = {}
        if isinstance(self._client, LLMClient):
            asker = asked_by(self._component, agent_name, turn)
            facts = {"sample": turn, "asked_by": asker, "agent_name": agent_name, "record": calls.append}
        try:
            found = await self._client.call_with_retry(prompt=prompt, response_model=response_model, **facts)
        except LLMFailureException as error:
            if not facts:  # an `LLMClient` has logged it, with what it knows of the server
                told = (self._component, quoted(agent_name), error.reason, error.attempts, error.detail)
                _log.error("LLM_FAILURE component=%s agent=%s reason=%s attempts=%d error=%s", *told)
            if error.component == self._component:
                raise
            raise LLMFailureException(
                error.reason, error.attempts, self._component, error.status_code, error.detail, error.latency_s
            ) from error
        call = calls[0] if calls else Call(found, msgspec.json.encode(found).decode())
        chain = LLMReasoningChain(
            component=self._component,
            agent_name=agent_name,
            prompt=prompt,
            response=call.response,
            reasoning=found.reasoning,
            timestamp=self._clock.at(turn),
            duration_ms=call.duration_ms,
            model=call.model,
            retry_count=call.retry_count,
            confidence=found.confidence,
        )
        _log.debug("%s", chain)
        if _log.isEnabledFor(logging.DEBUG):  # prompts are long
            texts = f"prompt={quoted(chain.prompt)} response={quoted(chain.response)}"
            _log.debug("llm_exchange chain=%s %s", chain.chain_id, texts)
        return found, chain

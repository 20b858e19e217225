"""A client that asks for an instance of a response model, and a component's question to it, whose reasoning is kept.

In a run the client asks once. The oracle actor asks again: it knows outages, deadlines and caps, and counts each call.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeVar

import anyio
import msgspec

from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.config.model import LLMConfig
from prism.llm.answer import read_answer
from prism.llm.failure import FINAL, LLMFailureException
from prism.llm.port import SEEDS, ChatRequest, Completion, LanguageModel, Message
from prism.llm.spending import count_call, counting_failures
from prism.models import Component, LLMReasoningChain, PolicyDecision, StateUpdateDecision, ValidationResult
from prism.quoting import quoted
from prism.rng import WORLD, Draw, uniform
from prism.statechart.oracle import ATTEMPT

T = TypeVar("T", bound=msgspec.Struct)
D = TypeVar("D", PolicyDecision, ValidationResult, StateUpdateDecision)
_log = logging.getLogger(__name__)

ATTEMPTS: Final = 2
BACKOFF_MIN_S: Final = 1.0
BACKOFF_MAX_S: Final = 5.0


def backoff_s(seed: int, sample: int) -> float:
    """Return the wait before a second attempt: 1 to 5 s, so that clients that failed together do not retry together."""
    return BACKOFF_MIN_S + (BACKOFF_MAX_S - BACKOFF_MIN_S) * uniform(seed, WORLD, sample, Draw.BACKOFF)


class LLMClient:
    """A client whose answers are msgspec Structs.

    Args:
        model: the model, or settings, from which an Ollama client is made.
        component: the component that asks, for logs and errors: agent, engine, validator.
        seed: of the sampling; settings have their own.
        max_tokens: the longest answer: reasoning takes more than a decision.
        sleep: waits; tests pass a function that does not.
        retries: False where the asker makes a failed call again itself, as a run does.
    """

    def __init__(  # all but the first by name, and each with a default
        self,
        model: LanguageModel | LLMConfig,
        *,
        component: str = "agent",
        seed: int = 0,
        max_tokens: int = 1024,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        retries: bool = True,
    ) -> None:
        if isinstance(model, LLMConfig):
            from prism.llm.ollama import OllamaChatClient  # noqa: PLC0415 - 0.2 s to import, and few runs need it

            seed, model = model.seed, OllamaChatClient(model)
        self._model, self._seed = model, seed
        self._component = component
        self._max_tokens = max_tokens
        self._sleep = sleep
        self._attempts = ATTEMPTS if retries else 1

    async def call_with_retry(
        self,
        prompt: str,
        response_model: type[T],
        *,
        sample: int = 0,
        asked_by: str = "",
        agent_name: str = "",
        record: Callable[[Completion, int], None] = lambda *_: None,
    ) -> T:
        """Return the model's answer as an instance of `response_model`.

        Args:
            response_model: a msgspec Struct; its JSON schema goes with the prompt.
            sample: distinguishes draws for the same prompt, such as the tick; from 0 to 2**61.
            agent_name: the agent whose action it is about, for the line about a failure.
            record: gets the answer as it came, and the number of attempts before it: 0 or 1.

        Raises:
            LLMFailureException: no usable answer, after a second attempt where one could help.
            OracleUnavailableError: a tape is replayed that has no answer to this.
        """
        schema, attempt = schema_of(response_model), 0
        while True:
            # A second attempt is another sample: the same one would give the same answer again, live or from a tape.
            number = ATTEMPTS * sample + attempt
            request = ChatRequest(
                messages=(Message(role="user", content=prompt),),
                schema=schema,
                seed=(self._seed + number) % SEEDS,
                sample=number,
                max_tokens=self._max_tokens,
                asked_by=asked_by,
                attempt=ATTEMPT.get(),
            )
            attempt += 1
            try:
                said, value = await self._attempt(request, response_model)
                record(said, attempt - 1)
                return value
            except LLMFailureException as error:
                if attempt == self._attempts or (error.reason in FINAL and not error.is_answer):
                    failure = error.by(self._component, attempt)
                    whose = f" agent={quoted(agent_name)}" if agent_name else ""
                    _log.log(
                        logging.ERROR if self._attempts == ATTEMPTS else logging.WARNING,  # the asker may ask again
                        "LLM_FAILURE component=%s%s reason=%s attempts=%d status_code=%s model=%s error=%s",
                        *(self._component, whose, failure.reason, attempt),
                        *(failure.status_code, self._model.name, failure.detail),
                    )
                    raise failure from error
                wait_s = backoff_s(self._seed, sample)
                told = (self._component, error.reason, attempt, wait_s, error.detail)
                _log.warning("llm_retry component=%s reason=%s attempt=%d wait_s=%.1f error=%s", *told)
                await self._sleep(wait_s)

    async def _attempt(self, request: ChatRequest, response_model: type[T]) -> tuple[Completion, T]:
        """Return one answer, of the text or the last JSON object in it that fits. It is counted, also if it fails."""
        with counting_failures():
            said = await self._model.complete(request)
        unreadable = msgspec.DecodeError, RecursionError
        try:
            value = read_answer(said.text, lambda text: msgspec.json.decode(text, type=response_model), unreadable)
        except unreadable as error:
            count_call("invalid_response", said.latency_s, said.usage)  # it has cost its tokens, too
            detail = f"{error}: {said.text[:120]!r}"
            raise LLMFailureException(
                "invalid_response", component=self._component, detail=detail, latency_s=said.latency_s
            ) from error
        count_call("ok", said.latency_s, said.usage)
        return said, value

    async def aclose(self) -> None:
        await self._model.aclose()


class DecisionClient(Protocol):
    """A client that answers a prompt with an instance of a response model, or raises an LLMFailureException."""

    async def call_with_retry(self, prompt: str, response_model: type[T]) -> T:
        """Return the answer."""


def asked_by(component: Component, agent_name: str, turn: int) -> str:
    """Return the asker's name, for messages and for a tape: it differs for every question of a run."""
    return f"{component} for {agent_name} in turn {turn}"


class Reasoner:
    """A component's way to a model. It logs every chain of reasoning, and every exchange, at DEBUG.

    The clock turns a turn's number into the timestamp of a chain.
    """

    def __init__(self, client: DecisionClient, component: Component, clock: SimulatedClock = DEFAULT_CLOCK) -> None:
        self._client = client
        self._component: Component = component
        self._clock = clock

    async def ask(
        self, prompt: str, response_model: type[D], *, agent_name: str, turn: int
    ) -> tuple[D, LLMReasoningChain]:
        """Return the decision, and its chain of reasoning. The same prompt in another turn is another draw.

        Raises:
            LLMFailureException: no usable answer; it names the component that asked, even if several share the client.
        """
        component, facts, calls = self._component, dict[str, Any](), list[tuple[Completion, int]]()
        if isinstance(self._client, LLMClient):
            facts = {"sample": turn, "asked_by": asked_by(component, agent_name, turn), "agent_name": agent_name}
            facts["record"] = lambda *each: calls.append(each)
        try:
            found = await self._client.call_with_retry(prompt=prompt, response_model=response_model, **facts)
        except LLMFailureException as error:
            if not facts:  # an `LLMClient` has logged it, with what it knows of the server
                told = (component, quoted(agent_name), error.reason, error.attempts, error.detail)
                _log.error("LLM_FAILURE component=%s agent=%s reason=%s attempts=%d error=%s", *told)
            if error.component == component:
                raise
            raise error.by(component, error.attempts) from error
        none: dict[str, Any] = {"model": "", "prompt_tokens": 0, "completion_tokens": 0, "latency_s": 0.0}
        said, retry_count = calls[0] if calls else (Completion(text=msgspec.json.encode(found).decode(), **none), 0)
        chain = LLMReasoningChain(
            component=component,
            agent_name=agent_name,
            prompt=prompt,
            response=said.text,
            reasoning=found.reasoning,
            timestamp=self._clock.at(turn),
            duration_ms=round(said.latency_s * 1000),
            model=said.model,
            retry_count=retry_count,
            confidence=found.confidence,
        )
        _log.debug("%s", chain)
        if _log.isEnabledFor(logging.DEBUG):  # prompts are long
            texts = f"prompt={quoted(chain.prompt)} response={quoted(chain.response)}"
            _log.debug("llm_exchange chain=%s %s", chain.chain_id, texts)
        return found, chain


def schema_of(model: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the model's JSON schema without `$ref`, which several servers do not follow.

    Objects with named properties allow no others: servers that enforce schemas strictly require that.

    Raises:
        TypeError: the model contains itself, so it has no finite schema.
    """
    schema = msgspec.json.schema(model)
    found: dict[str, Any] = _resolved(schema, schema.get("$defs", {}), ())
    return found


def _resolved(node: Any, definitions: dict[str, Any], above: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_resolved(inner, definitions, above) for inner in node]
    if not isinstance(node, dict):
        return node
    found = {key: _resolved(inner, definitions, above) for key, inner in node.items() if key != "$defs"}
    if isinstance(found.get("$ref"), str):  # a field may be called "$ref", and then it has a schema
        name = found.pop("$ref").removeprefix("#/$defs/")
        if name in above:
            raise TypeError(f"a response model must not contain itself, as {name} does")
        found = {**_resolved(definitions[name], definitions, (*above, name)), **found}
    if found.get("type") == "object" and "properties" in found:
        found["additionalProperties"] = False
    return found

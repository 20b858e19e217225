"""A client that asks for an instance of a response model, and asks a second time if the first answer fails.

In a run the client asks once. The oracle actor asks again: it knows outages, deadlines and caps, and counts each call.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, TypeVar

import anyio
import msgspec

from prism.config.model import LLMConfig
from prism.llm.answer import read_answer
from prism.llm.failure import FINAL, LLMFailureException
from prism.llm.port import SEEDS, ChatRequest, Completion, LanguageModel, Message
from prism.llm.spending import count_call, counting_failures
from prism.quoting import quoted
from prism.rng import WORLD, Draw, uniform
from prism.statechart.oracle import ATTEMPT

T = TypeVar("T", bound=msgspec.Struct)
_log = logging.getLogger(__name__)

ATTEMPTS: Final = 2
BACKOFF_MIN_S: Final = 1.0
BACKOFF_MAX_S: Final = 5.0


class Call(msgspec.Struct, Generic[T], frozen=True):
    """One answered call, with the facts that a record of its reasoning needs.

    Args:
        response: the model's text, unchanged.
        retry_count: 0 or 1.
        duration_ms: the time that the answer took, without waits and failed attempts.
    """

    value: T
    response: str
    retry_count: int = 0
    duration_ms: int = 0
    model: str = ""


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
        jitter: the wait before a second attempt, from the seed and the sample number.
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
        jitter: Callable[[int, int], float] = backoff_s,
        retries: bool = True,
    ) -> None:
        if isinstance(model, LLMConfig):
            from prism.llm.ollama import OllamaChatClient  # noqa: PLC0415 - 0.2 s to import, and few runs need it

            seed, model = model.seed, OllamaChatClient(model)
        self._model, self._seed = model, seed
        self._component = component
        self._max_tokens = max_tokens
        self._sleep, self._jitter = sleep, jitter
        self._attempts = ATTEMPTS if retries else 1

    async def call_with_retry(
        self,
        prompt: str,
        response_model: type[T],
        *,
        sample: int = 0,
        asked_by: str = "",
        agent_name: str = "",
        record: Callable[[Call[T]], None] = lambda _: None,
    ) -> T:
        """Return the model's answer as an instance of `response_model`.

        Args:
            response_model: a msgspec Struct; its JSON schema goes with the prompt.
            sample: distinguishes draws for the same prompt, such as the tick; from 0 to 2**61.
            asked_by: the asker's name, for messages.
            agent_name: the agent whose action it is about, for the line about a failure.
            record: gets the answer with the facts of the call.

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
                break
            except LLMFailureException as error:
                if attempt == self._attempts or (error.reason in FINAL and not error.is_answer):
                    failure = LLMFailureException(
                        error.reason, attempt, self._component, error.status_code, error.detail, error.latency_s
                    )
                    whose = f" agent={quoted(agent_name)}" if agent_name else ""
                    _log.log(
                        logging.ERROR if self._attempts == ATTEMPTS else logging.WARNING,  # the asker may ask again
                        "LLM_FAILURE component=%s%s reason=%s attempts=%d status_code=%s model=%s error=%s",
                        *(self._component, whose, failure.reason, attempt),
                        *(failure.status_code, self._model.name, failure.detail),
                    )
                    raise failure from error
                wait_s = self._jitter(self._seed, sample)
                told = (self._component, error.reason, attempt, wait_s, error.detail)
                _log.warning("llm_retry component=%s reason=%s attempt=%d wait_s=%.1f error=%s", *told)
                await self._sleep(wait_s)
        duration_ms = round(said.latency_s * 1000)
        record(Call(value, said.text, retry_count=attempt - 1, duration_ms=duration_ms, model=said.model))
        return value

    async def _attempt(self, request: ChatRequest, response_model: type[T]) -> tuple[Completion, T]:
        """Return one answer, as text and as an instance: the text, or the last JSON object in it that fits.

        The attempt is counted, also if it fails. An answer that cannot be read has cost its tokens too.
        """
        with counting_failures():
            said = await self._model.complete(request)
        unreadable = msgspec.DecodeError, RecursionError
        try:
            value = read_answer(said.text, lambda text: msgspec.json.decode(text, type=response_model), unreadable)
        except unreadable as error:
            count_call("invalid_response", said.latency_s, said.usage)
            detail = f"{error}: {said.text[:120]!r}"
            raise LLMFailureException(
                "invalid_response", component=self._component, detail=detail, latency_s=said.latency_s
            ) from error
        count_call("ok", said.latency_s, said.usage)
        return said, value

    async def aclose(self) -> None:
        """Close the model's connections."""
        await self._model.aclose()


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

"""A model on an Ollama server, through the `ollama` package.

This module adds what the package lacks: a timeout, error bodies of every form, a check that the answer was finished,
and no proxy from the environment.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import ollama

from prism.config.model import LLMConfig
from prism.errors import OracleUnavailableError
from prism.llm.body import PLAIN
from prism.llm.context_window import refuse_too_long
from prism.llm.failure import LLMFailureException, Usage
from prism.llm.http import LIMITS, StatusError, bounded_call, checked_host, paid, raise_for_status, read_key
from prism.llm.json_object import extract_object
from prism.llm.port import ChatRequest, ChoiceRequest, Completion, Distribution, Health, Identity, Message
from prism.llm.startup_check import (
    CHOICE_TEST,
    SELF_TEST,
    WARM_UP,
    follows_schema,
    full_name,
    key_error,
    models_text,
    retry_until_usable,
)

COMPONENT = "ollama"
_LEAST_OPTIONS, _MOST_OPTIONS = 2, 26
_QUESTION = "next"


class OllamaChatClient:
    """A language model behind Ollama's `/api/chat`, and `/v1/systemone` where the server has it.

    Args:
        config: host, model and sampling.
        environment: the variables with the key. Ollama itself needs none; a proxy before it may.

    Raises:
        OracleUnavailableError: the host is not an address, or the key cannot be sent.
    """

    def __init__(self, config: LLMConfig, environment: Mapping[str, str] | None = None) -> None:
        self._config = config
        self._host = checked_host(config.host)
        self._key = read_key(os.environ if environment is None else environment, config.api_key_env)
        self._offers_choice = config.systemone == "auto"
        self._options: dict[str, Any] = {"temperature": config.temperature, "num_ctx": config.num_ctx}
        self._client = ollama.AsyncClient(
            config.host,
            timeout=config.timeout_s,
            headers={**PLAIN, **({"Authorization": f"Bearer {self._key}"} if self._key else {})},
            follow_redirects=False,
            trust_env=False,
            limits=LIMITS,
            event_hooks={"response": [raise_for_status]},
        )

    @property
    def name(self) -> str:
        """A name for users."""
        return f"ollama {self._config.model}"

    @property
    def identity(self) -> Identity:
        """The settings that its answers depend on, besides the request."""
        options = {**self._options, "num_predict": self._config.num_predict}
        return Identity(backend=COMPONENT, model=self._config.model, dialect=COMPONENT, options=options)

    async def chat(self, prompt: str, *, schema: dict[str, Any]) -> str:
        """Return the model's answer to one prompt: JSON, without any text around it."""
        message = Message(role="user", content=prompt)
        completion = await self.complete(ChatRequest(messages=(message,), schema=schema, seed=self._config.seed))
        return extract_object(completion.text) or completion.text

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer to a chat."""
        return await self._complete(request, self._deadline_s(request))

    async def _complete(self, request: ChatRequest, deadline_s: float) -> Completion:
        started_s = perf_counter()
        limit = request.max_tokens or self._config.num_predict
        with bounded_call(COMPONENT, deadline_s, self._key):
            refuse_too_long((message.content for message in request.messages), limit, self._config.num_ctx)
            response = await self._client.chat(
                self._config.model,
                [{"role": message.role, "content": message.content} for message in request.messages],
                format=request.schema,
                options={**self._options, "num_predict": limit, "seed": request.sampling_seed},
                keep_alive=self._config.keep_alive,
                think=False,
                stream=False,
            )
            usage = Usage(response.prompt_eval_count or 0, response.eval_count or 0)
            with paid(usage):
                text = _finished_text(response, limit, cut_is_error=request.schema is not None)
            return Completion(
                text=text,
                model=response.model or self._config.model,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                latency_s=perf_counter() - started_s,
            )

    async def choose(self, request: ChoiceRequest) -> Distribution | None:
        """Return a weight for each option, or None where the server or this question does not allow it."""
        if not self._offers_choice or not _LEAST_OPTIONS <= len(request.options) <= _MOST_OPTIONS:
            return None
        started_s = perf_counter()
        question = {"type": "choice", "instructions": request.instructions, "criteria": request.options}
        with bounded_call(COMPONENT, self._deadline_s(request), self._key):
            try:
                response = await self._client.systemone(
                    self._config.model, request.state, {_QUESTION: question}, self._config.keep_alive
                )
            except StatusError as error:
                if _means_too_long(error):
                    return None
                if _means_not_offered(error):
                    self._offers_choice = False
                    return None
                raise
            return Distribution(
                probabilities=_probabilities(response, request.options),
                model=response.model,
                prompt_tokens=response.usage.input_tokens,
                completion_tokens=response.usage.output_tokens,
                latency_s=perf_counter() - started_s,
            )

    def _deadline_s(self, request: ChatRequest | ChoiceRequest) -> float:
        return min(self._config.timeout_s, request.deadline_s or math.inf)

    async def check(self) -> Health:
        """Return the server's health; check that it runs, has the model, can load it and follows a schema.

        It also finds out whether the server gives probabilities.
        """
        version = await self._version()
        await self._require_model()
        try:
            # The first answer may have to wait for the model to load; the second one shows the normal latency.
            await retry_until_usable(lambda: self._complete(SELF_TEST, self._config.timeout_s * WARM_UP))
            completion = await retry_until_usable(
                lambda: self.complete(SELF_TEST), lambda said: follows_schema(said.text)
            )
            if self._offers_choice:
                await retry_until_usable(lambda: self.choose(CHOICE_TEST))
        except LLMFailureException as error:
            raise self._unusable(error) from error
        note = "decides by probabilities (systemone)" if self._offers_choice else "decides by chat"
        return Health(
            backend=COMPONENT,
            version=version,
            model=completion.model,
            latency_s=completion.latency_s,
            dialect=COMPONENT,
            note=note,
        )

    async def _version(self) -> str:
        """Return the server's version. The package has no call for it, so its own HTTP client makes one."""
        try:
            with bounded_call(COMPONENT, self._config.timeout_s, self._key):
                response = await self._client._client.get("/api/version")  # noqa: SLF001
                return str(response.json()["version"])
        except KeyError:
            raise self._not_ollama("it names no version") from None
        except LLMFailureException as error:
            if error.status_code in (401, 403):
                raise key_error(self._host, self._config.api_key_env, given=self._key is not None) from error
            if error.reason in ("connection_error", "timeout"):
                message = (
                    f"no Ollama server answers at {self._host}; "
                    "start it with `ollama serve`, or set llm.host to where it runs"
                )
                raise OracleUnavailableError(message) from error
            raise self._not_ollama(error.detail) from error

    async def _require_model(self) -> None:
        try:
            with bounded_call(COMPONENT, self._config.timeout_s, self._key):
                models = (await self._client.list()).models
        except LLMFailureException as error:
            raise self._not_ollama(error.detail) from error
        names = [model.model for model in models if model.model]
        wanted = self._config.model
        if full_name(wanted) not in map(full_name, names):
            message = (
                f"the Ollama server at {self._host} has no model {wanted!r}: {models_text(names)}; "
                f"get it with `ollama pull {wanted}`, or set llm.model"
            )
            raise OracleUnavailableError(message)

    def _not_ollama(self, detail: str) -> OracleUnavailableError:
        return OracleUnavailableError(f"what answers at {self._host} is no Ollama server: {detail}")

    def _unusable(self, error: LLMFailureException) -> OracleUnavailableError:
        where = f"the Ollama server at {self._host}"
        if error.status_code is None and error.reason == "invalid_response":
            return OracleUnavailableError(
                f"{where} does not keep {self._config.model} to a JSON schema: {error.detail}"
            )
        return OracleUnavailableError(f"{where} cannot run {self._config.model}: {error.reason}: {error.detail}")

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.close()  # type: ignore[no-untyped-call]


def _finished_text(response: ollama.ChatResponse, limit: int, *, cut_is_error: bool) -> str:
    """Return the text of an answer that is complete. Raises: ValueError."""
    if not response.done:
        message = "the server stopped before the end of the answer (done: false)"
        raise ValueError(message)
    if response.done_reason == "length" and cut_is_error:
        message = f"the answer was cut at {limit} tokens; raise llm.num_predict"
        raise ValueError(message)
    if not response.message.content:
        message = "the answer is empty"
        raise ValueError(message)
    return response.message.content


def _probabilities(response: ollama.SystemOneResponse, options: Mapping[str, str | None]) -> dict[str, float]:
    """Return the weight of each option, in the order of the options. Raises: ValueError."""
    answer = response.answers.get(_QUESTION)
    if not isinstance(answer, ollama.SystemOneChoiceAnswer):
        message = "the answer makes no choice"
        raise ValueError(message)
    found = answer.probabilities
    if not found.keys() <= options.keys():
        message = f"the answer names no such options: {', '.join(sorted(found.keys() - options.keys()))}"
        raise ValueError(message)
    weights = {option: found.get(option, 0.0) for option in options}
    if not (all(0.0 <= weight < math.inf for weight in weights.values()) and sum(weights.values()) > 0.0):
        message = f"the answer has no usable probabilities: {found}"
        raise ValueError(message)
    return weights


def _means_not_offered(error: StatusError) -> bool:
    """Return whether the server has no systemone (a 404 in plain text), or the model is no decision model (400)."""
    if error.status == 404:
        return not error.body.lstrip().startswith("{")
    return error.status == 400 and "does not support decision" in error.body


def _means_too_long(error: StatusError) -> bool:
    """Return whether this one question is too large for systemone."""
    return error.status == 413

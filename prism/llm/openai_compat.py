"""A model on any server with OpenAI's `/v1/chat/completions`: vLLM, llama.cpp, LM Studio, hosted ones."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Literal, get_args

import httpx
import msgspec

from prism.config.model import LLMConfig
from prism.errors import OracleUnavailableError
from prism.llm.body import PLAIN
from prism.llm.failure import LLMFailureException, Usage
from prism.llm.http import LIMITS, bounded_call, checked_host, paid, raise_for_status, read_key
from prism.llm.json_object import extract_object
from prism.llm.port import ChatRequest, ChoiceRequest, Completion, Distribution, Health, Identity, Message
from prism.llm.startup_check import (
    SELF_TEST,
    WARM_UP,
    follows_schema,
    full_name,
    key_error,
    models_text,
    retry_until_usable,
)

COMPONENT = "openai"
Dialect = Literal["json_schema", "json_object", "none"]


class _ReplyMessage(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _ReplyMessage
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _PromptDetails | None = None

    @property
    def cached_tokens(self) -> int:
        """Tokens of the prompt that were in the server's cache, which are cheaper."""
        details = self.prompt_tokens_details
        return 0 if details is None else min(details.cached_tokens or 0, self.prompt_tokens)


class _Reply(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


class OpenAICompatClient:
    """A language model behind `/v1/chat/completions`.

    Servers need the schema in different forms, called dialects. `check` finds the one that works: `response_format` of
    type json_schema; or of type json_object, with the schema in the prompt; or none, with the schema in the prompt and
    JSON searched for in the text.

    Args:
        config: the base address (with or without `/v1`), model and sampling; num_ctx and keep_alive are not sent.
        environment: the variables with the key.

    Raises:
        OracleUnavailableError: the host is not an address, or the key cannot be sent.
    """

    def __init__(self, config: LLMConfig, environment: Mapping[str, str] | None = None) -> None:
        self._config = config
        self._host = checked_host(config.host).removesuffix("/v1")
        self._key = read_key(os.environ if environment is None else environment, config.api_key_env)
        self._dialect: Dialect = "json_schema"
        self._client = httpx.AsyncClient(
            base_url=self._host,
            timeout=config.timeout_s,
            headers={**PLAIN, **({"Authorization": f"Bearer {self._key}"} if self._key else {})},
            trust_env=False,
            limits=LIMITS,
            event_hooks={"response": [raise_for_status]},
        )

    @property
    def name(self) -> str:
        """A name for users."""
        return f"openai {self._config.model}"

    @property
    def identity(self) -> Identity:
        """The settings that its answers depend on, besides the request."""
        options = {"temperature": self._config.temperature, "num_predict": float(self._config.num_predict)}
        return Identity(backend=COMPONENT, model=self._config.model, dialect=self._dialect, options=options)

    async def chat(self, prompt: str, *, schema: dict[str, Any]) -> str:
        """Return the model's answer to one prompt: JSON, without any text around it."""
        message = Message(role="user", content=prompt)
        completion = await self.complete(ChatRequest(messages=(message,), schema=schema, seed=self._config.seed))
        return extract_object(completion.text) or completion.text

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer to a chat."""
        deadline_s = min(self._config.timeout_s, request.deadline_s or math.inf)
        return await self._complete(request, self._dialect, deadline_s)

    async def choose(self, request: ChoiceRequest) -> Distribution | None:  # noqa: ARG002 - the port's signature
        """Return None: these servers do not offer it."""
        return None

    async def _complete(self, request: ChatRequest, dialect: Dialect, deadline_s: float) -> Completion:
        started_s = perf_counter()
        body = self._body(request, dialect)
        with bounded_call(COMPONENT, deadline_s, self._key):
            response = await self._client.post("/v1/chat/completions", json=body)
            reply = msgspec.json.decode(response.content, type=_Reply)
            counted = reply.usage or _Usage()
            usage = Usage(counted.prompt_tokens, counted.completion_tokens, counted.cached_tokens)
            with paid(usage):
                text = _finished_text(reply, body["max_tokens"], cut_is_error=request.schema is not None)
            return Completion(
                text=text,
                model=reply.model or self._config.model,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                latency_s=perf_counter() - started_s,
                cached_tokens=usage.cached_tokens,
            )

    def _body(self, request: ChatRequest, dialect: Dialect) -> dict[str, Any]:
        messages, form = request.messages, {}
        if request.schema is not None and dialect == "json_schema":
            holder = {"name": "answer", "strict": True, "schema": request.schema}
            form = {"response_format": {"type": "json_schema", "json_schema": holder}}
        elif request.schema is not None:
            messages = _with_schema(messages, request.schema)
            form = {"response_format": {"type": "json_object"}} if dialect == "json_object" else {}
        return {
            "model": self._config.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "temperature": self._config.temperature,
            "seed": request.sampling_seed,
            "max_tokens": request.max_tokens or self._config.num_predict,
            "stream": False,
            **form,
        }

    async def check(self) -> Health:
        """Return the server's health and dialect; check that it runs, has the model and takes the key."""
        names = await self._models()
        refusal = LLMFailureException("client_error")
        for dialect in get_args(Dialect):
            try:
                completion = await self._try(dialect)
            except LLMFailureException as error:
                if error.status_code in (401, 403):
                    raise self._key_error() from error
                refusal = error
                if not _may_mean_unsupported(error):
                    break
                continue
            self._dialect = dialect
            return Health(
                backend=COMPONENT,
                version="",
                model=completion.model,
                latency_s=completion.latency_s,
                dialect=dialect,
                note=_NOTES[dialect],
            )
        raise self._unusable(refusal, names) from refusal

    async def _try(self, dialect: Dialect) -> Completion:
        """Return an answer within the schema in this dialect; the first may have to wait for the model to load."""

        def usable(completion: Completion) -> bool:
            text = completion.text
            return follows_schema((extract_object(text) or "") if dialect == "none" else text)

        await retry_until_usable(lambda: self._complete(SELF_TEST, dialect, self._config.timeout_s * WARM_UP), usable)
        return await retry_until_usable(lambda: self._complete(SELF_TEST, dialect, self._config.timeout_s), usable)

    async def _models(self) -> list[str] | None:
        """Return the models that the server lists; None where it has no list, as some servers."""
        try:
            with bounded_call(COMPONENT, self._config.timeout_s, self._key):
                response = await self._client.get("/v1/models")
                return [model.id for model in msgspec.json.decode(response.content, type=_Models).data]
        except LLMFailureException as error:
            if error.status_code in (401, 403):
                raise self._key_error() from error
            if error.reason in ("connection_error", "timeout"):
                message = f"no server answers at {self._host}; start it, or set llm.host to where it runs"
                raise OracleUnavailableError(message) from error
            return None

    def _key_error(self) -> OracleUnavailableError:
        return key_error(self._host, self._config.api_key_env, given=self._key is not None)

    def _unusable(self, error: LLMFailureException, names: list[str] | None) -> OracleUnavailableError:
        # The name is checked only after a failure: a server with a single model accepts any name.
        wanted = self._config.model
        unknown = names is not None and full_name(wanted) not in map(full_name, names)
        if error.reason == "client_error" and (unknown or error.status_code == 404):
            having = models_text(names) if names else "it does not say which it has"
            return OracleUnavailableError(
                f"the server at {self._host} has no model {wanted!r}: {having}; set llm.model"
            )
        if error.status_code is None and error.reason == "invalid_response":
            return OracleUnavailableError(f"the server at {self._host} does not answer in JSON: {error.detail}")
        return OracleUnavailableError(f"the server at {self._host} cannot run {wanted}: {error.reason}: {error.detail}")

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()


_NOTES: dict[Dialect, str] = {
    "json_schema": "answers are kept to the schema",
    "json_object": "answers are kept to JSON; the schema stands in the prompt",
    "none": "answers are kept to nothing; the schema stands in the prompt and JSON is looked for in the text",
}


def _may_mean_unsupported(error: LLMFailureException) -> bool:
    """Return whether another dialect may work. A server that is down or busy must not change the dialect."""
    return error.reason in ("client_error", "invalid_response") or error.status_code in (500, 501)


def _with_schema(messages: tuple[Message, ...], schema: dict[str, Any]) -> tuple[Message, ...]:
    """Return the chat with the schema in its one system message, at the front, where prefix caches keep it."""
    rule = f"Answer with one JSON object that follows this JSON schema, and with nothing else:\n{json.dumps(schema)}"
    first, *rest = messages
    if first.role == "system":
        return (Message(role="system", content=f"{first.content}\n\n{rule}"), *rest)
    return (Message(role="system", content=rule), *messages)


def _finished_text(reply: _Reply, limit: int, *, cut_is_error: bool) -> str:
    """Return the text of an answer that is complete. Raises: ValueError."""
    if not reply.choices or reply.choices[0].finish_reason is None:
        message = "the server stopped before the end of the answer (no finish_reason)"
        raise ValueError(message)
    if reply.choices[0].finish_reason == "length" and cut_is_error:
        message = f"the answer was cut at {limit} tokens; raise llm.num_predict"
        raise ValueError(message)
    if not reply.choices[0].message.content:
        message = "the answer is empty"
        raise ValueError(message)
    return reply.choices[0].message.content

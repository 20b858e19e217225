"""A model on an Ollama server, through the `ollama` package.

This module adds what the package lacks: a timeout, error bodies of every form, a check that the answer was finished,
and no proxy from the environment.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Any, ClassVar

import ollama
from msgspec.structs import replace

from prism.config.model import LLMConfig
from prism.errors import OracleUnavailableError
from prism.llm.body import PLAIN
from prism.llm.capabilities import Capabilities, Reply, Schema, added, messages_of
from prism.llm.context_window import refuse_too_long
from prism.llm.failure import FINAL, LLMFailureException
from prism.llm.http import HOOKS, LIMITS, StatusError, bounded_call
from prism.llm.letters import LISTED, OLLAMA_FORMS, Fields, LetterChooser, Lettered, read_chat_tokens, settle_method
from prism.llm.model_client import ModelClient
from prism.llm.negotiation import OLLAMA, Negotiation
from prism.llm.port import ChatRequest, ChoiceRequest, Distribution, Health, Undecided
from prism.llm.prompt_log import log_prompt
from prism.llm.refusals import is_of_key
from prism.llm.replies import read_chat
from prism.llm.startup_check import (
    CHOICE_TEST,
    SELF_TEST,
    WARM_UP,
    full_name,
    key_error,
    models_text,
    no_chat_error,
    retry_until_usable,
    tried_text,
)
from prism.llm.tls import tls_problem, verification
from prism.wording import clauses

COMPONENT = "ollama"
_LEAST_OPTIONS, _MOST_OPTIONS = 2, 26
_QUESTION = "next"


class OllamaChatClient(ModelClient):
    """A language model behind Ollama's `/api/chat`, and `/v1/systemone` where the server has it.

    Args:
        config: host, model and sampling.
        environment: the variables with the secrets. Ollama itself needs none; a proxy before it may.

    Raises:
        OracleUnavailableError: the host is not an address, a secret cannot be sent, or a file has no certificates.
    """

    component = COMPONENT
    dialects: ClassVar[Mapping[Schema, str]] = MappingProxyType({"format": COMPONENT, "prompt": "none"})

    def __init__(self, config: LLMConfig, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(config, environment)
        self._host = self._address.host
        self._first = OLLAMA.first if config.request.path is None else replace(OLLAMA.first, path=config.request.path)
        self._way = self._first
        self._offers_choice = config.systemone == "auto" and config.method != "json"
        self._letters = LetterChooser(self._ask_letters, OLLAMA_FORMS, temperature=config.temperature, seed=config.seed)
        self._options: dict[str, Any] = {"temperature": config.temperature, "num_ctx": config.num_ctx}
        self._client = ollama.AsyncClient(
            config.host,
            timeout=config.timeout_s,
            headers={**PLAIN, **self._address.headers},
            params=self._address.query,
            follow_redirects=False,
            verify=verification(self._address.ca_files),
            trust_env=False,
            limits=LIMITS,
            event_hooks=HOOKS,
        )

    def _sampling(self) -> dict[str, float]:
        return {**self._options, "num_predict": self._config.num_predict}

    async def _ask(self, way: Capabilities, body: dict[str, Any]) -> Reply:
        # The package's own `chat` can neither leave a field out nor add one.
        response = await self._client._client.post(way.path, json=body)  # noqa: SLF001
        return read_chat(response.content)

    def _body(self, request: ChatRequest, way: Capabilities, limit: int) -> dict[str, Any]:
        """Return the body of a chat, which has to fit into the model's window."""
        messages = messages_of(request.messages, request.schema, way)
        if "num_ctx" not in way.unsent:
            refuse_too_long((message["content"] for message in messages), limit, self._config.num_ctx)
        options = {**self._options, way.token_field: limit, way.seed: request.sampling_seed}
        body: dict[str, Any] = {
            "model": request.model or self._config.model,
            "messages": messages,
            "options": way.sent(options),
            "keep_alive": self._config.keep_alive,
            "stream": way.stream == "true",
            "tools": [],
        }
        if way.thinking == "off":
            body["think"] = False
        if request.schema is not None and way.schema != "prompt":
            body["format"] = request.schema if way.schema == "format" else "json"
        return added(way.sent(body), self._config.request.extra_body)

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:
        """Return a weight for each option, or None where the server or this question does not allow it."""
        return await self._systemone(request) or await self._letters.choose(request)

    async def _ask_letters(self, request: ChatRequest, fields: Fields) -> Lettered:
        """Return the tokens of the answer to a lettered question, and those that it lists beside them."""
        started_s, limit = perf_counter(), request.limit(self._config.num_predict)
        with bounded_call(COMPONENT, self._config.timeout_s, self._address.secrets):
            body = self._body(request, self._way, limit)
            body["options"] = {**body.get("options", {}), "temperature": 1.0}
            response = await self._client._client.post(  # noqa: SLF001
                self._way.path, json={**body, "logprobs": True, "top_logprobs": LISTED, **fields}
            )
            reply = read_chat(response.content)
            return Lettered(
                tokens=read_chat_tokens(response.content),
                model=reply.model or request.model or self._config.model,
                prompt_tokens=reply.usage.prompt_tokens,
                completion_tokens=reply.usage.completion_tokens,
                latency_s=perf_counter() - started_s,
            )

    async def _systemone(self, request: ChoiceRequest) -> Distribution | None:
        if not self._offers_choice or not _LEAST_OPTIONS <= len(request.options) <= _MOST_OPTIONS:
            return None
        log_prompt(request)
        started_s = perf_counter()
        question = {"type": "choice", "instructions": request.instructions, "criteria": request.options}
        with bounded_call(COMPONENT, self._config.timeout_s, self._address.secrets):
            try:
                response = await self._client.systemone(
                    request.model or self._config.model, request.state, {_QUESTION: question}, self._config.keep_alive
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

    async def check(self) -> Health:
        """Return the server's health; check that it runs, has the model, can load it and follows a schema.

        It also finds out whether the server gives probabilities.
        """
        version, problem = await self._version()
        await self._require_model(problem)
        negotiation = Negotiation(
            OLLAMA,
            self._first,
            lambda way, deadline_s: self._complete(SELF_TEST, way, deadline_s),
            num_predict=self._config.num_predict,
            path_is_set=self._config.request.path is not None,
        )
        timeout_s = self._config.timeout_s
        try:
            completion = await negotiation.agree(timeout_s * WARM_UP, timeout_s)
            self._way = negotiation.way
            note = await self._check_choice()
        except LLMFailureException as error:
            raise await tls_problem(self._host, error) or self._unusable(error, negotiation, problem) from error
        return Health(
            backend=COMPONENT,
            version=version,
            model=completion.model,
            latency_s=completion.latency_s,
            dialect=self.identity.dialect,
            note=note,
            capabilities=self._way.table(),
            changes=self._way.differences(self._first),
            requests=negotiation.requests,
        )

    async def _check_choice(self) -> str:
        """Return the note on whether the server gives probabilities. One that only chats may refuse in any way."""
        if self._offers_choice:
            try:
                await retry_until_usable(lambda: self._systemone(CHOICE_TEST))
            except LLMFailureException as error:
                if error.reason not in {*FINAL, "invalid_response"}:
                    raise
                self._offers_choice = False
        if self._offers_choice:
            return "decides by probabilities (systemone)"
        return await settle_method(self._letters, self._config.method, f"the Ollama server at {self._host}")

    async def _version(self) -> tuple[str, str | None]:
        """Return the server's version, or an empty one with the reason: servers that only resemble Ollama have none.

        The package has no call for it, so its own HTTP client makes one.
        """
        try:
            with bounded_call(COMPONENT, self._config.timeout_s, self._address.secrets):
                response = await self._client._client.get("/api/version")  # noqa: SLF001
                return str(response.json()["version"]), None
        except (KeyError, TypeError):
            return "", "it names no version"
        except LLMFailureException as error:
            await self._raise_unreachable(error)
            return "", error.detail

    async def _raise_unreachable(self, error: LLMFailureException) -> None:
        if error.reason in ("connection_error", "timeout"):
            absent = (
                f"no Ollama server answers at {self._host}; "
                "start it with `ollama serve`, or set llm.host to where it runs"
            )
            raise await tls_problem(self._host, error) or OracleUnavailableError(absent) from error

    async def _require_model(self, problem: str | None) -> None:
        """Check that the server lists the model, if it lists any; one without a version may have no list either."""
        try:
            with bounded_call(COMPONENT, self._config.timeout_s, self._address.secrets):
                models = (await self._client.list()).models
        except LLMFailureException as error:
            await self._raise_unreachable(error)
            return
        names = [model.model for model in models if model.model]
        if full_name(self._config.model) not in map(full_name, names) and not (problem and not names):
            message = (
                f"the Ollama server at {self._host} has no model {self._config.model!r}: {models_text(names)}; "
                f"get it with `ollama pull {self._config.model}`, or set llm.model"
            )
            raise OracleUnavailableError(message)

    def _not_ollama(self, detail: str) -> OracleUnavailableError:
        return OracleUnavailableError(f"what answers at {self._host} is no Ollama server: {detail}")

    def _unusable(
        self, error: LLMFailureException, negotiation: Negotiation, problem: str | None
    ) -> OracleUnavailableError:
        where = f"the Ollama server at {self._host}"
        if is_of_key(error):
            variable, own = self._config.api_key_env, self._config.request.headers
            return key_error(self._host, variable, own, error.detail, given=self._address.has_key)
        is_strange = not negotiation.is_understood and error.reason in {*FINAL, "invalid_response"}
        if problem is not None and is_strange:
            return self._not_ollama(problem)
        if error.status_code in (404, 405) and "model" not in error.detail.lower():
            return no_chat_error(where, self._first.path, error.detail)
        tried = tried_text(negotiation.tried())
        if error.is_answer:
            problem = f"does not keep {self._config.model} to a JSON schema: {error.detail}"
        else:
            problem = f"cannot run {self._config.model}: {error.reason}: {error.told}"
        return OracleUnavailableError(clauses(f"{where} {problem}", tried))

    async def aclose(self) -> None:
        await self._client.close()  # type: ignore[no-untyped-call]


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
    return error.status == 413

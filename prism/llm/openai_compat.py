"""A model on any server with OpenAI's `/v1/chat/completions`: vLLM, llama.cpp, LM Studio, hosted ones."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Any, ClassVar

import httpx
import msgspec
from msgspec.structs import replace

from prism.config.model import LLMConfig
from prism.errors import OracleUnavailableError
from prism.llm.address import models_path, split_openai
from prism.llm.body import PLAIN
from prism.llm.capabilities import THINKING_FIELDS, Capabilities, Reply, Schema, added, messages_of
from prism.llm.failure import FINAL, LLMFailureException
from prism.llm.http import HOOKS, LIMITS, bounded_call
from prism.llm.letters import (
    LISTED,
    OPENAI_FORMS,
    Fields,
    LetterChooser,
    Lettered,
    read_completion_tokens,
    settle_method,
)
from prism.llm.model_client import ModelClient
from prism.llm.negotiation import OPENAI, Negotiation
from prism.llm.port import ChatRequest, ChoiceRequest, Distribution, Health, Undecided
from prism.llm.refusals import is_of_key
from prism.llm.replies import read_completion
from prism.llm.startup_check import SELF_TEST, WARM_UP, full_name, key_error, models_text, no_chat_error, tried_text
from prism.llm.tls import tls_problem, verification
from prism.wording import clauses

COMPONENT = "openai"


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


class OpenAICompatClient(ModelClient):
    """A language model behind `/v1/chat/completions`.

    Servers differ in the fields that they take and in the place of their answers. `check` finds out how this one has to
    be asked; before that it is asked as one that can do everything.

    Args:
        config: the base address (with or without `/v1`), model and sampling; num_ctx and keep_alive are not sent.

    Raises:
        OracleUnavailableError: the host is not an address, a secret cannot be sent, or a file has no certificates.
    """

    component = COMPONENT
    dialects: ClassVar[Mapping[Schema, str]] = MappingProxyType({"prompt": "none"})

    def __init__(self, config: LLMConfig, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(config, environment)
        self._host, path = split_openai(self._address.host)
        path = config.request.path or path
        self._path_is_set = path is not None
        self._way = OPENAI.first if path is None else replace(OPENAI.first, path=path)
        self._first = self._way
        self._letters = LetterChooser(self._ask_letters, OPENAI_FORMS, temperature=config.temperature, seed=config.seed)
        self._client = httpx.AsyncClient(
            base_url=self._host,
            timeout=config.timeout_s,
            headers={**PLAIN, **self._address.headers},
            params=self._address.query,
            verify=verification(self._address.ca_files),
            trust_env=False,
            limits=LIMITS,
            event_hooks=HOOKS,
        )

    def _sampling(self) -> dict[str, float]:
        return {"temperature": self._config.temperature, "num_predict": float(self._config.num_predict)}

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:
        """Return a weight for each option, or None where the server or this question does not allow it."""
        return await self._letters.choose(request)

    async def _ask_letters(self, request: ChatRequest, fields: Fields) -> Lettered:
        """Return the tokens of the answer to a lettered question, and those that it lists beside them."""
        started_s, limit = perf_counter(), request.limit(self._config.num_predict)
        body = {**self._body(request, self._way, limit), "logprobs": True, "top_logprobs": LISTED, **fields}
        if "temperature" in body:
            body["temperature"] = 1.0
        with bounded_call(COMPONENT, self._config.timeout_s, self._address.secrets):
            response = await self._client.post(self._way.path, json=body)
            reply = read_completion(response.content, response.headers)
            return Lettered(
                tokens=read_completion_tokens(response.content),
                model=reply.model or request.model or self._config.model,
                prompt_tokens=reply.usage.prompt_tokens,
                completion_tokens=reply.usage.completion_tokens,
                latency_s=perf_counter() - started_s,
                cached_tokens=reply.usage.cached_tokens,
            )

    async def _ask(self, way: Capabilities, body: dict[str, Any]) -> Reply:
        response = await self._client.post(way.path, json=body)
        return read_completion(response.content, response.headers)

    def _body(self, request: ChatRequest, way: Capabilities, limit: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": request.model or self._config.model,
            "messages": messages_of(request.messages, request.schema, way),
            "temperature": self._config.temperature,
            way.seed: request.sampling_seed,
            way.token_field: limit,
            "stream": way.stream == "true",
            **(_schema_fields(request.schema, way) if request.schema is not None else {}),
            **THINKING_FIELDS.get(way.thinking, {}),
        }
        return added(way.sent(body), self._config.request.extra_body)

    async def check(self) -> Health:
        """Return the server's health; check that it runs, has the model and takes the key, and learn how to ask it."""
        names = await self._models()
        negotiation = Negotiation(
            OPENAI,
            self._first,
            lambda way, deadline_s: self._complete(SELF_TEST, way, deadline_s),
            num_predict=self._config.num_predict,
            path_is_set=self._path_is_set,
        )
        timeout_s = self._config.timeout_s
        try:
            completion = await negotiation.agree(timeout_s * WARM_UP, timeout_s)
            self._way = negotiation.way
            note = await settle_method(self._letters, self._config.method, f"the server at {self._host}")
        except LLMFailureException as error:
            raise await tls_problem(self._host, error) or self._unusable(error, names, negotiation) from error
        return Health(
            backend=COMPONENT,
            version="",
            model=completion.model,
            latency_s=completion.latency_s,
            dialect=self.identity.dialect,
            note=f"{_NOTES[self._way.schema]}; {note}",
            capabilities=self._way.table(),
            changes=self._way.differences(self._first),
            requests=negotiation.requests,
        )

    async def _models(self) -> list[str] | None:
        """Return the models that the server lists; None where it shows no list, as some servers."""
        path = models_path(self._first.path)
        if path is None:
            return None
        try:
            with bounded_call(COMPONENT, self._config.timeout_s, self._address.secrets):
                response = await self._client.get(path)
                return [model.id for model in msgspec.json.decode(response.content, type=_Models).data]
        except LLMFailureException as error:
            if error.reason in ("connection_error", "timeout"):
                absent = f"no server answers at {self._host}; start it, or set llm.host to where it runs"
                raise await tls_problem(self._host, error) or OracleUnavailableError(absent) from error
            return None

    def _unusable(
        self, error: LLMFailureException, names: list[str] | None, negotiation: Negotiation
    ) -> OracleUnavailableError:
        where, wanted = f"the server at {self._host}", self._config.model
        if is_of_key(error):
            variable, own = self._config.api_key_env, self._config.request.headers
            return key_error(self._host, variable, own, error.detail, given=self._address.has_key)
        # The name is checked only after a failure: a server with a single model accepts any name.
        unknown = names is not None and full_name(wanted) not in map(full_name, names)
        is_absent = error.status_code in (404, 405)
        if is_absent and not unknown and "model" not in error.detail.lower():
            return no_chat_error(where, negotiation.paths(), error.detail)
        if error.reason in FINAL and (unknown or is_absent):
            having = models_text(names) if names else "it does not say which it has"
            return OracleUnavailableError(f"{where} has no model {wanted!r}: {having}; set llm.model")
        tried = tried_text(negotiation.tried())
        if error.is_answer:
            return OracleUnavailableError(clauses(f"{where} does not answer in JSON: {error.detail}", tried))
        return OracleUnavailableError(clauses(f"{where} cannot run {wanted}: {error.reason}: {error.told}", tried))

    async def aclose(self) -> None:
        await self._client.aclose()


_NOTES: dict[Schema, str] = {
    "json_schema": "answers are kept to the schema",
    "structured_outputs": "answers are kept to the schema",
    "guided_json": "answers are kept to the schema",
    "json_object": "answers are kept to JSON; the schema stands in the prompt",
    "prompt": "answers are kept to nothing; the schema stands in the prompt and JSON is looked for in the text",
}


def _schema_fields(schema: dict[str, Any], way: Capabilities) -> dict[str, Any]:
    match way.schema:
        case "json_schema":
            strict = {} if "strict" in way.unsent else {"strict": True}
            holder = {"name": "answer", **strict, "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": holder}}
        case "json_object":
            return {"response_format": {"type": "json_object"}}
        case "structured_outputs":
            return {"structured_outputs": {"json": schema}}
        case "guided_json":
            return {"guided_json": schema}
    return {}

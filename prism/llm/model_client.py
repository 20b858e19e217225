"""A client of a model's server: the part that is the same whatever the protocol is.

A server is told the schema of an answer in one of three ways: as a schema; as JSON alone, with the schema in the
prompt; or in the prompt alone. The first of them in which the server answers a test question holds for the whole run.
Whatever else a server wants is a setting, `llm.request.extra_body`, and the line about a failed test says so.
"""

from __future__ import annotations

import json
import os
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, ClassVar

import httpx
from msgspec.structs import replace

from prism.config.model import LLMConfig
from prism.errors import OracleUnavailableError
from prism.llm.address import address_of
from prism.llm.backend import Backend, log_prompt
from prism.llm.failure import FINAL, LLMFailureException
from prism.llm.http import HOOKS, LIMITS, PLAIN, UnusableAnswerError, bounded_call
from prism.llm.json_object import extract_object
from prism.llm.letters import LISTED, METHOD, Fields, Form, LetterChooser, Lettered, read_tokens
from prism.llm.port import ChatRequest, ChoiceRequest, Completion, Distribution, Health, Identity, Message, Undecided
from prism.llm.reply import Reply, text_of
from prism.llm.startup_check import SELF_TEST, follows_schema, retry_until_usable
from prism.llm.tls import tls_problem, verification
from prism.wording import clauses

WARM_UP = 5.0
"""The factor on the timeout of the first call, for which the server loads the model."""

IN_PROMPT = ("json_object", "none")
"""The dialects in which the schema stands in the prompt."""
FREE = "none"
"""The dialect in which nothing holds the model to JSON."""

_RULE = "Answer with one JSON object that follows this JSON schema, and with nothing else:"
_REFUSING = frozenset({400, 404, 405, 415, 422, 500, 501})
"""The statuses by which servers refuse a way of asking; routers say 404 if no provider takes it, and some say 500."""
_NAMES_SHOWN = 20
_KEY_HEADER = re.compile(r"\b(?:x-(?:[a-z]+-)*(?:key|token)|api-?key)\b", re.IGNORECASE)
"""The names of headers in which servers other than OpenAI's take a key."""
_ELSE = "set llm.request.extra_body to what it takes (null leaves a field out), or another llm.model"


class ModelClient(Backend):
    """A client of a model's server. A subclass for each protocol makes the requests and reads the replies.

    Args:
        config: host, model and sampling.
        environment: the variables with the secrets.

    Raises:
        OracleUnavailableError: the host is not an address, a secret cannot be sent, or a file has no certificates.
    """

    kind: ClassVar[str] = "server"
    """The kind of server, in messages."""
    start: ClassVar[str] = "start it"
    """The way to start a server, in messages."""
    dialects: ClassVar[tuple[str, str, str]]
    """The ways to tell the server a schema, in the order in which they are tried."""
    forms: ClassVar[Sequence[Form]]
    """The ways to ask for the probabilities of letters."""

    _path: str
    """The path of the chat."""
    _http: httpx.AsyncClient

    def __init__(self, config: LLMConfig, environment: Mapping[str, str] | None) -> None:
        super().__init__(config, environment)
        self._address = address_of(config, os.environ if environment is None else environment)
        self._host = self._address.host
        self._dialect: str = self.dialects[0]
        self._letters = LetterChooser(self._ask_letters, self.forms, temperature=config.temperature, seed=config.seed)

    @property
    def identity(self) -> Identity:
        method = METHOD if self._letters.is_sound else ""
        return replace(super().identity, dialect=self._dialect, options=self._sampling(), method=method)

    def _options_of_http(self) -> dict[str, Any]:
        """Return the options of the HTTP client."""
        return {
            "timeout": self._config.timeout_s,
            "headers": {**PLAIN, **self._address.headers},
            "params": self._address.query,
            "verify": verification(self._address.host, self._address.ca_files),
            "trust_env": False,
            "limits": LIMITS,
            "event_hooks": HOOKS,
        }

    def _sampling(self) -> dict[str, float]:
        """Return the sampling options that go with every request."""
        return super().identity.options

    @abstractmethod
    def _body(self, request: ChatRequest, dialect: str, limit: int, temperature: float) -> dict[str, Any]:
        """Return the body of a chat.

        Args:
            limit: the most tokens of the answer.
        """

    @abstractmethod
    def _read(self, response: httpx.Response) -> Reply:
        """Return the reply in a response. Raises: ValueError."""

    @abstractmethod
    async def _look_up(self) -> tuple[str, list[str] | None]:
        """Return the server's version, if it has one, and the models that it lists; None if it shows no list.

        Raises:
            OracleUnavailableError: nobody answers, or the model is not there.
        """

    async def chat(self, prompt: str, *, schema: dict[str, Any]) -> str:
        """Return the model's answer to one prompt: JSON, without any text around it."""
        message = Message(role="user", content=prompt)
        completion = await self.complete(ChatRequest(messages=(message,), schema=schema, seed=self._config.seed))
        return extract_object(completion.text) or completion.text

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer to a chat."""
        log_prompt(request)
        return await self._complete(request, self._dialect, self._config.timeout_s)

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:
        """Return a weight for each option; None if the server cannot give weights, or not for this question."""
        return await self._letters.choose(request)

    async def _complete(self, request: ChatRequest, dialect: str, deadline_s: float) -> Completion:
        limit = request.limit(self._config.num_predict)
        with bounded_call(self.component, deadline_s, self._address.secrets):
            reply, _, facts = await self._post(request, dialect, limit, self._config.temperature, {})
            is_json = request.schema is not None
            return Completion(text=text_of(reply, limit, is_json=is_json, is_free=dialect == FREE), **facts)

    async def _ask_letters(self, request: ChatRequest, fields: Fields) -> Lettered:
        """Return the tokens of the answer to a lettered question, and those that the server lists beside them."""
        log_prompt(request)
        limit = request.limit(self._config.num_predict)
        with bounded_call(self.component, self._config.timeout_s, self._address.secrets):
            fields = {"logprobs": True, "top_logprobs": LISTED, **fields}
            _, content, facts = await self._post(request, self._dialect, limit, 1.0, fields)
            return Lettered(tokens=read_tokens(content), **facts)

    async def _post(
        self, request: ChatRequest, dialect: str, limit: int, temperature: float, fields: Fields
    ) -> tuple[Reply, bytes, dict[str, Any]]:
        """Send a chat; return the reply, its bytes, and what every record of a call has."""
        started_s = perf_counter()
        body = added(self._body(request, dialect, limit, temperature), self._config.request.extra_body)
        response = await self._http.post(self._path, json={**body, **fields})
        reply = self._read(response)
        facts = {
            "model": reply.model or request.model or self._config.model,
            "prompt_tokens": reply.usage.prompt_tokens,
            "completion_tokens": reply.usage.completion_tokens,
            "latency_s": perf_counter() - started_s,
            "cached_tokens": reply.usage.cached_tokens,
        }
        return reply, response.content, facts

    async def _get(self, path: str) -> httpx.Response:
        """Return what the server shows at a path.

        Raises:
            OracleUnavailableError: nobody answers.
            LLMFailureException: the server does not show it.
        """
        try:
            with bounded_call(self.component, self._config.timeout_s, self._address.secrets):
                return await self._http.get(path)
        except LLMFailureException as error:
            if error.reason not in ("connection_error", "timeout"):
                raise
            absent = f"no {self.kind} answers at {self._host}; {self.start}, or set llm.host to where it runs"
            raise await tls_problem(self._host, error) or OracleUnavailableError(absent) from error

    async def check(self) -> Health:
        """Return the server's health; check that it runs, has the model, takes the key and answers in JSON."""
        version, names = await self._look_up()
        try:
            completion = await self._first_answer()
            note = await self._choice_note()
        except LLMFailureException as error:
            raise await tls_problem(self._host, error) or self._unusable(error, names) from error
        return Health(
            backend=self.component,
            version=version,
            model=completion.model,
            latency_s=completion.latency_s,
            dialect=self._dialect,
            note=note,
        )

    async def _first_answer(self) -> Completion:
        """Return an answer in the first dialect that works, which holds from now on.

        Raises:
            LLMFailureException: none works; the failure of the last.
        """
        failure = LLMFailureException("invalid_response")
        for dialect in self.dialects:
            try:
                await self._tested(dialect, self._config.timeout_s * WARM_UP)
                completion = await self._tested(dialect, self._config.timeout_s)  # it shows the usual latency
            except LLMFailureException as error:
                failure = error
                may_be_of_dialect = error.is_answer or error.status_code in _REFUSING
                if not may_be_of_dialect or error.is_of_key:
                    break
            else:
                self._dialect = dialect
                return completion
        raise failure

    async def _tested(self, dialect: str, deadline_s: float) -> Completion:
        return await retry_until_usable(
            lambda seed: self._complete(replace(SELF_TEST, seed=seed), dialect, deadline_s),
            lambda said: follows_schema(said.text, loosely=dialect == FREE),
        )

    async def _choice_note(self) -> str:
        """Return the note on how choices are decided; find out whether the server gives probabilities."""
        return await self._letters.check(self._config.method, f"the {self.kind} at {self._host}")

    def _unusable(self, error: LLMFailureException, names: list[str] | None) -> OracleUnavailableError:
        """Return the error of a server that answers no test question: one line that says what to set."""
        where, wanted = f"the {self.kind} at {self._host}", self._config.model
        if error.is_of_key:
            return self._key_error(error.detail)
        # The name is checked only after a failure: a server with a single model accepts any name.
        unknown = names is not None and full_name(wanted) not in map(full_name, names)
        is_absent = error.status_code in (404, 405)
        if is_absent and not unknown and "model" not in error.detail.lower():
            advice = "set llm.request.path to where it is"
            return OracleUnavailableError(clauses(f"{where} has no chat at {self._path}: {error.detail}", advice))
        if error.reason in FINAL and (unknown or is_absent):
            having = models_text(names) if names else "it does not say which it has"
            return OracleUnavailableError(f"{where} has no model {wanted!r}: {having}; set llm.model")
        if error.is_answer:
            detail, advice, cause = error.detail, self._advice_on(error.detail), error.__cause__
            if "llm.num_predict" in detail:
                detail, advice = f"{detail}, or turn thinking off by llm.request.extra_body", ""
            elif advice == _ELSE and cause is not None and not isinstance(cause, UnusableAnswerError):
                advice = "set llm.host, or llm.request.path to where the chat is"  # a page, or another protocol
            return OracleUnavailableError(clauses(f"{where} does not answer in JSON: {detail}", advice))
        is_refused = error.status_code in _REFUSING and not error.advice and error.reason != "server_error"
        advice = self._advice_on(error.detail) if is_refused else ""
        return OracleUnavailableError(clauses(f"{where} cannot run {wanted}: {error.reason}: {error.told}", advice))

    def _advice_on(self, detail: str) -> str:
        """Return what to set for a server that refuses a request: without the fields that it names, if it names any."""
        body = self._body(SELF_TEST, FREE, self._config.num_predict, self._config.temperature)
        options = body.pop("options", {})
        instead = {name: "null" for name in (*body, *options) if name not in ("model", "messages")}
        if "stream must be true" in detail:
            instead["stream"] = "true"
        if "max_completion_tokens" in detail:
            instead["max_tokens"] = f"null, max_completion_tokens: {self._config.num_predict}"
        named = [name for name in instead if re.search(rf"(?<![\w-]){name}(?![\w-])", detail)]
        fields = [f"{name}: {instead[name]}" for name in named if name not in options]
        if inner := [f"{name}: {instead[name]}" for name in named if name in options]:
            fields.append(f"options: {{{', '.join(inner)}}}")
        return f"set llm.request.extra_body={{{', '.join(fields)}}}" if fields else _ELSE

    def _key_error(self, detail: str) -> OracleUnavailableError:
        """Return the error of a server that asks for a key, or for another one."""
        variable = self._config.api_key_env
        own = ", ".join(f"llm.request.headers.{name}" for name in self._config.request.headers)
        if own:
            return OracleUnavailableError(f"{self._host} refuses the key; check what {own} holds: {detail}")
        named = _KEY_HEADER.search(detail)
        other = "" if named is None else f", or send it in its header: llm.request.headers={{{named[0]}: ${variable}}}"
        if self._address.has_key:
            return OracleUnavailableError(f"{self._host} refuses the key in ${variable}; set another one{other}")
        return OracleUnavailableError(f"{self._host} asks for a key; set it in ${variable}{other}")

    async def aclose(self) -> None:
        await self._http.aclose()


def messages_of(messages: Sequence[Message], schema: dict[str, Any] | None, dialect: str) -> list[dict[str, str]]:
    """Return the chat as it is sent.

    In the dialects that need it the schema stands in the system message, at the front, where prefix caches keep it. In
    the last dialect that is a part of the user's first message: some models have no place for a system message.
    """
    if schema is not None and dialect in IN_PROMPT:
        rule = f"{_RULE}\n{json.dumps(schema)}"
        first, *rest = messages
        if first.role == "system":
            messages = (Message(role="system", content=f"{first.content}\n\n{rule}"), *rest)
        else:
            messages = (Message(role="system", content=rule), *messages)
    if dialect == FREE and messages[0].role == "system":
        first, *rest = messages
        if rest and rest[0].role == "user":
            messages = (Message(role="user", content=f"{first.content}\n\n{rest[0].content}"), *rest[1:])
        else:
            messages = (Message(role="user", content=first.content), *rest)
    return [{"role": message.role, "content": message.content} for message in messages]


def added(body: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's fields with the user's own over them; null leaves a field out, and objects are merged."""
    merged = dict(body)
    for name, value in extra.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict) and isinstance(merged.get(name), dict):
            merged[name] = added(merged[name], value)
        else:
            merged[name] = value
    return merged


def models_text(names: Sequence[str]) -> str:
    """Return the names of a server's models, as part of a message."""
    if not names:
        return "it has none"
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"it has {', '.join(sorted(names)[:_NAMES_SHOWN])}{more}"


def full_name(model: str) -> str:
    """Return the name as Ollama compares it: in lower case, with its tag."""
    tagged = ":" in model.rpartition("/")[2]
    return (model if tagged else f"{model}:latest").lower()

"""A client of a model's server: the part that is the same whatever the protocol is.

A server is told the schema of an answer as a schema, as JSON with the schema in the prompt, or in the prompt alone. The
first of these ways that answers a test question holds for the whole run. Whatever else a server wants is a setting.
"""

from __future__ import annotations

import json
import math
import os
import re
import ssl
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from string import ascii_uppercase
from time import perf_counter
from types import MappingProxyType
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

import httpx
import msgspec
from msgspec.structs import replace

from prism.config.model import LLMConfig
from prism.credentials import VARIABLE
from prism.errors import OracleUnavailableError
from prism.llm import letters
from prism.llm.answer import extract_object
from prism.llm.failure import FINAL, LLMFailureException, Usage
from prism.llm.headers import ALIVE, CONNECT_S, GATEWAY, REQUEST_ID, Replied
from prism.llm.http import (
    HOOKS,
    LIMITS,
    PLAIN,
    STREAMS,
    Reply,
    StatusError,
    UnusableAnswerError,
    bounded_call,
    read_reply,
    redacted,
    retry_after_s,
    text_of,
    usage_of,
)
from prism.llm.port import (
    SELF_TEST,
    Backend,
    ChatRequest,
    ChoiceRequest,
    Completion,
    Distribution,
    Health,
    Identity,
    Message,
    Undecided,
    log_prompt,
    retry_until_usable,
    usable_answer,
)
from prism.wording import clauses

WARM_UP: Final = 5.0
"""The factor on the timeout of the first call, for which the server loads the model."""
FREE: Final = "none"
"""The dialect in which nothing holds the model to JSON."""
IN_PROMPT: Final = ("json_object", FREE)
"""The dialects in which the schema stands in the prompt."""
RULE: Final = "Answer with one JSON object that follows this JSON schema, and with nothing else:"
NAMES_SHOWN: Final = 20

_REFUSING = frozenset({400, 404, 405, 415, 422, 500, 501})
"""The statuses by which servers refuse a way of asking; routers say 404 if no provider takes it, and some say 500."""
_KEY_HEADER = re.compile(r"\b(?:x-(?:[a-z]+-)*(?:key|token)|api-?key)\b", re.IGNORECASE)
"""The names of headers in which servers other than OpenAI's take a key."""
_ELSE = "set llm.request.extra_body to what it takes (null leaves a field out), or another llm.model"
CA_FILE: Final = "SSL_CERT_FILE"
"""The environment variable that names a file of trusted certificates, as for OpenSSL."""

_UNTRUSTED = re.compile(r"CERTIFICATE_VERIFY_FAILED\] certificate verify failed: (.*?)(?: \(_ssl\.c:\d+\))?$")
_PLAIN = "WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"
_OTHER_NAME = re.compile(r"mismatch|not valid for", re.IGNORECASE)


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a server. Its representation shows no secret.

    Args:
        host: scheme, name, port and path prefix, as they may be shown.
        secrets: the texts that no message may show.
        ca_files: `{setting or variable: file}` of certificates that it is trusted by, besides the public ones.
    """

    host: str
    headers: dict[str, str]
    query: dict[str, str]
    has_key: bool
    secrets: tuple[str, ...]
    ca_files: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Address({self.host!r})"


class ModelClient(Backend):
    """A client of a model's server. A subclass for each protocol makes the requests.

    Raises:
        OracleUnavailableError: the host is not an address, a secret cannot be sent, or a file has no certificates.
    """

    kind: ClassVar[str] = "server"
    """The kind of server, in messages; `start`, `get`: the ways to start one, and to give it a model."""
    start: ClassVar[str] = "start it"
    get: ClassVar[str] = "set llm.model"
    dialects: ClassVar[tuple[str, str, str]]
    """The ways to tell the server a schema, in the order in which they are tried."""
    forms: ClassVar[Sequence[letters.Form]]
    _path: str
    _http: httpx.AsyncClient

    def __init__(self, config: LLMConfig, environment: Mapping[str, str] | None) -> None:
        super().__init__(config, environment)
        self._gateway = gateway = GATEWAY.get()
        if gateway is None:
            self._address = address_of(config, os.environ if environment is None else environment)
        else:  # it has the key, and all that is sent with a request
            host, headers = checked_host(config.host), gateway.headers
            self._address = Address(host=host, headers=headers, query={}, has_key=True, secrets=(gateway.token,))
        self._host = self._address.host
        self._dialect: str = self.dialects[0]
        self._form: letters.Form | None = None

    @property
    def identity(self) -> Identity:
        return replace(super().identity, dialect=self._dialect, method=letters.METHOD if self._form else "")

    def _options_of_http(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "headers": {**PLAIN, **self._address.headers},
            "params": self._address.query,
            "trust_env": False,
            "limits": LIMITS,
            "event_hooks": HOOKS,
        }
        if self._gateway is None:
            return {**options, "timeout": self._config.timeout_s, "verify": verification(self._address)}
        transport = httpx.AsyncHTTPTransport(limits=LIMITS, trust_env=False, socket_options=ALIVE)
        # Only silence ends a request: the wait for a place at the gateway is no part of the call.
        return {**options, "timeout": httpx.Timeout(None, connect=CONNECT_S), "transport": transport}

    def _bounded(self, deadline_s: float | None = None) -> AbstractContextManager[None]:
        """Return the context of a call, by default with `llm.timeout_s`; a gateway has the deadlines of its calls."""
        within_s = self._config.timeout_s if deadline_s is None else deadline_s
        return bounded_call(self.component, within_s if self._gateway is None else math.inf, self._address.secrets)

    async def forward(self, method: str, path: str, body: bytes, name: str, within_s: float) -> Replied:
        """Send a request of a cell by its name, and return the server's reply without any secret."""
        request = self._http.build_request(method, path, content=body, headers={"Content-Type": "application/json"})
        if name:
            request.headers.setdefault(REQUEST_ID, name)
        secrets = self._address.secrets
        try:
            with bounded_call(self.component, within_s, secrets):
                response = await self._http.send(request)
        except LLMFailureException as error:
            if isinstance(cause := error.__cause__, StatusError):
                return Replied(status=cause.status, body=redacted(secrets, cause.body), pause_s=cause.pause_s)
            return Replied(status=503, body=error.detail, failure=error.reason)
        usage = usage_of(response.content)
        return Replied(
            body=redacted(secrets, response.content.decode(errors="replace")),
            pause_s=retry_after_s(response.headers),
            is_answer=usage is not None,
            usage=usage or Usage(),
        )

    @abstractmethod
    def _body(self, request: ChatRequest, dialect: str, limit: int, temperature: float) -> dict[str, Any]: ...

    @abstractmethod
    async def _look_up(self) -> tuple[str, list[str] | None]:
        """Return the server's version, if it has one, and its models; None if it shows no list. Raises: as `_get`."""

    async def chat(self, prompt: str, *, schema: dict[str, Any]) -> str:
        """Return the model's answer to one prompt: JSON, without any text around it."""
        message = Message(role="user", content=prompt)
        completion = await self.complete(ChatRequest(messages=(message,), schema=schema, seed=self._config.seed))
        return extract_object(completion.text) or completion.text

    async def complete(self, request: ChatRequest) -> Completion:
        log_prompt(request)
        return await self._complete(request, self._dialect, self._config.timeout_s)

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:
        """Return the weights of the options by letters, or None if this question is not asked in that way."""
        if self._form is None or len(request.options) not in letters.OPTIONS:
            return None
        return await self._weighed(request, self._form)

    async def _complete(self, request: ChatRequest, dialect: str, deadline_s: float) -> Completion:
        limit, is_json = request.limit(self._config.num_predict), request.schema is not None
        with self._bounded(deadline_s):
            started_s = perf_counter()
            response = await self._post(self._body(request, dialect, limit, self._config.temperature))
            reply = read_reply(response.content, response.headers)
            text = text_of(reply, limit, is_json=is_json, is_free=dialect == FREE)
            return Completion(text=text, model=self._named(reply, request), **_facts(reply, started_s))

    async def _weighed(self, request: ChoiceRequest, form: letters.Form) -> Distribution | Undecided:
        """Return the weights of the options by their letters. The temperature is applied here, as on every server."""
        chat = letters.lettered_chat(request, seed=self._config.seed, max_tokens=form.max_tokens)
        log_prompt(chat)
        with self._bounded():
            started_s, names = perf_counter(), ascii_uppercase[: len(request.options)]
            body = self._body(chat, self._dialect, form.max_tokens, 1.0)
            response = await self._post(body, {"logprobs": True, "top_logprobs": letters.LISTED, **form.fields(names)})
            reply = read_reply(response.content, response.headers)
            read = letters.read_weights(letters.read_tokens(response.content), names)
            facts = _facts(reply, started_s)
            if isinstance(read, str):
                return Undecided(reason=read, **facts)
            shares = dict(zip(request.options, letters.at_temperature(read, self._config.temperature), strict=True))
            return Distribution(probabilities=shares, model=self._named(reply, chat), method=letters.METHOD, **facts)

    async def _post(self, body: dict[str, Any], fields: Mapping[str, Any] = MappingProxyType({})) -> httpx.Response:
        return await self._http.post(self._path, json={**added(body, self._config.request.extra_body), **fields})

    def _named(self, reply: Reply, request: ChatRequest) -> str:
        return reply.model or request.model or self._config.model

    async def _get(self, path: str) -> httpx.Response:
        """Return what the server shows at a path.

        Raises:
            OracleUnavailableError: nobody answers.
            LLMFailureException: the server does not show it.
        """
        try:
            with self._bounded():
                return await self._http.get(path)
        except LLMFailureException as error:
            if error.reason not in ("connection_error", "timeout"):
                raise
            absent = f"no {self.kind} answers at {self._host}; {self.start}, or set llm.host to where it runs"
            raise tls_problem(self._host, error) or OracleUnavailableError(absent) from error

    async def check(self) -> Health:
        """Return the server's health; check that it runs, has the model, takes the key and answers in JSON."""
        version, names = await self._look_up()
        try:
            completion = await self._first_answer()
            note = await self._choice_note()
        except LLMFailureException as error:
            problem = tls_problem(self._host, error)
            raise problem or OracleUnavailableError(self._unusable(error, version, names)) from error
        return Health(
            backend=self.component,
            version=version,
            model=completion.model,
            latency_s=completion.latency_s,
            dialect=self._dialect,
            note=note,
        )

    async def _first_answer(self) -> Completion:
        """Return an answer in the first dialect that works, which holds from now on. Raises: the last failure."""

        async def tested(deadline_s: float) -> Completion:
            ask = partial(self._complete, dialect=dialect, deadline_s=deadline_s)
            return await usable_answer(ask, loosely=dialect == FREE)

        failure = LLMFailureException("invalid_response")
        for dialect in self.dialects:
            try:
                await tested(self._config.timeout_s * WARM_UP)
                completion = await tested(self._config.timeout_s)  # it shows the usual latency
            except LLMFailureException as error:
                failure = error
                may_be_of_dialect = error.is_answer or error.status_code in _REFUSING
                if not may_be_of_dialect or error.is_of_key:
                    break
            else:
                self._dialect = dialect
                return completion
        raise failure

    async def _choice_note(self) -> str:
        """Return the note on how choices are decided; find out whether the server gives sound probabilities.

        Raises:
            OracleUnavailableError: `llm.method` asks for probabilities, and it gives none.
            LLMFailureException: it is down or busy, which says nothing about what it can do.
        """
        self._form, problem = None, letters.UNLISTED
        if self._config.method == "json":
            return "decides by chat"
        for form in self.forms:
            try:
                found = await retry_until_usable(lambda _, form=form: self._weighed(letters.PROBE, form))  # type: ignore[misc]
            except LLMFailureException as error:
                if not (error.reason in {*FINAL, "invalid_response"} or error.status_code in (500, 501)):
                    raise
                problem = f"it refuses them: {error.detail[:200]}"
                continue
            if isinstance(found, Distribution):
                self._form = form
                return f"decides by probabilities ({letters.METHOD})"
            problem = found.reason
            if problem == letters.UNLISTED:
                break  # a server that does not know the question does not know it in another form either
        if self._config.method == "probabilities":
            problem = f"the {self.kind} at {self._host} gives no sound probabilities of the options: {problem}"
            raise OracleUnavailableError(f"{problem}; set llm.method to auto or json")
        return f"decides by chat, without probabilities: {problem}"

    def _unusable(self, error: LLMFailureException, version: str, names: list[str] | None) -> str:  # noqa: ARG002
        where, wanted, detail = f"the {self.kind} at {self._host}", self._config.model, error.detail
        if error.is_of_key:
            # The server asks for a key, or refuses the one that it got.
            variable = self._config.api_key_env
            if own := ", ".join(f"llm.request.headers.{name}" for name in self._config.request.headers):
                return f"{self._host} refuses the key; check what {own} holds: {detail}"
            named = _KEY_HEADER.search(detail)
            other = f", or send it in its header: llm.request.headers={{{named[0]}: ${variable}}}" if named else ""
            asks = f"refuses the key in ${variable}; set another one" if self._address.has_key else ""
            return f"{self._host} {asks or f'asks for a key; set it in ${variable}'}{other}"
        # The name is checked only after a failure: a server with a single model accepts any name.
        unknown = names is not None and full_name(wanted) not in map(full_name, names)
        is_absent = error.status_code in (404, 405)
        if is_absent and not unknown and "model" not in detail.lower():
            return clauses(f"{where} has no chat at {self._path}: {detail}", "set llm.request.path to where it is")
        if error.reason in FINAL and (unknown or is_absent):
            more = f" and {len(names or ()) - NAMES_SHOWN} more" if len(names or ()) > NAMES_SHOWN else ""
            having = f"it has {', '.join(sorted(names)[:NAMES_SHOWN])}{more}" if names else "it has none"
            having = "it does not say which it has" if names is None else having
            return f"{where} has no model {wanted!r}: {having}; {self.get.format(wanted)}"
        if error.is_answer:
            advice, cause = self._advice_on(detail), error.__cause__
            if "llm.num_predict" in detail:
                advice = "or turn thinking off by llm.request.extra_body"
                return f"{where} does not answer in JSON: {detail}, {advice}"
            if advice == _ELSE and cause is not None and not isinstance(cause, UnusableAnswerError):
                advice = "set llm.host, or llm.request.path to where the chat is"  # a page, or another protocol
            return clauses(f"{where} does not answer in JSON: {detail}", advice)
        is_refused = error.status_code in _REFUSING and not error.advice and error.reason != "server_error"
        advice = self._advice_on(detail) if is_refused else ""
        return clauses(f"{where} cannot run {wanted}: {error.reason}: {error.told}", advice)

    def _advice_on(self, detail: str) -> str:
        """Return what to set for a server that refuses a request: without the fields that it names, if it names any."""
        if "stream must be true" in detail:
            return f"{STREAMS}: set another llm.model"
        body = self._body(SELF_TEST, FREE, self._config.num_predict, self._config.temperature)
        options = body.pop("options", {})
        instead = {name: "null" for name in (*body, *options) if name not in ("model", "messages")}
        if "max_completion_tokens" in detail:
            instead["max_tokens"] = f"null, max_completion_tokens: {self._config.num_predict}"
        named = [name for name in instead if re.search(rf"(?<![\w-]){name}(?![\w-])", detail)]
        fields = [f"{name}: {instead[name]}" for name in named if name not in options]
        if inner := [f"{name}: {instead[name]}" for name in named if name in options]:
            fields.append(f"options: {{{', '.join(inner)}}}")
        return f"set llm.request.extra_body={{{', '.join(fields)}}}" if fields else _ELSE

    async def aclose(self) -> None:
        await self._http.aclose()


def _facts(reply: Reply, started_s: float) -> dict[str, Any]:
    return {**reply.usage._asdict(), "latency_s": perf_counter() - started_s}


def messages_of(messages: Sequence[Message], schema: dict[str, Any] | None, dialect: str) -> list[dict[str, str]]:
    """Return the chat as it is sent.

    The schema, if needed, ends the system message, where prefix caches keep it. In the last dialect that is a part of
    the user's first message: some models have no place for a system message.
    """
    sent = [{"role": message.role, "content": message.content} for message in messages]
    if schema is not None and dialect in IN_PROMPT:
        rule = f"{RULE}\n{json.dumps(schema)}"
        if sent[0]["role"] == "system":
            sent[0]["content"] += f"\n\n{rule}"
        else:
            sent.insert(0, {"role": "system", "content": rule})
    if dialect == FREE and sent[0]["role"] == "system":
        sent[0]["role"] = "user"
        if len(sent) > 1 and sent[1]["role"] == "user":
            sent[0]["content"] += f"\n\n{sent.pop(1)['content']}"
    return sent


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


def full_name(model: str) -> str:
    """Return the name as Ollama compares it: in lower case, with its tag."""
    tagged = ":" in model.rpartition("/")[2]
    return (model if tagged else f"{model}:latest").lower()


def address_of(config: LLMConfig, environment: Mapping[str, str]) -> Address:
    """Return the address that the configuration means. The key is sent unless `llm.request.headers` has another.

    Raises:
        OracleUnavailableError: the host is not an address, a variable is not set, or a secret cannot be sent.
    """
    host, key = checked_host(config.host), _read_key(environment, config.api_key_env)
    secrets = {key} if key else set()

    def filled(place: str, value: str) -> str:
        def read(found: re.Match[str]) -> str:
            variable = found[1] or found[2]
            text = _read_key(environment, variable)
            if text is None:
                problem = f"the environment variable {variable} is not set; set it, or leave {place} out"
                raise OracleUnavailableError(f"{place}: {problem}")
            secrets.add(text)
            return text

        return VARIABLE.sub(read, value)

    request = config.request
    headers = {name: filled(f"llm.request.headers.{name}", value) for name, value in request.headers.items()}
    if key and not any(name.lower() == "authorization" for name in headers):
        headers = {"Authorization": f"Bearer {key}", **headers}
    query = {name: filled(f"llm.request.query.{name}", value) for name, value in request.query.items()}
    files = {"llm.ca_file": config.ca_file, f"${CA_FILE}": environment.get(CA_FILE)}
    return Address(
        host=host,
        headers=headers,
        query=query,
        has_key=key is not None,
        secrets=tuple(sorted(secrets, key=len, reverse=True)),  # one may be part of another
        ca_files={place: file for place, file in files.items() if file and urlsplit(host).scheme == "https"},
    )


def _read_key(environment: Mapping[str, str], variable: str) -> str | None:
    key = environment.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):  # the message of httpx would show it
        message = f"the key in ${variable} has characters that no HTTP header may carry; set it again"
        raise OracleUnavailableError(message)
    return key or None


def checked_host(host: str) -> str:
    """Return the host as an address that may be shown: with a scheme, without a path's last slash."""
    address = host if "://" in host else f"http://{host}"
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        message = f"llm.host is not an address such as http://127.0.0.1:11434: {host!r}"
        raise OracleUnavailableError(message)
    return address.rstrip("/")


def verification(address: Address) -> ssl.SSLContext | bool:
    """Return the `verify` of an httpx client: True trusts the public authorities. Raises: OracleUnavailableError."""
    if urlsplit(address.host).scheme != "https":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody, and costs no time to make
    if not address.ca_files:
        return True
    context = httpx.create_ssl_context(trust_env=False)
    for place, file in address.ca_files.items():
        try:
            context.load_verify_locations(cafile=file)
        except ssl.SSLError:
            raise OracleUnavailableError(f"{place}: {file}: expected certificates in PEM, got none") from None
        except OSError as error:
            raise OracleUnavailableError(f"{place}: {file}: cannot be read: {error.strerror}") from None
    return context


def tls_problem(host: str, failure: LLMFailureException) -> OracleUnavailableError | None:
    """Return the error of a connection that fails because of TLS; None if TLS is not to blame."""
    if any(each in failure.detail for each in _PLAIN):
        return OracleUnavailableError(f"{host} speaks no TLS; set llm.host to {host.replace('https:', 'http:', 1)}")
    if (found := _UNTRUSTED.search(failure.detail)) is None:
        return None
    problem, advice = "is not trusted", "set llm.ca_file to the certificates of its authority"
    if _OTHER_NAME.search(found[1]):
        problem, advice = "is for another name", "set llm.host to that name"
    return OracleUnavailableError(f"the certificate of {host} {problem}: {found[1]}; {advice}")

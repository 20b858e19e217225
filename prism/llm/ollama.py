"""A model on an Ollama server, through the `ollama` package.

This module adds what the package lacks: a timeout, error bodies of every form, a check that the answer was finished,
and no proxy from the environment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any

import httpx
import msgspec
import ollama
from msgspec.structs import replace

from prism.config.model import LLMConfig
from prism.errors import OracleUnavailableError
from prism.llm.backend import log_prompt
from prism.llm.failure import FINAL, LLMFailureException
from prism.llm.http import RefusedAnswerError, StatusError, bounded_call
from prism.llm.letters import OLLAMA_FORMS
from prism.llm.model_client import FREE, ModelClient, full_name, messages_of, models_text
from prism.llm.port import ChatRequest, ChoiceRequest, Distribution, Identity, Undecided
from prism.llm.reply import Reply, read_chat
from prism.llm.startup_check import CHOICE_TEST, retry_until_usable

COMPONENT, SYSTEMONE = "ollama", "systemone"
_LEAST_OPTIONS, _MOST_OPTIONS = 2, 26
_QUESTION = "next"

_ASCII_BYTES_PER_TOKEN = 3
_OTHER_BYTES_PER_TOKEN = 2
"""Few bytes for a token, so that the estimate is rather too high: English has 4 to 5, Chinese 3, Russian 4, emoji 2."""
_TURN_TOKENS = 8
"""The tokens of a chat's template around one message."""
_STEP = 1024


class _Listed(msgspec.Struct):
    model: str = ""


class _Tags(msgspec.Struct):
    models: list[_Listed]


class OllamaChatClient(ModelClient):
    """A language model behind Ollama's `/api/chat`, and `/v1/systemone` where the server has it.

    Ollama itself needs no secret in the environment; a proxy before it may.
    """

    component = COMPONENT
    kind = "Ollama server"
    start = "start it with `ollama serve`"
    dialects = (COMPONENT, "json_object", FREE)
    forms = OLLAMA_FORMS

    def __init__(self, config: LLMConfig, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(config, environment)
        self._path = config.request.path or "/api/chat"
        self._is_offered = False  # systemone, at the check
        self._offers_choice = config.systemone == "auto" and config.method != "json"
        self._not_ollama = ""
        """Why what answers seems to be no Ollama server; empty if it is one."""
        self._client = ollama.AsyncClient(config.host, follow_redirects=False, **self._options_of_http())
        self._http = self._client._client  # noqa: SLF001  # its `chat` can neither leave a field out nor add one

    @property
    def identity(self) -> Identity:
        found = super().identity
        return replace(found, method=SYSTEMONE) if self._is_offered else found

    def _sampling(self) -> dict[str, float]:
        return {**super()._sampling(), "num_ctx": self._config.num_ctx}

    def _body(self, request: ChatRequest, dialect: str, limit: int, temperature: float) -> dict[str, Any]:
        """Return the body of a chat, which has to fit into the model's window."""
        config = self._config
        messages = messages_of(request.messages, request.schema, dialect)
        refuse_too_long((message["content"] for message in messages), limit, config.num_ctx)
        options = {"temperature": temperature, "num_ctx": config.num_ctx}
        body: dict[str, Any] = {
            "model": request.model or config.model,
            "messages": messages,
            "options": {**options, "num_predict": limit, "seed": request.sampling_seed},
            "keep_alive": config.keep_alive,
            "stream": False,
            "tools": [],
            "think": False,
        }
        if request.schema is not None and dialect != FREE:
            body["format"] = request.schema if dialect == COMPONENT else "json"
        return body

    def _read(self, response: httpx.Response) -> Reply:
        return read_chat(response.content)

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:
        return await self._systemone(request) or await super().choose(request)

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
                is_text = not error.body.lstrip().startswith("{")
                is_chat_model = error.status == 400 and "does not support decision" in error.body
                if is_chat_model or (error.status == 404 and is_text):
                    self._offers_choice = False
                    return None
                if error.status == 413:  # the question is too long for it
                    return None
                raise
            return Distribution(
                probabilities=_probabilities(response, request.options),
                model=response.model,
                prompt_tokens=response.usage.input_tokens,
                completion_tokens=response.usage.output_tokens,
                latency_s=perf_counter() - started_s,
            )

    async def _choice_note(self) -> str:
        if self._offers_choice:
            try:
                await retry_until_usable(lambda _: self._systemone(CHOICE_TEST))
            except LLMFailureException as error:
                if error.reason not in {*FINAL, "invalid_response"}:  # a server that only chats may refuse in any way
                    raise
                self._offers_choice = False
        self._is_offered = self._offers_choice
        return "decides by probabilities (systemone)" if self._offers_choice else await super()._choice_note()

    async def _look_up(self) -> tuple[str, list[str] | None]:
        """Return version and models. Servers that only resemble Ollama may have neither."""
        version, names = "", None
        try:
            version = str((await self._get("/api/version")).json()["version"])
        except (KeyError, TypeError, ValueError):
            self._not_ollama = "it names no version"
        except LLMFailureException as error:
            self._not_ollama = error.detail
        try:
            response = await self._get("/api/tags")
            names = [each.model for each in msgspec.json.decode(response.content, type=_Tags).models if each.model]
        except (LLMFailureException, ValueError):
            return version, None
        wanted = self._config.model
        if full_name(wanted) not in map(full_name, names) and not (self._not_ollama and not names):
            message = (
                f"the Ollama server at {self._host} has no model {wanted!r}: {models_text(names)}; "
                f"get it with `ollama pull {wanted}`, or set llm.model"
            )
            raise OracleUnavailableError(message)
        return version, None

    def _unusable(self, error: LLMFailureException, names: list[str] | None) -> OracleUnavailableError:
        found = super()._unusable(error, names)
        is_strange = error.status_code in (404, 405) or (error.is_answer and error.reason == "invalid_response")
        if self._not_ollama and is_strange and "model" not in error.detail:
            return OracleUnavailableError(f"what answers at {self._host} is no Ollama server: {self._not_ollama}")
        return found


class PromptTooLongError(RefusedAnswerError):
    """A prompt that may not fit into the context window together with its answer: Ollama would cut it without a word.

    Args:
        answer_tokens: the longest answer.
    """

    def __init__(self, prompt_tokens: int, answer_tokens: int, num_ctx: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.answer_tokens = answer_tokens
        self.num_ctx = num_ctx
        enough = -(-min(prompt_tokens + answer_tokens, 2 * prompt_tokens) // _STEP) * _STEP
        super().__init__(
            f"a prompt of about {prompt_tokens} tokens and an answer of up to {answer_tokens} do not fit into "
            f"llm.num_ctx {num_ctx}, and ollama would cut the prompt silently; set llm.num_ctx={enough}"
        )


def refuse_too_long(texts: Iterable[str], answer_tokens: int, num_ctx: int) -> None:
    """Refuse a chat that may not fit with its answer, for which up to half of the window is kept.

    Args:
        answer_tokens: the longest answer. It may be set far above any real one, so more than half is not kept.

    Raises:
        PromptTooLongError: it may not.
    """
    prompt_tokens = sum(_TURN_TOKENS + most_tokens(text) for text in texts)
    if prompt_tokens + min(answer_tokens, num_ctx // 2) > num_ctx:
        raise PromptTooLongError(prompt_tokens, answer_tokens, num_ctx)


def most_tokens(text: str) -> int:
    """Return the tokens that a text takes at most, as an estimate: tokenizers differ, and none is asked."""
    size = len(text.encode(errors="replace"))
    ascii_size = size if text.isascii() else sum(char < "\x80" for char in text)
    return -(-ascii_size // _ASCII_BYTES_PER_TOKEN) - (-(size - ascii_size) // _OTHER_BYTES_PER_TOKEN)


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

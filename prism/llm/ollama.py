"""A model on an Ollama server, through the `ollama` package.

This module adds what the package lacks: a timeout, error bodies of every form, a check that the answer was finished,
and no proxy and no key from the environment that the configuration does not name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

import ollama
from msgspec.structs import replace

from prism.config.model import LLMConfig
from prism.llm.failure import FINAL, LLMFailureException
from prism.llm.http import RefusedAnswerError, StatusError, UnusableAnswerError
from prism.llm.letters import OLLAMA_FORMS
from prism.llm.model_client import FREE, ModelClient, messages_of
from prism.llm.port import (
    ANSWERS,
    ChatRequest,
    ChoiceRequest,
    Distribution,
    Identity,
    Undecided,
    log_prompt,
    retry_until_usable,
)

COMPONENT: Final = "ollama"
SYSTEMONE: Final = "systemone"
OPTIONS: Final = range(2, 27)
"""The numbers of options that `/v1/systemone` takes."""
CHOICE_TEST: Final = ChoiceRequest(
    state="The sky is clear.", instructions="Is the sky blue?", options=dict.fromkeys(ANSWERS, None)
)
ASCII_BYTES_PER_TOKEN: Final = 3
OTHER_BYTES_PER_TOKEN: Final = 2
"""Few bytes for a token, so that the estimate is rather too high: English has 4 to 5, Chinese 3, Russian 4, emoji 2."""
TURN_TOKENS: Final = 8
"""The tokens of a chat's template around one message."""
_STEP = 1024
_QUESTION = "next"


class OllamaChatClient(ModelClient):
    """A language model behind Ollama's `/api/chat`, and `/v1/systemone` where the server has it."""

    component = COMPONENT
    kind = "Ollama server"
    start = "start it with `ollama serve`"
    get = "get it with `ollama pull {0}`, or set llm.model"
    dialects = (COMPONENT, "json_object", FREE)
    forms = OLLAMA_FORMS

    def __init__(self, config: LLMConfig, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(config, environment)
        self._path = config.request.path or "/api/chat"
        self._is_offered = False  # systemone, at the check
        self._offers_choice = config.systemone == "auto" and config.method != "json"
        host = config.host if self._gateway is None else self._gateway.base
        options = self._options_of_http()
        self._client = ollama.AsyncClient(host, follow_redirects=False, **options)
        self._http = self._client._client  # noqa: SLF001  # its `chat` can neither leave a field out nor add one
        if "authorization" not in map(str.lower, options["headers"]):  # the package has that of $OLLAMA_API_KEY
            self._http.headers.pop("Authorization", None)

    @property
    def identity(self) -> Identity:
        found = super().identity
        options = {**found.options, "num_ctx": self._config.num_ctx}
        return replace(found, options=options, method=SYSTEMONE if self._is_offered else found.method)

    def _body(self, request: ChatRequest, dialect: str, limit: int, temperature: float) -> dict[str, Any]:
        """Return the body of a chat, which has to fit into the model's window."""
        config = self._config
        messages = messages_of(request.messages, request.schema, dialect)
        # Up to half of the window is kept for the answer: its limit may be set far above any real one. Ollama would cut
        # what does not fit without a word.
        tokens = sum(TURN_TOKENS + most_tokens(message["content"]) for message in messages)
        if tokens + min(limit, config.num_ctx // 2) > config.num_ctx:
            enough = -(-min(tokens + limit, 2 * tokens) // _STEP) * _STEP
            raise RefusedAnswerError(
                f"a prompt of about {tokens} tokens and an answer of up to {limit} do not fit into llm.num_ctx "
                f"{config.num_ctx}, and ollama would cut the prompt silently; set llm.num_ctx={enough}"
            )
        body: dict[str, Any] = {
            "model": request.model or config.model,
            "messages": messages,
            "options": {
                "temperature": temperature,
                "num_ctx": config.num_ctx,
                "num_predict": limit,
                "seed": request.sampling_seed,
            },
            "keep_alive": config.keep_alive,
            "stream": False,
            "tools": [],
            "think": False,
        }
        if request.schema is not None and dialect != FREE:
            body["format"] = request.schema if dialect == COMPONENT else "json"
        return body

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:
        return await self._systemone(request) or await super().choose(request)

    async def _systemone(self, request: ChoiceRequest) -> Distribution | None:
        if not self._offers_choice or len(request.options) not in OPTIONS:
            return None
        log_prompt(request)
        started_s, model = perf_counter(), request.model or self._config.model
        question = {"type": "choice", "instructions": request.instructions, "criteria": request.options}
        with self._bounded():
            try:
                response = await self._client.systemone(
                    model, request.state, {_QUESTION: question}, self._config.keep_alive
                )
            except StatusError as error:
                is_chat_model = error.status == 400 and "does not support decision" in error.body
                if is_chat_model or (error.status == 404 and not error.body.lstrip().startswith("{")):
                    self._offers_choice = False
                    return None
                if error.status == 413:  # the question is too long for it
                    return None
                raise
            # The weight of each option, in the order of the options.
            answer = response.answers.get(_QUESTION)
            found = answer.probabilities if isinstance(answer, ollama.SystemOneChoiceAnswer) else {}
            weights = {option: found.get(option, 0.0) for option in request.options}
            is_sound = all(0.0 <= weight < math.inf for weight in weights.values()) and sum(weights.values()) > 0.0
            if not is_sound or not found.keys() <= request.options.keys():
                raise UnusableAnswerError(f"the answer has no usable probabilities of the options: {found}")
            return Distribution(
                probabilities=weights,
                model=response.model,
                prompt_tokens=response.usage.input_tokens,
                completion_tokens=response.usage.output_tokens,
                latency_s=perf_counter() - started_s,
            )

    async def _choice_note(self) -> str:
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
        version = ""
        try:
            version = str((await self._get("/api/version")).json()["version"])
            return version, [str(each["model"]) for each in (await self._get("/api/tags")).json()["models"]]
        except (LLMFailureException, KeyError, TypeError, ValueError):
            return version, None

    def _unusable(self, error: LLMFailureException, version: str, names: list[str] | None) -> str:
        is_strange = error.status_code in (404, 405) or (error.is_answer and error.reason == "invalid_response")
        if not version and is_strange and "model" not in error.detail:
            return f"what answers at {self._host} is no Ollama server: {error.detail}"
        return super()._unusable(error, version, names)


def most_tokens(text: str) -> int:
    """Return the tokens that a text takes at most, as an estimate: tokenizers differ, and none is asked."""
    size = len(text.encode(errors="replace"))
    ascii_size = size if text.isascii() else sum(char < "\x80" for char in text)
    return -(-ascii_size // ASCII_BYTES_PER_TOKEN) - (-(size - ascii_size) // OTHER_BYTES_PER_TOKEN)

"""The backends of a language model: what each has to say for itself, and the table of those that come with PRISM.

At the start each is asked a test question, several times if need be: no later call would make up for a bad answer.
"""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, Final, TypeVar

import anyio
import msgspec
from msgspec.structs import replace

from prism.config.model import LLMConfig
from prism.errors import OracleUnavailableError
from prism.llm.answer import extract_object
from prism.llm.failure import FINAL, LLMFailureException
from prism.llm.port import (
    ChatRequest,
    ChoiceRequest,
    Completion,
    Distribution,
    Health,
    Identity,
    LanguageModel,
    Message,
    Undecided,
)
from prism.quoting import quoted

T = TypeVar("T")
_log = logging.getLogger(__name__)

BACKENDS: Final = {
    "ollama": "prism.llm.ollama.OllamaChatClient",
    "openai": "prism.llm.openai_compat.OpenAICompatClient",
}
"""`{oracle.backend: its class}`. It is imported when it is needed: an HTTP client takes 0.2 s."""
PAUSES_S: Final = (0.0, 0.02, 0.05, 0.1, 0.2)
UNUSABLE_TRIES: Final = 3
"""The attempts that may end in an answer that cannot be used."""
ANSWERS: Final = ("yes", "no")
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": list(ANSWERS)}},
    "required": ["answer"],
    "additionalProperties": False,
}
# It does not ask for JSON, so an answer in JSON shows that the server follows the schema. It has a system message, as
# the questions of people have: some models take none.
SELF_TEST: Final = ChatRequest(
    messages=(
        Message(role="system", content="You answer questions about the weather."),
        Message(role="user", content="Is the sky blue on a clear day? Answer yes or no."),
    ),
    schema=SCHEMA,
)


class Backend(ABC):
    """A language model of one kind: a subclass has `complete`, and `choose` if it gives probabilities.

    Args:
        config: the settings of `llm`.
        environment: the variables with the secrets.
    """

    component: str
    """Its name in `oracle.backend`, in identities and in errors."""

    def __init__(self, config: LLMConfig, environment: Mapping[str, str] | None = None) -> None:  # noqa: ARG002
        self._config = config

    @property
    def name(self) -> str:
        return f"{self.component} {self._config.model}"

    @property
    def identity(self) -> Identity:
        config = self._config
        return Identity(
            backend=self.component,
            model=config.model,
            dialect="",
            options={"temperature": config.temperature, "num_predict": float(config.num_predict)},
            extra_body=json.dumps(config.request.extra_body, sort_keys=True) if config.request.extra_body else "",
            method="" if type(self).choose is Backend.choose else "probabilities",
        )

    @abstractmethod
    async def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer to a chat. Raises: LLMFailureException."""

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:  # noqa: ARG002
        """Return a weight for each option, or None if the model gives none."""
        return None

    async def check(self) -> Health:
        """Return the model's health: it answers the test question. Raises: OracleUnavailableError."""
        try:
            said = await retry_until_usable(
                lambda seed: self.complete(replace(SELF_TEST, seed=seed)),
                lambda said: follows_schema(said.text, loosely=True),
            )
        except LLMFailureException as error:
            message = f"{self.name} does not answer: {error.reason}: {error.told}"
            raise OracleUnavailableError(message) from error
        latency_s = said.latency_s
        return Health(backend=self.component, version="", model=said.model, latency_s=latency_s, dialect="", note="")

    async def aclose(self) -> None:  # noqa: B027  # most have nothing to close
        """Close every connection."""


def make_backend(name: str, config: LLMConfig, environment: Mapping[str, str]) -> LanguageModel:
    """Return the model that `oracle.backend` names. It sends nothing yet."""
    module, _, kind = BACKENDS[name].rpartition(".")
    made: LanguageModel = getattr(import_module(module), kind)(config, environment)
    return made


def log_prompt(request: ChatRequest | ChoiceRequest) -> None:
    """Log the text of a request to a server at DEBUG: its messages, or its instructions, situation and options."""
    if not _log.isEnabledFor(logging.DEBUG):  # prompts are long
        return
    if isinstance(request, ChatRequest):
        text = "\n\n".join(message.content for message in request.messages)
    else:
        text = "\n\n".join((request.instructions, request.state, "\n".join(request.options)))
    _log.debug("llm_prompt asked_by=%s prompt=%s", quoted(request.asked_by), quoted(text))


def follows_schema(text: str, *, loosely: bool = False) -> bool:
    """Return whether the answer to `SELF_TEST` is JSON within its schema, without text around it.

    Args:
        loosely: allow text around it, other keys, and upper case, as the oracle does.
    """
    try:
        found = msgspec.json.decode((loosely and extract_object(text)) or text)
    except (ValueError, RecursionError):
        return False
    answer = found.get("answer") if isinstance(found, dict) else None
    return (str(answer).lower() if loosely else answer) in ANSWERS and (loosely or list(found) == ["answer"])


async def retry_until_usable(ask: Callable[[int], Awaitable[T]], usable: Callable[[T], bool] = lambda _: True) -> T:
    """Return a usable answer. Ask up to five times: at start, no later call would make up for a bad answer.

    Args:
        ask: asks with this seed: the same one would give the same unusable answer again.

    Raises:
        LLMFailureException: there is none; a final failure and a second timeout end the attempts at once.
    """
    timeouts, unusable, failure = 0, 0, LLMFailureException("invalid_response")
    for pause_s in PAUSES_S:
        await anyio.sleep(pause_s)
        try:
            answer = await ask(unusable)
            if usable(answer):
                return answer
            text = answer.text if isinstance(answer, Completion) else str(answer)
            failure = LLMFailureException("invalid_response", detail=f"it answered {text[:80]!r}")
        except LLMFailureException as error:
            failure = error
        timeouts += failure.reason == "timeout"
        unusable += failure.is_answer
        if failure.reason in FINAL or timeouts > 1 or unusable == UNUSABLE_TRIES:
            break
    raise failure

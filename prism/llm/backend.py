"""The backends of a language model: what each has to say for itself, and the table of those that come with PRISM."""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import Final

from msgspec.structs import replace

from prism.config.model import LLMConfig
from prism.errors import OracleUnavailableError
from prism.llm.failure import LLMFailureException
from prism.llm.port import (
    ChatRequest,
    ChoiceRequest,
    Completion,
    Distribution,
    Health,
    Identity,
    LanguageModel,
    Undecided,
)
from prism.llm.startup_check import SELF_TEST, follows_schema, retry_until_usable
from prism.quoting import quoted

_log = logging.getLogger(__name__)

BACKENDS: Final = {
    "ollama": "prism.llm.ollama.OllamaChatClient",
    "openai": "prism.llm.openai_compat.OpenAICompatClient",
}
"""`{oracle.backend: its class}`. It is imported when it is needed: an HTTP client takes 0.2 s."""


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

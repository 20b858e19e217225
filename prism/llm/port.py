"""The interface of language models, the records that go through it, and the backends that come with PRISM.

Adapters and the tape have this interface, so they can be stacked in any order.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, Final, Literal, Protocol, TypeVar

import anyio
import msgspec
from msgspec.structs import replace

from prism.checked import Checked
from prism.config.model import LLMConfig
from prism.errors import OracleUnavailableError
from prism.llm.answer import extract_object
from prism.llm.failure import FINAL, LLMFailureException, Usage
from prism.quoting import quoted

T = TypeVar("T")
_log = logging.getLogger(__name__)

SEEDS = 2**31
"""Seeds that servers take: from 0 to below this."""
LONGEST_RETRY = 4096
"""The most tokens of an answer after one that was cut."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    role: Literal["system", "user", "assistant"]
    content: str


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True, tag="chat"):
    """A chat to be completed. Neither `asked_by` nor `attempt` is part of its identity.

    Args:
        messages: the chat so far; the text that is the same in every call comes first.
        schema: the JSON schema of the answer; None for free text.
        sample: distinguishes draws from the same chat; equal requests with sample 0 share one answer.
        max_tokens: the longest answer; None is the configured one.
        asked_by: the asker's name, for messages: "agent 12 in tick 340".
        attempt: the number of unusable answers that it has had. It varies the sampling and the limit.
        model: the name of the model on the same server that is asked; empty for the configured one.
    """

    messages: tuple[Message, ...]
    schema: dict[str, Any] | None = None
    seed: int = 0
    sample: int = 0
    max_tokens: int | None = None
    asked_by: str = ""
    attempt: int = 0
    model: str = ""

    @property
    def sampling_seed(self) -> int:
        """The seed that is sent: another one for each attempt, or the same unusable answer would come again."""
        return (self.seed + self.attempt) % SEEDS

    def limit(self, configured: int) -> int:
        """Return the longest answer in tokens: four times as long after each unusable one, which may have been cut."""
        return self.max_tokens or min(configured * 4**self.attempt, max(configured, LONGEST_RETRY))


class ChoiceRequest(msgspec.Struct, frozen=True, kw_only=True, tag="choice"):
    """A decision over named options, by instructions and a situation (`state`) in words.

    Args:
        options: the meaning of each option, by its name; None if the name says enough.
        lettered: the chat that asks the same by letters, A for the first option; empty if it is made of the others.
        sample, asked_by, model: as in `ChatRequest`.
    """

    state: str
    instructions: str
    options: dict[str, str | None]
    lettered: tuple[Message, ...] = ()
    sample: int = 0
    asked_by: str = ""
    model: str = ""


class Called(Checked, frozen=True, kw_only=True):
    """The outcome of a call; `cached_tokens` are those of the tokens read that the server had in its cache."""

    prompt_tokens: int
    completion_tokens: int
    latency_s: float
    cached_tokens: int = 0

    @property
    def usage(self) -> Usage:
        return Usage(self.prompt_tokens, self.completion_tokens, self.cached_tokens)


class Completion(Called, frozen=True, kw_only=True, tag="completion"):
    """A model's text. Where a schema was asked for, the text still has to be checked against it."""

    text: str
    model: str


class Distribution(Called, frozen=True, kw_only=True, tag="distribution"):
    """The weight that a model gives to each option, in the order of the request; the sum is positive.

    The method is `systemone`, or `logprobs` for the probabilities of letters.
    """

    probabilities: dict[str, float]
    model: str
    method: str = "systemone"


class Undecided(Called, frozen=True, kw_only=True, tag="undecided"):
    """The outcome of a call for probabilities that gave no sound ones: `complete` must decide."""

    reason: str


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that an answer depends on, besides the request.

    Args:
        dialect: how the server is told a schema; `none` if the schema stands in the prompt alone.
        options: the sampling options that go with every request.
        extra_body: the user's own fields of every request, as JSON; empty if there are none.
        method: how a choice is asked for probabilities, such as `logprobs`; empty if it is not.
    """

    backend: str
    model: str
    dialect: str
    options: dict[str, float]
    extra_body: str = ""
    method: str = ""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check: the server, the model, and the time of a small answer once the model was loaded."""

    backend: str
    version: str = ""
    model: str
    latency_s: float = 0.0
    dialect: str = ""
    note: str = ""

    @property
    def server(self) -> str:
        """The server's name for users: "ollama 0.40.12", or "openai" where it gives no version."""
        return f"{self.backend} {self.version}".rstrip()


class LanguageModel(Protocol):
    """A model that can be asked.

    Raises:
        LLMFailureException: a call failed. `complete` and `choose` raise only this and `OracleUnavailableError`, which
            is raised there only by a tape without the answer.
    """

    @property
    def name(self) -> str:
        """A name for users: "ollama llama3.2"."""

    @property
    def identity(self) -> Identity:
        """The settings that its answers depend on, besides the request."""

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer to a chat."""

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:  # noqa: ARG002  # of the few that can
        """Return a weight for each option; None if the server does not offer that. Without weights use `complete`."""
        return None

    async def check(self) -> Health:
        """Return the model's health; check once, at start, that it is there, loaded, and answers within a schema.

        Raises:
            OracleUnavailableError: it cannot be used; the message is one line that says what to do.
        """
        identity = self.identity
        return Health(backend=identity.backend, model=identity.model, dialect=identity.dialect)

    async def aclose(self) -> None:
        """Close every connection."""
        return  # most have none


class Backend(LanguageModel):
    """A language model of one kind: a subclass has `complete`, and `choose` if it gives probabilities.

    The environment has the variables with the secrets.
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
            method="" if type(self).choose is LanguageModel.choose else "probabilities",
        )

    async def check(self) -> Health:
        """Return the model's health: it answers the test question. Raises: OracleUnavailableError."""
        try:
            said = await usable_answer(self.complete, loosely=True)
        except LLMFailureException as error:
            message = f"{self.name} does not answer: {error.reason}: {error.told}"
            raise OracleUnavailableError(message) from error
        return Health(backend=self.component, model=said.model, latency_s=said.latency_s)


BACKENDS: Final = {
    "ollama": "prism.llm.ollama.OllamaChatClient",
    "openai": "prism.llm.openai_compat.OpenAICompatClient",
}
"""`{oracle.backend: its class}`. It is imported when it is needed: an HTTP client takes 0.2 s."""
PAUSES_S: Final = (0.0, 0.02, 0.05, 0.1, 0.2)
UNUSABLE_TRIES: Final = 3
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
    """Return whether the answer to `SELF_TEST` is JSON within its schema.

    `loosely` allows text around it, other keys, and upper case, as the oracle does.
    """
    try:
        found = msgspec.json.decode((loosely and extract_object(text)) or text)
    except (ValueError, RecursionError):
        return False
    answer = found.get("answer") if isinstance(found, dict) else None
    return (str(answer).lower() if loosely else answer) in ANSWERS and (loosely or list(found) == ["answer"])


async def usable_answer(complete: Callable[[ChatRequest], Awaitable[Completion]], *, loosely: bool) -> Completion:
    """Return an answer to the test question that is right in its form. It raises as `retry_until_usable`."""
    return await retry_until_usable(
        lambda seed: complete(replace(SELF_TEST, seed=seed)), lambda said: follows_schema(said.text, loosely=loosely)
    )


async def retry_until_usable(ask: Callable[[int], Awaitable[T]], usable: Callable[[T], bool] = lambda _: True) -> T:
    """Return a usable answer to `ask(seed)`. Ask up to five times: at start, no later call mends a bad answer.

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

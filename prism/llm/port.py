"""The interface of language models: two kinds of question, one check, and the model's identity.

Adapters, the tape, and anything that limits or observes calls have this interface, so they can be stacked in any order.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import msgspec

from prism.checked import Checked
from prism.llm.failure import Usage

SEEDS = 2**31
"""Seeds that servers take: from 0 to below this."""

Role = Literal["system", "user", "assistant"]


LONGEST_RETRY = 4096
"""The most tokens of an answer after one that was cut."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    role: Role
    content: str


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True, tag="chat"):
    """A chat to be completed.

    Args:
        messages: the chat so far; the text that is the same in every call comes first.
        schema: the JSON schema of the answer; None for free text.
        seed: of the server's sampling.
        sample: distinguishes draws from the same chat; equal requests with sample 0 share one answer.
        max_tokens: the longest answer; None is the configured one.
        asked_by: the asker's name, for messages: "agent 12 in tick 340"; not part of the request's identity.
        attempt: the number of unusable answers that it has had. It varies the sampling and the limit, and is not part
            of the request's identity: the answer that counts is the only one on a tape.
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
    """A decision over named options.

    Args:
        state: the situation, in words.
        instructions: the question.
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

    Args:
        method: `systemone`, or `logprobs` for the probabilities of letters.
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
        backend: ollama or openai.
        model: the model's name.
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
    version: str
    model: str
    latency_s: float
    dialect: str
    note: str

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

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:
        """Return a weight for each option; None if the server does not offer that. Without weights use `complete`."""

    async def check(self) -> Health:
        """Return the model's health; check that it is there, loaded, and answers within a schema.

        Call it once, at start.

        Raises:
            OracleUnavailableError: it cannot be used; the message is one line that says what to do.
        """

    async def aclose(self) -> None:
        """Close every connection."""

"""The port to language models: two questions, one check, and who answers.

Adapters, the tape, and whatever limits or watches calls all have this interface, so they stack in any order.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import msgspec

Role = Literal["system", "user", "assistant"]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a chat."""

    role: Role
    content: str


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A chat to be completed.

    Args:
        messages: the chat so far; what stays the same from call to call comes first.
        schema: the JSON schema of the answer; None for free text.
        seed: of the server's sampling.
        sample: tells apart draws from the same chat; equal requests with sample 0 share one answer.
        max_tokens: the longest answer; None is the configured one.
        deadline_s: a limit shorter than the configured one; no part of the request's identity.
        asked_by: who asks, for messages: "agent 12 in tick 340"; no part of the request's identity.
    """

    messages: tuple[Message, ...]
    schema: dict[str, Any] | None = None
    seed: int = 0
    sample: int = 0
    max_tokens: int | None = None
    deadline_s: float | None = None
    asked_by: str = ""


class ChoiceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A decision over named options.

    Args:
        state: what is the case, in words.
        instructions: what is to be decided.
        options: what each option means, by its name; None lets the name speak.
        sample, deadline_s, asked_by: as in `ChatRequest`.
    """

    state: str
    instructions: str
    options: dict[str, str | None]
    sample: int = 0
    deadline_s: float | None = None
    asked_by: str = ""


class Completion(msgspec.Struct, frozen=True, kw_only=True, tag="completion"):
    """What a model said. Where a schema was asked for, the text still has to be checked against it."""

    text: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    latency_s: float


class Distribution(msgspec.Struct, frozen=True, kw_only=True, tag="distribution"):
    """How likely a model finds each option, in the order of the request; weights of a positive sum."""

    probabilities: dict[str, float]
    model: str
    prompt_tokens: int
    completion_tokens: int
    latency_s: float


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer depends on besides the request.

    Args:
        backend: ollama or openai.
        model: the model's name.
        dialect: how the server is told a schema.
        options: the sampling options that go with every request.
    """

    backend: str
    model: str
    dialect: str
    options: dict[str, float]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What a check found: the server, the model, and how long a small answer took once the model was loaded."""

    backend: str
    version: str
    model: str
    latency_s: float
    dialect: str
    note: str

    @property
    def server(self) -> str:
        """Which server, for people: "ollama 0.40.12", or "openai" where it names no version."""
        return f"{self.backend} {self.version}".rstrip()


class LanguageModel(Protocol):
    """A model that can be asked.

    Raises:
        LLMFailureException: a call failed; nothing else comes out of `complete` and `choose` but this and
            `OracleUnavailableError`, which only a tape without the answer raises there.
    """

    @property
    def name(self) -> str:
        """What it is, for people: "ollama llama3.2"."""

    @property
    def identity(self) -> Identity:
        """What its answers depend on besides the request."""

    async def complete(self, request: ChatRequest) -> Completion:
        """The model's answer to a chat."""

    async def choose(self, request: ChoiceRequest) -> Distribution | None:
        """A weight for each option, or None where the server does not offer that: then ask by `complete`."""

    async def check(self) -> Health:
        """That the model is there, loaded, and answers within a schema; to be called once, at start.

        Raises:
            OracleUnavailableError: it cannot be used; the message is one line that says what to do.
        """

    async def aclose(self) -> None:
        """Close every connection."""

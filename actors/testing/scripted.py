"""A model and a client that answer from a script: for tests without a socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from prism.llm import ChatRequest, Completion, Identity, LanguageModel, LLMFailureException

T = TypeVar("T", bound=msgspec.Struct)

Answer = str | LLMFailureException | Callable[[ChatRequest], str]
"""A text, a failure to raise, or a function from the request to the text."""


class ScriptedModel(LanguageModel):
    """A language model without probabilities that gives its answers in order, and then repeats the last one.

    `requests` keeps all requests. `latency_s` is the time that each answer says it took; nothing waits.
    """

    name = "scripted"
    identity = Identity(backend="scripted", model="scripted-1", dialect="", options={})

    def __init__(self, *answers: Answer, latency_s: float = 0.25) -> None:
        if not answers:
            raise ValueError("a scripted model needs at least one answer")
        self.requests: list[ChatRequest] = []
        self._answers = answers
        self._latency_s = latency_s

    async def complete(self, request: ChatRequest) -> Completion:
        answer = self._answers[min(len(self.requests), len(self._answers) - 1)]
        self.requests.append(request)
        if isinstance(answer, LLMFailureException):
            raise answer
        text = answer if isinstance(answer, str) else answer(request)
        return Completion(
            text=text, model="scripted-1", prompt_tokens=1, completion_tokens=1, latency_s=self._latency_s
        )


class ScriptedClient:
    """A stand-in for `prism.llm.LLMClient` that returns records and raises errors in order, and repeats the last one.

    `prompts` keeps all prompts.
    """

    def __init__(self, *answers: msgspec.Struct | Exception) -> None:
        if not answers:
            raise ValueError("a scripted client needs at least one answer")
        self.prompts: list[str] = []
        self._answers = answers

    async def call_with_retry(self, prompt: str, response_model: type[T]) -> T:
        """Return the next answer, or raise it.

        Raises:
            TypeError: the answer is no `response_model`.
        """
        answer = self._answers[min(len(self.prompts), len(self._answers) - 1)]
        self.prompts.append(prompt)
        if isinstance(answer, Exception):
            raise answer
        if not isinstance(answer, response_model):
            raise TypeError(f"asked for {response_model.__name__}, and the script has {type(answer).__name__}")
        return answer

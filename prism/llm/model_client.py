"""A client of a model's server: the part that is the same whatever the protocol is."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from time import perf_counter
from typing import Any, ClassVar

from prism.config.model import LLMConfig
from prism.llm.address import address_of
from prism.llm.capabilities import Capabilities, Reply, Schema, canonical, text_of
from prism.llm.http import bounded_call
from prism.llm.json_object import extract_object
from prism.llm.letters import METHOD, LetterChooser
from prism.llm.port import ChatRequest, Completion, Identity, Message
from prism.llm.prompt_log import log_prompt


class ModelClient(ABC):
    """A client of a model's server. A subclass for each protocol sends the requests and reads the replies.

    Args:
        config: host, model and sampling.

    Raises:
        OracleUnavailableError: the host is not an address, or a secret cannot be sent.
    """

    component: ClassVar[str]
    """The name of the protocol, in identities and in errors."""
    dialects: ClassVar[Mapping[Schema, str]]
    """The names that tapes have for dialects, where they are not those of the rungs."""

    _first: Capabilities
    """The way to ask a server that can do everything."""
    _way: Capabilities
    """The way to ask this one."""
    _letters: LetterChooser

    def __init__(self, config: LLMConfig, environment: Mapping[str, str] | None) -> None:
        self._config = config
        self._address = address_of(config, os.environ if environment is None else environment)

    @property
    def name(self) -> str:
        return f"{self.component} {self._config.model}"

    @property
    def identity(self) -> Identity:
        """The settings that its answers depend on, besides the request."""
        return Identity(
            backend=self.component,
            model=self._config.model,
            dialect=self.dialects.get(self._way.schema, self._way.schema),
            options=self._sampling(),
            capabilities=self._way.changes(self._first),
            extra_body=canonical(self._config.request.extra_body),
            method=METHOD if self._letters.is_sound else "",
        )

    async def chat(self, prompt: str, *, schema: dict[str, Any]) -> str:
        """Return the model's answer to one prompt: JSON, without any text around it."""
        message = Message(role="user", content=prompt)
        completion = await self.complete(ChatRequest(messages=(message,), schema=schema, seed=self._config.seed))
        return extract_object(completion.text) or completion.text

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer to a chat."""
        log_prompt(request)
        return await self._complete(request, self._way, self._config.timeout_s)

    async def _complete(self, request: ChatRequest, way: Capabilities, deadline_s: float) -> Completion:
        started_s = perf_counter()
        limit = way.limit(request.limit(self._config.num_predict))
        with bounded_call(self.component, deadline_s, self._address.secrets):
            reply = await self._ask(way, self._body(request, way, limit))
            return Completion(
                text=text_of(reply, way, limit, is_json=request.schema is not None),
                model=reply.model or request.model or self._config.model,
                prompt_tokens=reply.usage.prompt_tokens,
                completion_tokens=reply.usage.completion_tokens,
                latency_s=perf_counter() - started_s,
                cached_tokens=reply.usage.cached_tokens,
            )

    @abstractmethod
    def _sampling(self) -> dict[str, float]:
        """Return the sampling options that go with every request."""

    @abstractmethod
    def _body(self, request: ChatRequest, way: Capabilities, limit: int) -> dict[str, Any]:
        """Return the body of a chat.

        Args:
            limit: the most tokens of the answer.
        """

    @abstractmethod
    async def _ask(self, way: Capabilities, body: dict[str, Any]) -> Reply:
        """Send a chat, and return the reply."""

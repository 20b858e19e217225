"""A call and its completion, in the terms all the inference APIs share."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from actors.testing.answers import Reply, answer, wrong_answer
from actors.testing.wire import Response

__all__ = ["Api", "Ask", "Chatter", "Completion", "Timing", "complete", "count_tokens", "rfc3339"]


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A validated inference request. `only` is "load" or "unload" where nothing is to be generated."""

    model: str
    messages: Sequence[Mapping[str, object]] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    form: object = None
    stream: bool = False
    only: str | None = None
    questions: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def num_ctx(self) -> object:
        """The context length the model must be loaded with: another one makes the server load it again."""
        return self.options.get("num_ctx") or 4096


@dataclass(frozen=True, kw_only=True)
class Timing:
    """When a call arrived (monotonic), what its parts took, and how long a stream will still go on."""

    started_s: float
    load_s: float = 0.0
    run_s: float = 0.0
    ahead_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Completion:
    """What the model said, and the counts the response reports."""

    content: str
    done: bool
    done_reason: str
    prompt_tokens: int
    tokens: int
    timing: Timing
    call: int

    def metrics(self) -> dict[str, int]:
        """Ollama's counts and durations in nanoseconds; the total includes the wait for a slot, the load does not."""
        return {
            "total_duration": int((time.monotonic() - self.timing.started_s + self.timing.ahead_s) * 1e9),
            "load_duration": int(self.timing.load_s * 1e9) + 1_000_000,
            "prompt_eval_count": self.prompt_tokens,
            "prompt_eval_duration": int(self.timing.run_s * 0.2e9) + 1,
            "eval_count": self.tokens,
            "eval_duration": int(self.timing.run_s * 0.8e9) + 1,
        }


class Api(Protocol):
    """One inference API: how it reads a call, what the model says to it, and how it writes the outcome."""

    def parse(self, body: bytes) -> Ask:
        """The call. Raises: ApiError."""

    def say(self, ask: Ask, nonce: object, reply: Reply | None) -> str:
        """The model's content."""

    def say_wrong(self, ask: Ask) -> str:
        """Content of the right shape whose values are outside the options."""

    def render(self, ask: Ask, completion: Completion) -> Response:
        """The response of a call."""

    def render_error(self, status: int, message: str) -> Response:
        """The response of a refusal."""


class Chatter:
    """The content of a chat: the same for all APIs that speak in messages."""

    def say(self, ask: Ask, nonce: object, reply: Reply | None) -> str:
        """The model's content, from the hook if there is one."""
        if reply is not None:
            return reply(ask.messages, ask.options, ask.form)
        return answer(ask.messages, (ask.options.get("seed"), nonce), ask.form)

    def say_wrong(self, ask: Ask) -> str:
        """Content of the right shape whose enumerated values are outside the options."""
        return wrong_answer(ask.form)


def complete(ask: Ask, content: str, *, timing: Timing, call: int, done: bool) -> Completion:
    """The completion with this content, cut at `num_predict` tokens as a model would be."""
    limit = ask.options.get("num_predict")
    tokens = count_tokens(content)
    reason = "stop"
    if isinstance(limit, int) and 0 < limit < tokens:
        content, tokens, reason = content[: limit * 4], limit, "length"
    return Completion(
        content=content,
        done=done,
        done_reason=reason,
        prompt_tokens=sum(4 + count_tokens(str(message.get("content", ""))) for message in ask.messages),
        tokens=tokens,
        timing=timing,
        call=call,
    )


def count_tokens(text: str) -> int:
    """Tokens of a text, at four characters each."""
    return math.ceil(len(text) / 4)


def rfc3339() -> str:
    """The time as Go writes it."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")

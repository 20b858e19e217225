"""A call and its completion, in the terms all the inference APIs share."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from tests.standin.answers import Reply, answer, wrong_answer
from tests.standin.letters import Letters, Tokens, say_letters, say_no_letter, tokens_of
from tests.standin.wire import Response


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A validated inference request. `only` is "load" or "unload" where nothing is to be generated.

    `letters` are the letters whose probabilities it asks for, if any.
    """

    model: str
    messages: Sequence[Mapping[str, object]] = ()
    options: Mapping[str, object] = {}
    form: Any = None
    stream: bool = False
    only: str | None = None
    questions: Mapping[str, Mapping[str, object]] = {}
    letters: Letters | None = None

    @property
    def num_ctx(self) -> object:
        """The context length the model must be loaded with: another one makes the server load it again."""
        return self.options.get("num_ctx") or 4096


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """The moment a call arrived (monotonic), the seconds of its parts, and the remaining seconds of a stream."""

    started_s: float
    load_s: float = 0.0
    run_s: float = 0.0
    ahead_s: float = 0.0


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """The model's words, and the counts the response reports."""

    content: str
    done: bool
    done_reason: str
    prompt_tokens: int
    tokens: int
    timing: Timing
    call: int
    logprobs: Tokens | None = None

    def metrics(self) -> dict[str, int]:
        """Return Ollama's counts, and durations in nanoseconds.

        The total includes the wait for a slot, the load does not.
        """
        return {
            "total_duration": int((time.monotonic() - self.timing.started_s + self.timing.ahead_s) * 1e9),
            "load_duration": int(self.timing.load_s * 1e9) + 1_000_000,
            "prompt_eval_count": self.prompt_tokens,
            "prompt_eval_duration": int(self.timing.run_s * 0.2e9) + 1,
            "eval_count": self.tokens,
            "eval_duration": int(self.timing.run_s * 0.8e9) + 1,
        }


class Api(Protocol):
    """One inference API: reads a call, has the model answer it, and writes the outcome."""

    def parse(self, body: bytes) -> Ask:
        """Return the call.

        Raises:
            ApiError: the request is wrong.
        """

    def say(self, ask: Ask, nonce: object, reply: Reply | None) -> str:
        """Return the model's content."""

    def say_wrong(self, ask: Ask) -> str:
        """Return content of the right shape whose values are outside the options."""

    def render(self, ask: Ask, completion: Completion) -> Response:
        """Return the response of a call."""

    def render_error(self, status: int, message: str) -> Response:
        """Return the response of a refusal."""


class Chatter:
    """The content of a chat: the same for all APIs that speak in messages."""

    def say(self, ask: Ask, nonce: object, reply: Reply | None) -> str:
        """Return the model's content, from the hook if there is one."""
        if ask.letters is not None:
            return say_letters(ask.letters, ask.messages, nonce, reply)
        if reply is not None:
            return reply(ask.messages, ask.options, ask.form)
        return answer(ask.messages, (ask.options.get("seed"), nonce), ask.form)

    def say_wrong(self, ask: Ask) -> str:
        """Return content of the right shape whose enumerated values are outside the options."""
        return wrong_answer(ask.form) if ask.letters is None else say_no_letter()


def complete(ask: Ask, content: str, *, timing: Timing, call: int, done: bool) -> Completion:
    """Return the completion with this content, cut at `num_predict` tokens as a model would be."""
    limit = ask.options.get("num_predict")
    listed = None
    if ask.letters is not None:
        content, listed = tokens_of(ask.letters, content)
        limit = None  # one letter is never too long
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
        logprobs=listed,
    )


def count_tokens(text: str) -> int:
    """Return the tokens of a text, at four characters each."""
    return math.ceil(len(text) / 4)


def rfc3339() -> str:
    """Return the time as Go writes it."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")

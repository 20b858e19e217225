"""What stands on a tape: an answer or what came instead of it under each key, and who answered."""

from __future__ import annotations

import msgspec

from prism.llm.failure import LLMFailureException, Reason
from prism.llm.port import Completion, Distribution, Health, Identity


class NotOffered(msgspec.Struct, frozen=True, tag="not_offered"):
    """The model offers no probabilities for this question."""


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """The call failed."""

    reason: Reason
    attempts: int
    component: str
    status_code: int | None
    detail: str
    latency_s: float

    @classmethod
    def of(cls, error: LLMFailureException) -> Failed:
        """The record of an exception."""
        return cls(
            reason=error.reason,
            attempts=error.attempts,
            component=error.component,
            status_code=error.status_code,
            detail=error.detail,
            latency_s=error.latency_s,
        )

    def error(self) -> LLMFailureException:
        """The exception again."""
        return LLMFailureException(
            self.reason, self.attempts, self.component, self.status_code, self.detail, self.latency_s
        )


class Forgone(msgspec.Struct, frozen=True, tag="forgone"):
    """The question was settled without the model: it was too late, or there was no asking it."""

    source: str
    reason: str


Answer = Completion | Distribution | NotOffered | Failed | Forgone


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Who answered: what the keys of a replay are made from."""

    identity: Identity
    health: Health

    def differences(self, asked: Identity) -> tuple[str, ...]:
        """The settings by which a question asked now is another one than was recorded, as "llm.model a, not b".

        A dialect is none of them: a replay takes the recorded one.
        """
        was = self.identity
        pairs: list[tuple[str, object, object]] = [
            ("oracle.backend", was.backend, asked.backend),
            ("llm.model", was.model, asked.model),
        ]
        shared = sorted(was.options.keys() & asked.options.keys())
        pairs += [(f"llm.{name}", f"{was.options[name]:.10g}", f"{asked.options[name]:.10g}") for name in shared]
        return tuple(f"{key} {recorded}, not {now}" for key, recorded, now in pairs if recorded != now)


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """How much is on a tape.

    Args:
        answers: of the model.
        failures: calls that failed.
        fallbacks: questions that took their first option, be it that a call failed or that none was made.
    """

    answers: int
    failures: int
    fallbacks: int

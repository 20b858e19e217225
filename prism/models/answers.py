"""The answers of a language model in the economy, and the record of its reasoning.

Every bound is checked at construction and at decoding, so any value of these types can be trusted.
The bounds on the length of a text are not in the JSON schema: servers that turn a schema into a grammar unroll them
character by character, and some refuse to. The schema says them in words.

The docstrings of `PolicyDecision`, `ValidationResult` and `StateUpdateDecision` are part of their JSON schemas. Models
read the schemas and a tape's keys are made from them, so a changed word makes every recorded answer unusable.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from prism.checked import Checked
from prism.quoting import quoted

Component = Literal["agent", "validator", "engine"]
"""The components that reason."""

ACTION_CHARS: Final = 500
REASONING_CHARS: Final = (10, 2000)
RATE_PERCENT: Final = (-100.0, 1000.0)
"""The range of an interest rate: no lender loses more than everything, and a rate above 1,000% is a typing error."""

Confidence = Annotated[float, Meta(ge=0.0, le=1.0, description="how sure, from 0 to 1")]
_Reasoning = Annotated[str, Meta(description="step-by-step explanation, 10 to 2000 characters")]
_Echo = Annotated[str, Meta(description="may be left out")]


class PolicyDecision(Checked, frozen=True, kw_only=True):
    """A policy that an agent proposes.

    Args:
        action: what is to be done: one line of 1 to 500 characters.
        reasoning: why, in 10 to 2,000 characters.
        confidence: from 0 to 1.

    Raises:
        ValueError: a value out of its bounds; `msgspec.ValidationError`, which is one, at decoding.
    """

    action: Annotated[str, Meta(description="one specific policy action, on one line of at most 500 characters")]
    reasoning: _Reasoning
    confidence: Confidence

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_line("action", self.action)
        _check_reasoning(self.reasoning)


class ValidationResult(Checked, frozen=True, kw_only=True):
    """Whether an action belongs to the domain.

    Args:
        is_valid: whether it does.
        reasoning: why, in 10 to 2,000 characters.
        confidence: from 0 to 1.
        action_evaluated: the action judged, of any length. The caller writes it, whatever the model says here: a record
            names what was asked about, not a paraphrase.

    Raises:
        ValueError: a value out of its bounds.
    """

    is_valid: Annotated[bool, Meta(description="whether the action belongs to the domain")]
    reasoning: _Reasoning
    confidence: Confidence
    action_evaluated: _Echo = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_reasoning(self.reasoning)


class StateUpdateDecision(Checked, frozen=True, kw_only=True):
    """What an action does to the interest rate.

    Args:
        new_interest_rate: in percent, from -100 to 1,000.
        reasoning: why, in 10 to 2,000 characters.
        confidence: from 0 to 1.
        action_applied: the action applied; the caller writes it, as with `ValidationResult.action_evaluated`.

    Raises:
        ValueError: a value out of its bounds.
    """

    new_interest_rate: Annotated[
        float, Meta(ge=RATE_PERCENT[0], le=RATE_PERCENT[1], description="the new interest rate in percent")
    ]
    reasoning: _Reasoning
    confidence: Confidence
    action_applied: _Echo = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_reasoning(self.reasoning)


class LLMReasoningChain(Checked, frozen=True, kw_only=True, omit_defaults=True):
    """The record of one decision: the question, the answer and the reasoning.

    Args:
        component: the component that reasoned: agent, validator or engine.
        agent_name: the agent whose action it is about.
        prompt: the question.
        response: the model's answer, unchanged.
        reasoning: the model's explanation.
        timestamp: in simulated UTC.
        duration_ms: the time that the answer took, without waits and failed attempts; 0 if it was not measured, and in
            a run's journal, which holds nothing that a clock decides.
        model: the model that answered; empty if the client does not say.
        retry_count: 0 or 1; in a journal always 0.
        confidence: the model's own confidence in the decision, from 0 to 1. None, which is not written, in records of a
            version of PRISM that did not keep it.

    Raises:
        ValueError: no such component, a confidence out of its bounds, a time that is not in UTC, or a negative count.
    """

    component: Component
    agent_name: str
    prompt: str
    response: str
    reasoning: str
    timestamp: datetime
    duration_ms: Annotated[int, Meta(ge=0)]
    model: str
    retry_count: Annotated[int, Meta(ge=0)]
    confidence: Confidence | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.timestamp.utcoffset() != timedelta(0):
            raise ValueError(f"timestamp: expected a time in UTC, got {self.timestamp.isoformat()!r}")

    @property
    def chain_id(self) -> str:
        """The name by which an action refers to it: 16 hex digits, the same for the same question, answer and time."""
        facts = (self.component, self.agent_name, self.prompt, self.response, self.timestamp)
        return blake2b(msgspec.json.encode(facts), digest_size=8).hexdigest()

    def __str__(self) -> str:
        """Return the record as one line of logfmt, without question and answer, which are long."""
        return (
            f"llm_reasoning_chain component={self.component} agent={quoted(self.agent_name)} chain={self.chain_id}"
            f" at={self.timestamp.isoformat()} model={quoted(self.model)} duration_ms={self.duration_ms}"
            f" retry_count={self.retry_count} confidence={self.confidence} reasoning={quoted(self.reasoning)}"
        )


def _check_line(field: str, text: str) -> None:
    if not 1 <= len(text) <= ACTION_CHARS:
        raise ValueError(f"{field}: expected a line of 1 to {ACTION_CHARS} characters, got {_shown(text)}")
    if text.splitlines() != [text] or not text.strip():
        raise ValueError(f"{field}: expected one line that is not blank, got {_shown(text)}")


def _check_reasoning(text: str) -> None:
    least, most = REASONING_CHARS
    if not least <= len(text) <= most:
        raise ValueError(f"reasoning: expected {least} to {most} characters, got {_shown(text)}")


def _shown(text: str) -> str:
    return f"{text[:40]!r} ({len(text)} characters)"

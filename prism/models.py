"""The words between a nation, a validator and an engine: answers of a model, actions, and the state of an economy.

Every bound is checked at construction and at decoding. Bounds on the length of a text are not in the JSON schema, which
says them in words: servers that turn a schema into a grammar unroll them character by character, and some refuse to.

The docstrings of `PolicyDecision`, `ValidationResult` and `StateUpdateDecision` are part of their JSON schemas. Models
read the schemas and a tape's keys are made from them, so a changed word makes every recorded answer unusable.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from prism.checked import Checked
from prism.quoting import quoted

Component = Literal["agent", "validator", "engine"]
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
        text = self.action
        if not 1 <= len(text) <= ACTION_CHARS:
            raise ValueError(f"action: expected a line of 1 to {ACTION_CHARS} characters, got {_shown(text)}")
        if text.splitlines() != [text] or not text.strip():
            raise ValueError(f"action: expected one line that is not blank, got {_shown(text)}")
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
        response: the model's answer, unchanged.
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


def _check_reasoning(text: str) -> None:
    least, most = REASONING_CHARS
    if not least <= len(text) <= most:
        raise ValueError(f"reasoning: expected {least} to {most} characters, got {_shown(text)}")


def _shown(text: str) -> str:
    return f"{text[:40]!r} ({len(text)} characters)"


_ECONOMIC: Final = re.compile(
    r"\b(?:rates?|interest|monetary|fiscal|econom\w*|inflation\w*|disinflation\w*|deflation\w*|gdp|growth|recession\w*"
    r"|tax\w*|budget\w*|deficits?|surplus\w*|debts?|bonds?|spending|expenditures?|subsid\w+|stimul\w+|austerity"
    r"|trad(?:e|ing)|tariffs?|exports?|imports?|sanctions?|quotas?|customs|currenc\w+|exchange|devalu\w+"
    r"|bank\w*|credit|lend\w*|loans?|borrow\w*|liquidity|reserves?|quantitative|money|financ\w+|capital|invest\w*"
    r"|employment|unemployment|unemployed|jobs?|labou?r|wages?|pensions?|welfare|prices?|demand|consumption|savings?"
    r"|industr\w+|manufactur\w+|production|productiv\w+|infrastructure|market\w*|privati[sz]\w+|nationali[sz]\w+"
    r"|business\w*)\b",
    re.IGNORECASE,
)


class Action(Checked, frozen=True, kw_only=True):
    """An action of an agent: free text, and the `chain_id` of the reasoning behind it, if any.

    Only an action that is `validated` changes anything.

    Raises:
        ValueError: as of `Checked`, or `validated` is True and the result says that the action is not valid.
    """

    agent_name: str
    action_string: str
    policy_decision: PolicyDecision | None = None
    reasoning_chain_id: str = ""
    validated: bool = False
    validation_result: ValidationResult | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.validated and self.validation_result is not None and not self.validation_result.is_valid:
            raise self.refused("validated", "expected false: validation_result says that the action is not valid")

    @classmethod
    def proposed(cls, agent_name: str, decision: PolicyDecision, chain: LLMReasoningChain) -> Action:
        return cls(
            agent_name=agent_name,
            action_string=decision.action,
            policy_decision=decision,
            reasoning_chain_id=chain.chain_id,
        )

    def marked(self, result: ValidationResult) -> Action:
        return msgspec.structs.replace(self, validated=result.is_valid, validation_result=result)


def is_economic(text: str) -> bool:
    """Return whether the text has a word of economic policy: rates, taxes, spending, trade, prices, work, production.

    It is a list of words, so it is quick and shallow: it tells a tax from a tank, and no more than that.
    """
    return _ECONOMIC.search(text) is not None


class NationState(Checked, frozen=True, kw_only=True):
    """A nation with its name, not blank, and its strength, 0 or more. Raises: ValueError."""

    name: str
    economic_strength: Annotated[float, Meta(ge=0.0)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name.strip():
            raise ValueError(f"name: expected a text that is not blank, got {self.name!r}")


class GlobalState(Checked, frozen=True, kw_only=True):
    """The indicators that every nation sees: percent a year or of the labour force, and a value in units of account.

    The defaults are an economy at rest: a neutral real rate of 2%. Raises a ValueError for a value out of its range.
    """

    interest_rate: float = 4.0
    inflation: float = 2.0
    gdp_growth: float = 2.0
    unemployment: Annotated[float, Meta(ge=0.0, le=100.0)] = 5.0
    total_economic_value: Annotated[float, Meta(ge=0.0)] = 1000.0

    def described(self) -> str:
        rows = (
            ("GDP Growth", self.gdp_growth),
            ("Inflation", self.inflation),
            ("Unemployment", self.unemployment),
            ("Interest Rate", self.interest_rate),
        )
        return "\n".join(f"- {name}: {round(value, 2)}%" for name, value in rows)


class SimulationState(Checked, frozen=True, kw_only=True):
    """An economy after a turn.

    Args:
        turn: the number of turns so far; a turn is a tick of the simulated clock.
        reasoning_chains: the reasoning of the last turn, in the order of its actions.

    Raises:
        ValueError: a negative turn, or a nation under another name than its own.
    """

    turn: Annotated[int, Meta(ge=0)]
    agents: dict[str, NationState]
    global_state: GlobalState
    reasoning_chains: tuple[LLMReasoningChain, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, nation in self.agents.items():
            if name != nation.name:
                raise ValueError(f"agents: expected {nation.name!r} under its own name, got it under {name!r}")

    def updated(self, decision: StateUpdateDecision) -> SimulationState:
        """Return the state with the interest rate of an engine's answer, and all else unchanged."""
        return replace(self, global_state=replace(self.global_state, interest_rate=decision.new_interest_rate))

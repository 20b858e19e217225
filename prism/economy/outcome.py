"""What came of a deliberation: the decision and the reasoning behind it, as an answer, an effect and a record alike."""

from __future__ import annotations

import msgspec

from prism.models import LLMReasoningChain, PolicyDecision, StateUpdateDecision, ValidationResult


class Proposed(msgspec.Struct, frozen=True, kw_only=True, tag="proposed"):
    """A nation has decided on a policy."""

    decision: PolicyDecision
    chain: LLMReasoningChain


class Reviewed(msgspec.Struct, frozen=True, kw_only=True, tag="reviewed"):
    """A validator has judged a proposal."""

    decision: ValidationResult
    chain: LLMReasoningChain


class Applied(msgspec.Struct, frozen=True, kw_only=True, tag="applied"):
    """An engine has worked out what a valid proposal does."""

    decision: StateUpdateDecision
    chain: LLMReasoningChain


Outcome = Proposed | Reviewed | Applied
"""The three steps of a policy. Each is whole: nothing else is needed to carry it out, or to tell how it came about."""

"""What a nation proposes to do, on its way from the agent past the validator to the engine."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from prism.models import LLMReasoningChain, PolicyDecision, ValidationResult

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


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """An action of an agent. It is free text, not one of a list.

    Args:
        agent_name: whose it is.
        action_string: what is to be done.
        policy_decision: the decision it comes from; None if it comes from elsewhere.
        reasoning_chain_id: the `chain_id` of the reasoning behind it; empty if there is none.
        validated: whether a validator found it valid; what is False changes nothing.
        validation_result: what the validator said; None before it has been asked.
    """

    agent_name: str
    action_string: str
    policy_decision: PolicyDecision | None = None
    reasoning_chain_id: str = ""
    validated: bool = False
    validation_result: ValidationResult | None = None

    @classmethod
    def proposed(cls, agent_name: str, decision: PolicyDecision, chain: LLMReasoningChain) -> Action:
        """The action that an agent has decided on; nobody has validated it yet."""
        return cls(
            agent_name=agent_name,
            action_string=decision.action,
            policy_decision=decision,
            reasoning_chain_id=chain.chain_id,
        )

    def marked(self, result: ValidationResult) -> Action:
        """The action as a validator has judged it."""
        return msgspec.structs.replace(self, validated=result.is_valid, validation_result=result)


def is_economic(text: str) -> bool:
    """Whether the text has a word of economic policy in it: rates, taxes, spending, trade, prices, work, production.

    A list of words, so it is quick and shallow: it tells a tax from a tank, and no more than that.
    """
    return _ECONOMIC.search(text) is not None

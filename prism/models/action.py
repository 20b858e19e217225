"""An action: the proposal of a nation, on its way from the agent through the validator to the engine."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from prism.checked import Checked
from prism.models.answers import LLMReasoningChain, PolicyDecision, ValidationResult

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
    """An action of an agent. It is free text, not one of a list.

    Args:
        reasoning_chain_id: the `chain_id` of the reasoning behind it; empty if there is none.
        validated: whether a validator found it valid; an action with False changes nothing.

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

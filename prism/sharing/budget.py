"""A budget of calls or money, spent evenly over simulated time, and most where audits say that sharing is most wrong.

All of it follows from the questions of earlier ticks and the judgements that count.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from prism.config.model import PricesConfig
from prism.llm.spending import Spent, cost_usd
from prism.sharing.records import Judged

WINDOW: Final = 24
"""The latest ticks by whose questions the number of those of the next is estimated."""
BACKLOG: Final = 0.2
"""The share of the budget that earlier ticks have left which one tick may spend: a burst must not take all of them."""
AT_ONCE: Final = 0.2
"""The share of the budget that may be spent from the first tick on: all later questions gain by it."""
OWNED: Final = 0.5
"""The part of that which asks archetypes, before audits count."""
EVEN: Final = 0.5
"""The share of the budget that is spent evenly; the rest goes where the divergence is."""
LEAST: Final = 0.1
"""The part of what an even tick spends that every tick may, also after others have spent too much: a tick whose
questions cannot be audited would be missing from the mean, and one where they hardly can would have all its weight."""
DRAWN_IN: Final = 5.0
"""The audits of the mean divergence with which the divergence of each archetype is drawn towards the mean."""

PROMPT_TOKENS: Final = 400
COMPLETION_TOKENS: Final = 20
"""The tokens that a call is taken to read and write where none has been counted."""

Key = tuple[object, ...]


class Price(NamedTuple):
    """The price of a judgement, in calls or in US dollars.

    Args:
        of: returns what a judgement has cost.
        expected: what one is taken to cost before the first of them counts.
    """

    of: Callable[[Judged], float]
    expected: float


def price_in_usd(prices: PricesConfig, calls: int) -> Price:
    """Return the price of judgements in US dollars.

    Tokens that a server had in its cache count as all others: which they are is a matter of time, and no result may be.

    Args:
        prices: of tokens, both known and not both 0.
        calls: that a judgement is taken to need.
    """

    def usd(prompt_tokens: int, completion_tokens: int) -> float:
        return cost_usd((Spent("ok", 1, 0.0, prompt_tokens, 0, completion_tokens),), prices) or 0.0

    a_call = usd(PROMPT_TOKENS, COMPLETION_TOKENS)
    return Price(
        lambda judged: usd(judged.prompt_tokens, judged.completion_tokens) or judged.calls_at_least * a_call,
        calls * a_call,
    )


class Budget:
    """The chances with which questions are asked by themselves.

    Args:
        amount: of the whole run, in the unit of the price.
        price: of a judgement.
        ticks: of the whole run.
        agents: the most questions in a tick, before any has been seen.
        deliberation: ticks from a question to its decision.
    """

    def __init__(self, amount: float, price: Price, *, ticks: int, agents: int, deliberation: int) -> None:
        self._amount = amount
        self._price = price
        self._ticks = max(1, ticks)
        self._agents = float(max(1, agents))
        self._counted = 0
        self._spent = 0.0
        """The cost of the judgements that count."""
        self._rate = 0.0
        self._granted: deque[float] = deque(maxlen=deliberation)
        """The part of the budget granted in each of the latest ticks, whose judgements do not count yet."""
        self._errors: dict[Key, tuple[float, int]] = {}
        """`{archetype: (sum of its audits' divergences, its audits)}`."""
        self._sum = self._questions = 0.0
        """The sum of all audits' divergences, each for the questions that it stands for, and the number of these."""

    @property
    def owners(self) -> float:
        """The questions asked for all after which archetypes are left to audits."""
        return self._amount * AT_ONCE * OWNED / self._each

    @property
    def _each(self) -> float:
        """The mean cost of the judgements that count."""
        return self._spent / self._counted if self._counted else self._price.expected

    def count(self, judged: Sequence[Judged], divergences: Sequence[float]) -> None:
        """Count the judgements of a tick, with the divergence of each audit among them in bits."""
        self._counted += len(judged)
        self._spent += math.fsum(map(self._price.of, judged))
        audits = [each for each in judged if each.is_audit]
        for each, bits in zip(audits, divergences, strict=True):
            total, number = self._errors.get(each.key, (0.0, 0))
            self._errors[each.key] = total + max(0.0, bits), number + 1
            self._sum += each.weight * max(0.0, bits)
            self._questions += each.weight

    def begin(self, tick: int, questions: Mapping[int, int]) -> None:
        """Grant what a tick may spend; `questions` is `{tick: its questions}` of earlier ticks."""
        even = self._amount / self._ticks
        allowed = self._amount * (AT_ONCE + (1.0 - AT_ONCE) * (tick + 1) / self._ticks)
        left = max(0.0, allowed - self._spent - math.fsum(self._granted))
        granted = max(LEAST * even, min(left, even) + BACKLOG * max(0.0, left - even))
        self._granted.append(granted)
        self._rate = granted / self._each / self._in_next(tick, questions)

    def _in_next(self, tick: int, questions: Mapping[int, int]) -> float:
        """Return the questions to expect in a tick: as in the latest ticks, or as in the last if it had more."""
        seen = [questions.get(each, 0) for each in range(max(0, tick - WINDOW), tick)]
        if not any(seen):
            return self._agents
        return max(1.0, sum(seen) / len(seen), float(seen[-1]))

    def chance(self, key: Key) -> float:
        """Return the probability with which a question of this archetype is asked by itself."""
        if not self._sum:
            return min(1.0, self._rate)
        mean = self._sum / self._questions
        total, audits = self._errors.get(key, (0.0, 0))
        own = (total + DRAWN_IN * mean) / (audits + DRAWN_IN)
        return min(1.0, self._rate * (EVEN + (1.0 - EVEN) * own / mean))

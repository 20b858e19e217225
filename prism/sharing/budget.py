"""A budget of calls or money, spent evenly over simulated time, and most where audits say that sharing is most wrong.

All of it follows from the questions of earlier ticks and the judgements that count.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import dropwhile
from statistics import fmean
from typing import Final, NamedTuple

from prism.config.model import PricesConfig
from prism.llm.spending import Spent, cost_usd
from prism.sharing.records import Judged

WINDOW: Final = 24
"""The latest ticks by whose questions the number of those of the next is estimated."""
BURST: Final = 4.0
"""A tick may have so many times the questions that were expected before its chances become smaller."""
EARLY: Final = 0.1
"""The share of the budget that is spent on audits in the first ticks with questions: all later questions gain by it."""
EARLY_EACH: Final = 0.2
"""The part of it that is left which each of them may spend."""
OWNED: Final = 0.1
"""The share of the budget that asks archetypes, before audits make them."""
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
        unit: `calls` or `usd`.
    """

    of: Callable[[Judged], float]
    expected: float
    unit: str = "calls"


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
        "usd",
    )


class _Grant(NamedTuple):
    """The grant of a tick: what it may spend in the mean, and its expected questions; 0 if none was seen before."""

    granted: float
    expected: float

    def each(self, number: int) -> float:
        """Return what this question of the tick may spend: `number` is how many it has so far, this one included.

        Where more come than were expected, each has a smaller chance, so that all together spend no more than grows
        with the logarithm of their number.
        """
        return self.granted / (max(self.expected, number / BURST) if self.expected else number)


class Budget:
    """The chances with which questions are asked by themselves.

    Args:
        amount: of the whole run, in the unit of the price.
        price: of a judgement.
        ticks: of the whole run.
        deliberation: ticks from a question to its decision.
    """

    def __init__(self, amount: float, price: Price, *, ticks: int, deliberation: int) -> None:
        self.amount = amount
        self.price = price
        self._ticks = max(1, ticks)
        self._counted = 0
        self._spent = self._owned = 0.0
        """The cost of the judgements that count, and of those for all among them."""
        self._first = 0
        """The tick of the first of them."""
        self._grant = _Grant(0.0, 0.0)
        """The grant of this tick."""
        self._granted: deque[float] = deque(maxlen=deliberation)
        """The amounts granted in the latest ticks, whose judgements do not count yet."""
        self._errors: dict[Key, tuple[float, int]] = {}
        """`{archetype: (sum of its audits' divergences, its audits)}`."""
        self._sum = self._questions = 0.0
        """The sum of all audits' divergences, each for the questions that it stands for, and the number of these."""

    @property
    def owners(self) -> float:
        """The questions asked for all after which archetypes are left to audits."""
        return self.amount * OWNED / self._each

    @property
    def _each(self) -> float:
        """The mean cost of the judgements that count."""
        return self._spent / self._counted if self._counted else self.price.expected

    def count(self, judged: Sequence[Judged], divergences: Sequence[float]) -> None:
        """Count the judgements of a tick, with the divergence of each audit among them in bits."""
        if judged and not self._counted:
            self._first = judged[0].asked
        self._counted += len(judged)
        self._spent += math.fsum(map(self.price.of, judged))
        self._owned += math.fsum(self.price.of(each) for each in judged if not each.is_audit)
        audits = [each for each in judged if each.is_audit]
        for each, bits in zip(audits, divergences, strict=True):
            total, number = self._errors.get(each.key, (0.0, 0))
            self._errors[each.key] = total + max(0.0, bits), number + 1
            self._sum += each.weight * max(0.0, bits)
            self._questions += each.weight

    def begin(self, tick: int, questions: Mapping[int, int]) -> None:
        """Grant what a tick may spend; `questions` is `{tick: its questions}` of earlier ticks."""
        even, ticks = self.amount * (1.0 - OWNED - EARLY) / self._ticks, max(1, self._ticks - tick)
        early = EARLY * self.amount * (1.0 - EARLY_EACH) ** (tick - self._first if self._counted else 0)
        owned = max(0.0, OWNED * self.amount - self._owned) * min(1.0, ticks / self._ticks)
        left = self.amount - self._spent - math.fsum(self._granted) - early - owned
        even += (left - ticks * even) / (ticks + len(self._granted))
        counts = (questions.get(each, 0) for each in range(max(0, tick - WINDOW), tick))
        seen = list(dropwhile(operator.not_, counts))
        granted = max(LEAST * self.amount / self._ticks, even + EARLY_EACH * early)
        self._granted.append(granted)
        self._grant = _Grant(granted, fmean(seen) if seen else 0.0)

    def chance(self, key: Key, number: int) -> float:
        """Return the probability with which a question of this archetype is asked by itself.

        Args:
            number: of the questions of this tick so far, this one included.
        """
        rate = self._grant.each(number) / self._each
        if not self._sum:
            return min(1.0, rate)
        mean = self._sum / self._questions
        total, audits = self._errors.get(key, (0.0, 0))
        own = (total + DRAWN_IN * mean) / (audits + DRAWN_IN)
        return min(1.0, rate * (EVEN + (1.0 - EVEN) * own / mean))

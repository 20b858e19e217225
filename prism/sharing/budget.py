"""A budget of calls, spent evenly over simulated time, and most where audits say that sharing is most wrong.

All of it follows from the questions of earlier ticks and the judgements that count.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

from prism.sharing.records import Judged

WINDOW: Final = 24
"""The latest ticks by whose questions the number of those of the next is estimated."""
BACKLOG: Final = 0.2
"""The share of the calls that earlier ticks have left which one tick may spend: a burst must not take all of them."""
AT_ONCE: Final = 0.2
"""The share of all calls that may be spent from the first tick on: all later questions gain by them."""
OWNED: Final = 0.5
"""The part of those that asks archetypes, before audits count."""
EVEN: Final = 0.5
"""The share of the calls that is spent evenly; the rest goes where the divergence is."""
DRAWN_IN: Final = 5.0
"""The audits of the mean divergence with which the divergence of each archetype is drawn towards the mean."""

Key = tuple[object, ...]


class Budget:
    """The chances with which questions are asked by themselves.

    Args:
        calls: in the whole run.
        ticks: of the whole run.
        agents: the most questions in a tick, before any has been seen.
        deliberation: ticks from a question to its decision.
    """

    def __init__(self, calls: int, ticks: int, agents: int, deliberation: int) -> None:
        self._calls = calls
        self.owners = calls * AT_ONCE * OWNED
        """The questions asked for all after which archetypes are left to audits."""
        self._ticks = max(1, ticks)
        self._agents = float(max(1, agents))
        self._counted = 0
        self._rate = 0.0
        self._granted: deque[float] = deque(maxlen=deliberation + 1)
        """The calls granted in the latest ticks, whose judgements do not count yet."""
        self._errors: dict[Key, tuple[float, int]] = {}
        """`{archetype: (sum of its audits' divergences, its audits)}`."""
        self._sum, self._audits = 0.0, 0

    def count(self, judged: Sequence[Judged], divergences: Sequence[float]) -> None:
        """Count the judgements of a tick, with the divergence of each audit among them in bits."""
        self._counted += len(judged)
        audits = [each for each in judged if each.is_audit]
        for each, bits in zip(audits, divergences, strict=True):
            total, number = self._errors.get(each.key, (0.0, 0))
            self._errors[each.key] = total + max(0.0, bits), number + 1
            self._sum += max(0.0, bits)
            self._audits += 1

    def begin(self, tick: int, questions: Mapping[int, int]) -> None:
        """Grant the calls of a tick; `questions` is `{tick: its questions}` of earlier ticks."""
        each = self._calls / self._ticks
        allowed = self._calls * (AT_ONCE + (1.0 - AT_ONCE) * (tick + 1) / self._ticks)
        left = max(0.0, allowed - self._counted - math.fsum(self._granted))
        granted = min(left, each) + BACKLOG * max(0.0, left - each)
        self._granted.append(granted)
        self._rate = granted / self._in_next(tick, questions)

    def _in_next(self, tick: int, questions: Mapping[int, int]) -> float:
        """Return the questions to expect in a tick: as in the latest ticks, or as in the last if it had more."""
        seen = [questions.get(each, 0) for each in range(max(0, tick - WINDOW), tick)]
        if not any(seen):
            return self._agents
        return max(1.0, sum(seen) / len(seen), float(seen[-1]))

    def chance(self, key: Key) -> float:
        """Return the probability with which a question of this archetype is asked by itself."""
        if not self._audits or not self._sum:
            return min(1.0, self._rate)
        mean = self._sum / self._audits
        total, audits = self._errors.get(key, (0.0, 0))
        own = (total + DRAWN_IN * mean) / (audits + DRAWN_IN)
        return min(1.0, self._rate * (EVEN + (1.0 - EVEN) * own / mean))

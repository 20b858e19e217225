"""How many tasks the event loop has: one for each agent, a dozen more, and whatever leaks.

Nobody counts them but by listing them, which takes 0.3 us each and holds up the loop. So they are counted seldom, and
in a run of very many agents not at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PERIOD_S = 5.0
AGENTS_MAX = 100_000
"""Beyond this many agents a count would hold up the loop for more than about 25 ms."""


class TaskCount:
    """Counts the tasks of the loop it is called on.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.latest: int | None = None
        """None before the first count."""
        self._clock = clock
        self._due = float("-inf")

    def look(self, agents: int) -> None:
        """Count them, if the last count is a while ago and there are not too many agents."""
        if agents > AGENTS_MAX or self._clock() < self._due:
            return
        self.latest = len(asyncio.all_tasks())
        self._due = self._clock() + PERIOD_S

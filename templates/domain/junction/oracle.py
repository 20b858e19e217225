"""The embedded oracle: it needs no server, and gives the same answers in any order of questions."""

from __future__ import annotations

from collections.abc import Sequence

from junction.light import Light, TrafficLight
from prism.statechart import Oracle


class Patience(Oracle[Light]):
    """Turns a light green again while many cars wait, and red otherwise.

    Args:
        cars: the number of waiting cars from which it turns green.
    """

    waits = False  # it computes its answers, so no deadline applies

    def __init__(self, cars: int) -> None:
        self._cars = cars

    async def ask(
        self,
        agent: TrafficLight,
        current_state: Light,
        trigger: str,
        options: Sequence[Light],
        context: int | None = None,
    ) -> Light:
        """Return one of the options."""
        wanted = Light.GREEN if (context or 0) >= self._cars else Light.RED
        return wanted if wanted in options else options[0]

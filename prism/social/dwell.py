"""Dwell times: how long a person looks at a post, and writes.

Sources: Yin et al., "Silence is also evidence: interpreting dwell time for recommendation from psychological
perspective" (2013), for log-normal times of looking; Sobkowicz et al., "Lognormal distributions of user post lengths in
Internet discussions" (2013), for log-normal lengths of what people write.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from prism.columns import Ints
from prism.config.model import DwellConfig
from prism.rng import Draw, uniform, uniforms
from prism.statechart.definition import Delay, DelayLaw

_LOOK: Final = 0
_WRITE: Final = 1


class Dwell:
    """The dwell times of people, each a draw of the person and the tick at which it begins.

    Args:
        config: the medians and spreads.
        seed: the run's seed.
        tick_seconds: simulated seconds a tick.
    """

    def __init__(self, config: DwellConfig, seed: int, tick_seconds: float) -> None:
        self._seed = seed
        self._laws = (
            _law(config.look_median_s, config.look_sigma, tick_seconds),
            _law(config.write_median_s, config.write_sigma, tick_seconds),
        )

    def look(self, agent: int, tick: int) -> int:
        """Return the ticks for which a person looks at the post that they see at this tick; 1 or more."""
        return self._ticks(agent, tick, _LOOK)

    def write(self, agent: int, tick: int) -> int:
        """Return the ticks for which a person writes what they begin at this tick; 1 or more."""
        return self._ticks(agent, tick, _WRITE)

    def looks(self, agents: Ints, tick: int) -> int | Ints:
        """Return `look` of each of these people; one number if it is the same for all."""
        return self._all(agents, tick, _LOOK)

    def writes(self, agents: Ints, tick: int) -> int | Ints:
        """Return `write` of each of these people; one number if it is the same for all."""
        return self._all(agents, tick, _WRITE)

    def _all(self, agents: Ints, tick: int, which: int) -> int | Ints:
        law = self._laws[which]
        if law is None:
            return 1
        draws = uniforms(self._seed, agents, tick, Draw.DWELL, which)
        return np.array([law.ticks(draw) for draw in draws.tolist()], dtype=np.int64)

    def _ticks(self, agent: int, tick: int, which: int) -> int:
        law = self._laws[which]
        return 1 if law is None else law.ticks(uniform(self._seed, agent, tick, Draw.DWELL, which))


def _law(median_s: float, sigma: float, tick_seconds: float) -> Delay | None:
    """Return the law of a time in ticks; None if it is always one tick."""
    if not median_s:
        return None
    return Delay(trigger="", law=DelayLaw.LOG_NORMAL, numbers=(median_s / tick_seconds, sigma))

"""The intentions of convinced people: which action they take on a post that clearly interests them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints
from prism.config.attributes import TRAITS
from prism.config.model import ACTIONS, IntentionsConfig
from prism.rng import pick, picks
from prism.social.traits import Traits


class Intentions:
    """The action of a convinced person, drawn by weights that the person's traits raise and lower.

        weight(a) = w_a * exp(sum over traits of b[trait][a] * trait)

    with w_a from the setting `base`. It is a multinomial logit with the constants ln(w_a).

    Args:
        config: the weights w and the coefficients b. Uncalibrated.
    """

    def __init__(self, config: IntentionsConfig) -> None:
        self._base = tuple(config.base.get(action, 0.0) for action in ACTIONS)
        self._coefficients = tuple(
            tuple((trait, getattr(config, trait)[action]) for trait in TRAITS if getattr(config, trait).get(action))
            for action in ACTIONS
        )
        self._latest: tuple[Sequence[Traits], list[list[float]]] = (), []
        """The traits for which weights were wanted last, which are mostly the same ones, and the weights."""

    def weights(self, traits: Traits) -> list[float]:
        """Return the weight of each action of ACTIONS, in order; one at least is above 0."""
        return [
            weight * math.exp(math.fsum(b * getattr(traits, trait) for trait, b in coefficients))
            for weight, coefficients in zip(self._base, self._coefficients, strict=True)
        ]

    def drawn_all(self, traits: Sequence[Traits], rows: Sequence[int] | Ints, units: NDArray[np.float64]) -> list[str]:
        """Return `drawn` of each unit, for a person with the traits of the row at the same place."""
        if traits is not self._latest[0]:
            self._latest = traits, [self.weights(each) for each in traits]
        return [ACTIONS[place] for place in picks(self._latest[1], rows, units).tolist()]

    def drawn(self, traits: Traits, unit: float) -> str:
        """Return the action at which `unit`, a float in [0, 1), falls."""
        return ACTIONS[pick(self.weights(traits), unit)]


DEFAULT_INTENTIONS: Final = Intentions(IntentionsConfig())

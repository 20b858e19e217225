"""The intentions of convinced people: which action they take on a post that clearly interests them."""

from __future__ import annotations

import math
from typing import Final

from prism.config.attributes import TRAITS
from prism.config.model import IntentionsConfig
from prism.rng import pick
from prism.social.traits import Traits

INTENTIONS: Final = (("like", 0.65), ("reshare", 0.2), ("reply", 0.15))
"""The actions of a convinced person, and their probabilities if no trait counts. Uncalibrated."""

_ACTIONS: Final = tuple(name for name, _ in INTENTIONS)


class Intentions:
    """The action of a convinced person, drawn by weights that the person's traits raise and lower.

        weight(a) = w_a * exp(sum over traits of b[trait][a] * trait)

    with w_a from INTENTIONS. It is a multinomial logit with the constants ln(w_a).

    Args:
        config: the coefficients b. Uncalibrated.
    """

    def __init__(self, config: IntentionsConfig) -> None:
        self._coefficients = tuple(
            tuple((trait, getattr(config, trait)[action]) for trait in TRAITS if getattr(config, trait).get(action))
            for action in _ACTIONS
        )

    def weights(self, traits: Traits) -> list[float]:
        """Return the weight of each action of INTENTIONS, in order; all above 0."""
        return [
            weight * math.exp(math.fsum(b * getattr(traits, trait) for trait, b in coefficients))
            for (_, weight), coefficients in zip(INTENTIONS, self._coefficients, strict=True)
        ]

    def drawn(self, traits: Traits, unit: float) -> str:
        """Return the action at which `unit`, a float in [0, 1), falls."""
        return _ACTIONS[pick(self.weights(traits), unit)]


DEFAULT_INTENTIONS: Final = Intentions(IntentionsConfig())

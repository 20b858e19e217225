"""The intentions of convinced people: which action they take on a post that clearly interests them."""

from __future__ import annotations

import math
from typing import Final

from prism.config.attributes import TRAITS
from prism.config.model import ACTIONS, IntentionsConfig
from prism.rng import pick
from prism.social.people.persona import Traits


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

    def weights(self, traits: Traits) -> list[float]:
        """Return the weight of each action of ACTIONS, in order; one at least is above 0."""
        return [
            weight * math.exp(math.fsum(b * getattr(traits, trait) for trait, b in coefficients))
            for weight, coefficients in zip(self._base, self._coefficients, strict=True)
        ]

    def drawn(self, traits: Traits, unit: float) -> str:
        """Return the action at which `unit`, a float in [0, 1), falls."""
        return ACTIONS[pick(self.weights(traits), unit)]


DEFAULT_INTENTIONS: Final = Intentions(IntentionsConfig())

"""The five traits of personality, and the words that a synthetic person's personality has for them."""

from __future__ import annotations

from itertools import combinations, product
from typing import Annotated, Final

from msgspec import Meta
from msgspec.structs import replace

from prism.checked import Checked
from prism.config.attributes import TRAITS

Trait = Annotated[float, Meta(ge=-1.0, le=1.0)]


class Traits(Checked, frozen=True, kw_only=True):
    """A person's five traits, each from -1, the low end, to 1, the high end; 0 is neither, or not known.

    Raises:
        ValueError: a value out of range.

    Source: the five factors of personality, Goldberg (1990).
    """

    openness: Trait = 0.0
    conscientiousness: Trait = 0.0
    extraversion: Trait = 0.0
    agreeableness: Trait = 0.0
    neuroticism: Trait = 0.0


NEUTRAL: Final = Traits()

_WORDS: Final = (
    ("conventional", "curious"),
    ("spontaneous", "orderly"),
    ("reserved", "outgoing"),
    ("blunt", "warm"),
    ("calm", "anxious"),
)
"""The words for the low and the high end of each trait."""


def _personalities() -> dict[str, Traits]:
    """Return three words, each of another trait, and the traits that they say; the other two are 0."""
    found = {}
    for places in combinations(range(len(TRAITS)), 3):
        for ends in product((0, 1), repeat=3):
            first, second, third = (_WORDS[place][end] for place, end in zip(places, ends, strict=True))
            said = {TRAITS[place]: 2.0 * end - 1.0 for place, end in zip(places, ends, strict=True)}
            found[f"{first}, {second} and {third}"] = replace(NEUTRAL, **said)
    return found


TRAITS_OF: Final = _personalities()
"""The traits of each personality of synthetic people; people with the same one share them."""

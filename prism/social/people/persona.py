"""Personas: a person's name, interests and personality, the numbers that decide when they engage, and their action.

People differ by draws keyed by their own number, so person 7 of a seed is the same in a population of ten and of a
million (except the name: a repeated name gets a number).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations, product
from statistics import NormalDist
from typing import Annotated, Final

import msgspec
import xxhash
from msgspec import Meta
from msgspec.structs import replace

from prism.checked import Checked
from prism.config.attributes import PLACE, TRAITS, AttributeConfig, Value
from prism.config.model import ACTIONS, IntentionsConfig, PopulationConfig
from prism.errors import SettingError
from prism.expectations import found
from prism.rng import Draw, integer, normal, pick, uniform

Attributes = Mapping[str, Value]  # a person's attributes by name, in the order of the configuration

NO_ATTRIBUTES: Final[dict[str, Value]] = {}
"""The attributes of people without attributes; shared, because a mapping for each takes 64 bytes."""

LISTED_MAX: Final = 6  # the most texts that a description of values lists


def draw_attribute(agent: int, seed: int, name: str, declaration: AttributeConfig) -> Value:
    """Return a person's value of an attribute that no column gives.

    The draw is keyed by the seed, the person and the name: another attribute, or another order, changes no other value.

    - mean and sd: normal, rounded if it is an int, then clipped to min and max;
    - weights or values: one of the values; probability: true with this probability;
    - default: itself; min and max alone: uniform between them, both included.
    """
    key = xxhash.xxh3_64_intdigest(name.encode()) >> 4  # 60 bits, because a normal deviate doubles it
    if declaration.mean is not None and declaration.sd is not None:
        return _clipped(declaration.mean + declaration.sd * normal(seed, agent, 0, Draw.ATTRIBUTE, key), declaration)
    if declaration.probability is not None:
        return uniform(seed, agent, 0, Draw.ATTRIBUTE, key) < declaration.probability
    if declaration.default is not None:
        return declaration.default
    if declaration.values:
        weights = declaration.weights or (1.0,) * len(declaration.values)
        return declaration.values[pick(weights, uniform(seed, agent, 0, Draw.ATTRIBUTE, key))]
    low, high = declaration.min, declaration.max
    if low is None or high is None:
        raise without_values(name, declaration)
    if declaration.type == "int":
        return int(low) + integer(int(high) - int(low) + 1, seed, agent, 0, Draw.ATTRIBUTE, key)
    return _clipped(low + (high - low) * uniform(seed, agent, 0, Draw.ATTRIBUTE, key), declaration)


def without_values(name: str, declaration: AttributeConfig) -> SettingError:
    problem = f"has no values: expected a column of a profile file, or a way to draw them: {declaration.ways}"
    return SettingError(type(declaration).__name__, problem, keys=(f"{PLACE}.{name}",))


def _clipped(value: float, declaration: AttributeConfig) -> float:
    low = -1e15 if declaration.min is None else declaration.min
    high = 1e15 if declaration.max is None else declaration.max
    clipped = min(max(value, low), high)
    return round(clipped) if declaration.type == "int" else float(clipped)


def described(values: Sequence[Value]) -> str:
    """Return what values there are, in words: mean and range of numbers, shares of others."""
    if isinstance(values[0], float | int) and not isinstance(values[0], bool):
        numbers = [float(value) for value in values]
        return f"mean {math.fsum(numbers) / len(numbers):.4g}, min {min(numbers):.6g}, max {max(numbers):.6g}"
    counts = Counter(str(value).lower() if isinstance(value, bool) else str(value) for value in values)
    listed = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shares = [f"{found(value)[1:-1]} {count / len(values):.1%}" for value, count in listed[:LISTED_MAX]]
    others = f", {len(listed) - LISTED_MAX:,} others" if len(listed) > LISTED_MAX else ""
    return ", ".join(shares) + others


Trait = Annotated[float, Meta(ge=-1.0, le=1.0)]


class Traits(Checked, frozen=True, kw_only=True):
    """A person's five traits, each from -1, the low end, to 1, the high end; 0 is neither, or not known.

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


TRAITS_OF: Final = {
    f"{_WORDS[one][i]}, {_WORDS[two][j]} and {_WORDS[three][k]}": replace(
        NEUTRAL, **{TRAITS[place]: 2.0 * end - 1.0 for place, end in ((one, i), (two, j), (three, k))}
    )
    for one, two, three in combinations(range(len(TRAITS)), 3)
    for i, j, k in product((0, 1), repeat=3)
}
"""The traits of each personality of synthetic people: three words, each of another trait; the other two traits are 0.

People with the same personality share them."""

# fmt: off
FIRST_NAMES = (
    "Ada", "Amir", "Anika", "Bela", "Bruno", "Carmen", "Chidi", "Dana", "Diego", "Elif", "Emil", "Fatou", "Felix",
    "Goran", "Hana", "Hugo", "Ines", "Ivan", "Jonas", "Jun", "Kira", "Kofi", "Lena", "Liam", "Mara", "Mateo", "Mina",
    "Nadia", "Noor", "Olga", "Omar", "Petra", "Priya", "Quinn", "Rosa", "Samir", "Sofia", "Tariq", "Uma", "Viktor",
    "Wen", "Yara", "Yusuf", "Zoe",
)
LAST_NAMES = (
    "Abe", "Adeyemi", "Andersen", "Aydin", "Bauer", "Bianchi", "Castro", "Chen", "Costa", "Dubois", "Eze", "Farah",
    "Fischer", "Garcia", "Gupta", "Haddad", "Hansen", "Ito", "Jansen", "Kaya", "Khan", "Kim", "Kovacs", "Larsen",
    "Lopez", "Mbeki", "Meyer", "Moreau", "Nguyen", "Novak", "Okafor", "Park", "Petrov", "Quist", "Rossi", "Sato",
    "Silva", "Singh", "Tanaka", "Urban", "Vargas", "Weber", "Yilmaz", "Zhang",
)
# fmt: on
PERSONALITIES = tuple(TRAITS_OF)

Share = Annotated[float, Meta(ge=0.0, le=1.0)]


class Persona(Checked, frozen=True, kw_only=True):
    """A person as the simulation sees them; what they do follows from these values and the draws.

    `activity` is the probability of being online in a round. A post whose relevance is at most `low_threshold` is
    ignored, one at or above `high_threshold` is acted on, and between the two the oracle is asked. `attributes` are
    those that the configuration declares, in its order.

    Raises:
        ValueError: a value out of range; the message names the field, what was expected and what it was.
    """

    name: str
    interests: tuple[str, ...]
    personality: str
    engagement_threshold: Share = 0.5
    low_threshold: Share = 0.45
    high_threshold: Share = 0.55
    activity: Share = 0.35
    traits: Traits = NEUTRAL
    attributes: Attributes = msgspec.field(default_factory=lambda: NO_ATTRIBUTES)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name.strip():
            raise ValueError(f"name: expected a text that is not empty, got {self.name!r}")
        middle = self.engagement_threshold
        if self.low_threshold > middle:
            problem = f"at most engagement_threshold ({middle}), got {self.low_threshold}"
            raise ValueError(f"low_threshold: expected {problem}")
        if self.high_threshold < middle:
            problem = f"at least engagement_threshold ({middle}), got {self.high_threshold}"
            raise ValueError(f"high_threshold: expected {problem}")


def band_around(threshold: float, config: PopulationConfig) -> dict[str, float]:
    """Return low and high threshold, between which the oracle is asked."""
    return {
        "low_threshold": _share(threshold - config.ambiguity / 2.0),
        "high_threshold": _share(threshold + config.ambiguity / 2.0),
    }


def topic_weights(config: PopulationConfig) -> list[float]:
    """Return the weight of each topic: 1/r^z at place r of the topics, z = `interests_exponent` (Zipf 1949)."""
    return [1.0 / rank**config.interests_exponent for rank in range(1, len(dict.fromkeys(config.topics)) + 1)]


def unique_names(names: Iterable[str]) -> list[str]:
    """Return the names in order; a repeated name gets the lowest free number from 2 on."""
    last_number: dict[str, int] = {}
    result: list[str] = []
    for name in names:
        free, number = name, last_number.get(name, 0)
        while free in last_number:  # a given name may end in such a number too
            number = max(number + 1, 2)
            free = f"{name} {number}"
        last_number[name] = max(number, 1)
        last_number.setdefault(free, 1)
        result.append(free)
    return result


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


@cache
def activity_scale(mean: float, sigma: float, least: float) -> float:
    """Return the c for which c exp(sigma z - sigma^2 / 2), kept from `least` to 1, has this mean.

    It has three digits, so that it is the same on every machine; the mean is as exact.

    Args:
        mean: above 0, and at most 1, which everybody has then.
        least: at most the mean.
    """
    if not sigma:
        return mean

    share_below = NormalDist().cdf

    def mean_of(log_scale: float) -> float:
        # The mean has three parts, by z: below `bottom` everybody has `least`, above `top` everybody has 1, and between
        # them the log-normal has its partial mean, which is that of a normal moved by sigma.
        shift = log_scale - sigma * sigma / 2.0
        top, scale = -shift / sigma, math.exp(log_scale)
        at_top = 1.0 - share_below(top)
        if not least:
            return scale * share_below(top - sigma) + at_top
        bottom = (math.log(least) - shift) / sigma
        between = share_below(top - sigma) - share_below(bottom - sigma)
        return least * share_below(bottom) + scale * between + at_top

    # The mean grows with c, so halving finds it: in logs, because c may be very small where the mean is.
    low, high = -40.0, 40.0
    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (middle, high) if mean_of(middle) < mean else (low, middle)
    return float(f"{math.exp(high):.3g}")


class Intentions:
    """The action of a convinced person, drawn by weights that the person's traits raise and lower. Uncalibrated.

        weight(a) = w_a * exp(sum over traits of b[trait][a] * trait)

    with w_a from the setting `base`. It is a multinomial logit with the constants ln(w_a).
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

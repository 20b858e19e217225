"""People's own attributes: the values that are drawn for them, and lines that tell a user what was read and drawn.

Each draw is keyed by the seed, the person and the attribute's name. So another attribute, or another order, changes no
value of the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import xxhash

from prism.config.attributes import PLACE, AttributeConfig, Value
from prism.errors import SettingError
from prism.expectations import found
from prism.rng import Draw, integer, normal, pick, uniform

Attributes = Mapping[str, Value]
"""A person's attributes by name, in the order of the configuration."""

NO_ATTRIBUTES: Final[dict[str, Value]] = {}
"""The attributes of people without attributes; shared, because a mapping for each takes 64 bytes."""

LISTED_MAX: Final = 6
"""The most texts that a description of values lists."""


def draw_attribute(agent: int, seed: int, name: str, declaration: AttributeConfig) -> Value:
    """Return a person's value of an attribute that no column gives.

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

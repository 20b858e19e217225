"""People's own attributes: the values that are drawn for them, and lines that tell a user what was read and drawn.

Each draw is keyed by the seed, the person and the attribute's name. So another attribute, or another order, changes no
value of the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import xxhash

from prism.checked import field_types
from prism.config.attributes import PLACE, TRAITS, AttributeConfig, Value
from prism.config.model import ColumnsConfig, PopulationConfig
from prism.errors import SettingError
from prism.expectations import found
from prism.rng import Draw, integer, normal, pick, uniform
from prism.wording import counted

if TYPE_CHECKING:
    from prism.social.people.persona import Persona
    from prism.social.people.profiles import Profile

Attributes = Mapping[str, Value]
"""A person's attributes by name, in the order of the configuration."""

NO_ATTRIBUTES: Final[dict[str, Value]] = {}
"""The attributes of people without attributes; shared, because a mapping for each takes 64 bytes."""

LISTED_MAX: Final = 6
"""The most texts that a description of values lists."""
DRAWN_SHOWN: Final = 1000
"""People for whom drawn attributes are shown without building: they take some milliseconds."""


def drawn_attributes(agent: int, seed: int, declared: Mapping[str, AttributeConfig]) -> dict[str, Value]:
    """Return the attributes of person `agent` that need no column of a profile file, in the order declared."""
    if not declared:
        return NO_ATTRIBUTES
    return {
        name: draw_attribute(agent, seed, name, declaration)
        for name, declaration in declared.items()
        if declaration.is_complete
    }


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
    """Return the error for an attribute that nothing gives to people."""
    problem = f"has no values: expected a column of a profile file, or a way to draw them: {declaration.ways}"
    return SettingError(type(declaration).__name__, problem, keys=(f"{PLACE}.{name}",))


def _clipped(value: float, declaration: AttributeConfig) -> float:
    low = -1e15 if declaration.min is None else declaration.min
    high = 1e15 if declaration.max is None else declaration.max
    clipped = min(max(value, low), high)
    return round(clipped) if declaration.type == "int" else float(clipped)


def lines_of_columns(
    config: PopulationConfig,
    profiles: Sequence[Profile] | None,
    seed: int,
    size: int | None,
    margins: Collection[str] = (),
) -> Iterator[str]:
    """Yield a line for each attribute, and for each threshold and so on that has a column.

    Args:
        profiles: the profiles of the file; None if there is none, or if it was not read.
        size: the number of people; None if a large file decides it.
        margins: the attributes that come from margins, of which other lines tell.
    """
    unread = config.profiles is not None and profiles is None
    count = "" if profiles is None else counted(len(profiles), "profile")
    drawn = [drawn_attributes(agent, seed, config.attributes) for agent in range(min(size or DRAWN_SHOWN, DRAWN_SHOWN))]
    for name, declaration in config.attributes.items():
        head = f"{PLACE}.{name}: {declaration.expected}"
        if name in margins:
            continue
        if profiles and name in profiles[0].attributes:
            read = described([profile.attributes[name] for profile in profiles])
            yield f"{head}, column {declaration.column or name} of {count}: {read}"
        elif unread and not declaration.is_drawn:
            yield f"{head}, not read: --build reads the file"
        elif declaration.default is not None and declaration.is_complete:
            yield f"{head}, the same for everyone: {found(declaration.default)}"
        else:
            first = counted(len(drawn), "person", "people")
            yield f"{head}, drawn; the first {first}: {described([values[name] for values in drawn])}"
    for name in field_types(ColumnsConfig):
        column = getattr(config.columns, name)
        if column is not None and profiles:
            given = [profile.given[name] for profile in profiles if name in profile.given]
            blank, instead = len(profiles) - len(given), "0" if name in TRAITS else "drawn"
            others = f"; {blank:,} without a value: {instead}" if blank else ""
            yield f"population.columns.{name}: column {column} of {count}: {described(given)}{others}"


def lines_of_people(config: PopulationConfig, personas: Sequence[Persona]) -> Iterator[str]:
    """Yield a line for each attribute, and for each threshold and so on that has a column, over all people."""
    people = counted(len(personas), "person", "people")
    for name, declaration in config.attributes.items():
        values = [persona.attributes[name] for persona in personas]
        yield f"{PLACE}.{name}: {declaration.expected}; {people}: {described(values)}"
    for name in field_types(ColumnsConfig):
        if getattr(config.columns, name) is not None:
            given = [getattr(persona.traits if name in TRAITS else persona, name) for persona in personas]
            yield f"population.columns.{name}: {people}: {described(given)}"


def described(values: Sequence[Value]) -> str:
    """Return what values there are, in words: mean and range of numbers, shares of others."""
    if not values:
        return "no values"
    if isinstance(values[0], float | int) and not isinstance(values[0], bool):
        numbers = [float(value) for value in values]
        return f"mean {math.fsum(numbers) / len(numbers):.4g}, min {min(numbers):.6g}, max {max(numbers):.6g}"
    counts = Counter(str(value).lower() if isinstance(value, bool) else str(value) for value in values)
    listed = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shares = [f"{found(value)[1:-1]} {count / len(values):.1%}" for value, count in listed[:LISTED_MAX]]
    others = f", {len(listed) - LISTED_MAX:,} others" if len(listed) > LISTED_MAX else ""
    return ", ".join(shares) + others

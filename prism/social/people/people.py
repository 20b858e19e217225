"""The people in columns: the numbers of their personas that expressions read, and the interests of everybody."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property
from itertools import chain
from typing import Any, Final

import numpy as np
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from prism.columns import Floats, Ints, ascending, distinct, places_in_lists, runs
from prism.config.attributes import TRAITS, Value
from prism.config.model import PopulationConfig
from prism.rng import Draw, integers, mapped, normals, pick, uniforms
from prism.social.people.margins import DrawnMargins
from prism.social.people.persona import (
    FIRST_NAMES,
    LAST_NAMES,
    NO_ATTRIBUTES,
    PERSONALITIES,
    TRAITS_OF,
    Persona,
    Traits,
    activity_scale,
    band_around,
    draw_attribute,
    topic_weights,
)
from prism.social.tables import Interests

KEPT: Final = 20_000
"""The personas that are kept once they are made: those of a small population are made once."""

_ANYBODY: Final = Persona(name="anybody", interests=(), personality="")


class SyntheticPeople(Sequence[Persona]):
    """The people of a seed.

    With z a standard normal deviate of each person, clip(x, a, b) = min(max(x, a), b):

    - activity = clip(c * exp(sigma * z - sigma**2 / 2), least, 1), with the c that makes its mean over people the
      configured one: `prism.social.people.persona.activity_scale`.
    - engagement_threshold = clip(mean + spread * z', 0, 1), and low and high threshold are ambiguity / 2 below and
      above it, clipped in the same way.
    - interests: different topics, in the order drawn: `interests_per_person` of them, or all there are.
    - attributes: `prism.social.people.persona.draw_attribute`.

    Args:
        margins: the values of their attributes, if there are margins.
    """

    def __init__(self, size: int, seed: int, config: PopulationConfig, margins: DrawnMargins | None = None) -> None:
        self._size, self._seed, self._config, self._margins = size, seed, config, margins
        self._made: dict[int, Persona] = {}
        self._drawn = [name for name, each in config.attributes.items() if margins is not None or each.is_complete]
        """The attributes that need no column of a profile file."""

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, person: Any) -> Any:
        if person not in self._made:
            number = range(self._size)[person]
            if len(self._made) >= KEPT:
                self._made.clear()
            self._made[number] = self._persona(number)
        return self._made[person]

    def __iter__(self) -> Iterator[Persona]:
        return map(self._persona, range(self._size))

    def name(self, person: int) -> str:
        first, last, number = self.name_codes[:, person].tolist()
        name = f"{FIRST_NAMES[first]} {LAST_NAMES[last]}"
        return f"{name} {number + 1}" if number else name

    def texts(self, name: str, in_words: Callable[[Any], str]) -> NDArray[np.object_]:
        """Return the name, the personality or the interests of everybody as texts."""
        if name == "name":
            both = [f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES]
            first, last, numbers = self.name_codes
            pairs = zip((first * len(LAST_NAMES) + last).tolist(), numbers.tolist(), strict=True)
            named = [f"{both[code]} {number + 1}" if number else both[code] for code, number in pairs]
            return np.array(named, object)
        if name == "personality":
            return np.array([*map(in_words, PERSONALITIES)], object)[self.personality]
        # Who has the same interests is in one group; the groups are found topic by topic.
        groups = np.zeros(self._size, dtype=np.int64)
        for drawn in self.interest_codes.T:
            drawn_so_far = groups * len(self.topics) + drawn
            groups = np.searchsorted(distinct(drawn_so_far), drawn_so_far)
        _, firsts = np.unique(groups, return_index=True)
        return np.array([in_words(self.interests(person)) for person in firsts.tolist()], object)[groups]

    def interests(self, person: int) -> tuple[str, ...]:
        return tuple(map(self.topics.__getitem__, self.interest_codes[person].tolist()))

    @cached_property
    def topics(self) -> list[str]:
        return list(dict.fromkeys(self._config.topics))

    @cached_property
    def activity(self) -> Floats:
        activity, sigma = self._config.activity, self._config.activity.sigma
        shifts = sigma * normals(self._seed, self._everybody, 0, Draw.ACTIVITY) - sigma * sigma / 2.0
        least = min(activity.least, activity.mean)
        drawn = activity_scale(activity.mean, sigma, least) * mapped(math.exp, shifts)
        return np.minimum(np.maximum(drawn, least), 1.0)

    @cached_property
    def engagement_threshold(self) -> Floats:
        config = self._config
        shifts = config.threshold_spread * normals(self._seed, self._everybody, 0, Draw.THRESHOLD)
        return _shares(config.engagement_threshold + shifts)

    @property
    def low_threshold(self) -> Floats:
        return _shares(self.engagement_threshold - self._config.ambiguity / 2.0)

    @property
    def high_threshold(self) -> Floats:
        return _shares(self.engagement_threshold + self._config.ambiguity / 2.0)

    def trait(self, name: str) -> Floats:
        return np.array([getattr(TRAITS_OF[each], name) for each in PERSONALITIES])[self.personality]

    @cached_property
    def interest_codes(self) -> NDArray[np.int16]:
        """The numbers of the topics of each person's interests, a row each, in the order drawn."""
        weights = topic_weights(self._config)
        # All people draw their first interest, then all their second, and so on. Nobody has a topic twice, so who has
        # drawn the same ones so far is in one group, and draws from the same rest.
        count = min(self._config.interests_per_person, len(weights))
        codes = np.zeros((self._size, count), dtype=np.int16)
        groups = np.zeros(self._size, dtype=np.int64)
        for place in range(count):
            # 1. The people of each group, next to each other.
            units = uniforms(self._seed, self._everybody, 0, Draw.INTERESTS, place)
            order = ascending(groups)
            starts, _ = runs(groups[order])
            for people in np.split(order, starts[1:]):
                # 2. The topics left to the group, and one of them for each of its people.
                drawn = codes[people[0], :place].tolist()
                left = [topic for topic in range(len(weights)) if topic not in drawn]
                picked = _picked([weights[topic] for topic in left], units[people])
                codes[people, place] = np.array(left, dtype=np.int16)[picked]
            # 3. The groups of the next place, numbered without gaps, so that the product below stays small.
            drawn_so_far = groups * len(weights) + codes[:, place]
            groups = np.searchsorted(distinct(drawn_so_far), drawn_so_far)
        return codes

    @property
    def _everybody(self) -> Ints:
        return np.arange(self._size, dtype=np.int64)

    @cached_property
    def personality(self) -> Ints:
        """The number of each person's personality among PERSONALITIES."""
        return integers(len(PERSONALITIES), self._seed, self._everybody, 0, Draw.PERSONALITY)

    @cached_property
    def name_codes(self) -> NDArray[np.int32]:
        """The numbers of first and last names, and how many people before each have the same two."""
        first = integers(len(FIRST_NAMES), self._seed, self._everybody, 0, Draw.NAME, 0)
        last = integers(len(LAST_NAMES), self._seed, self._everybody, 0, Draw.NAME, 1)
        both = first * len(LAST_NAMES) + last
        names = np.empty((3, self._size), dtype=np.int32)
        names[0], names[1] = first, last
        names[2, ascending(both)] = places_in_lists(np.bincount(both))  # a stable order: namesakes count up by number
        return names

    def _persona(self, person: int) -> Persona:
        personality = PERSONALITIES[int(self.personality[person])]
        threshold = float(self.engagement_threshold[person])
        made = copy(_ANYBODY)  # a copy is not checked, which takes longer than all the rest: what is drawn is in range
        for field, value in (
            ("name", self.name(person)),
            ("interests", self.interests(person)),
            ("personality", personality),
            ("engagement_threshold", threshold),
            *band_around(threshold, self._config).items(),
            ("activity", float(self.activity[person])),
            ("traits", TRAITS_OF[personality]),
            ("attributes", {name: self._value(person, name) for name in self._drawn} if self._drawn else NO_ATTRIBUTES),
        ):
            force_setattr(made, field, value)
        return made

    def attribute(self, name: str) -> Sequence[Value | None]:
        return [self._value(person, name) if name in self._drawn else None for person in range(self._size)]

    def _value(self, person: int, name: str) -> Value:
        if self._margins is not None:
            return self._margins.value(person, name)
        return draw_attribute(person, self._seed, name, self._config.attributes[name])


def _shares(values: Floats) -> Floats:
    return np.minimum(np.maximum(values, 0.0), 1.0)


def _picked(weights: Sequence[float], units: Floats) -> NDArray[np.intp]:
    """Return `prism.rng.pick` of each unit."""
    if len(units) == 1:
        return np.array([pick(weights, float(units[0]))])
    # As in `pick`, each weight is taken off in turn, and the place is the one at which a mark falls below 0. If
    # rounding keeps it from that, it is the last place that has a weight.
    marks = units * math.fsum(weights)
    found = np.full(len(units), max(place for place, weight in enumerate(weights) if weight > 0.0))
    is_open = np.ones(len(units), dtype=np.bool_)
    for place, weight in enumerate(weights):
        marks -= weight
        hit = is_open & (marks < 0.0)
        found[hit] = place
        is_open &= ~hit
    return found


_OWN: Final = ("low_threshold", "high_threshold", "engagement_threshold", "activity")


class People:
    """The columns of personas, each made when it is first read."""

    def __init__(self, personas: Sequence[Persona]) -> None:
        self._personas = personas
        self._columns: dict[str, NDArray[Any] | None] = {}
        self.changing: Callable[[str], NDArray[Any] | None] | None = None
        """Returns the present values of a field of everybody, if it changes; None if no field changes."""

    @property
    def activity(self) -> NDArray[np.float64]:
        return self.numbers("activity")

    def column(self, field: str) -> NDArray[Any] | None:
        """Return a field `agent.NAME` of everybody; None if somebody has no such number, truth value or text."""
        if self.changing is not None and (now := self.changing(field)) is not None:
            return now
        if field not in self._columns:
            name = field.removeprefix("agent.")
            if name in _OWN or name in TRAITS:
                return self.numbers(name)
            listed = self.attribute(name)
            kinds = {type(value) for value in listed}
            is_one = kinds <= {int, float} or kinds in ({bool}, {str})
            self._columns[field] = np.array(listed) if is_one else None
        return self._columns[field]

    def traits(self) -> tuple[Sequence[Traits], Sequence[int] | Ints]:
        """Return the distinct traits, and the place of each person's traits among them."""
        if isinstance(self._personas, SyntheticPeople):  # by the number of their personality
            return [TRAITS_OF[each] for each in PERSONALITIES], self._personas.personality
        rows = list(zip(*(self.numbers(name).tolist() for name in TRAITS), strict=True))
        places = {each: place for place, each in enumerate(dict.fromkeys(rows))}
        found = [Traits(**dict(zip(TRAITS, each, strict=True))) for each in places]
        return found, [places[each] for each in rows]

    def attribute(self, name: str) -> Sequence[Value | None]:
        """Return an own attribute of everybody at the start; None for each person without a value."""
        people = self._personas
        if isinstance(people, SyntheticPeople):
            return people.attribute(name)
        return [persona.attributes.get(name) for persona in people]

    def texts(self, name: str, in_words: Callable[[Any], str] = str) -> NDArray[np.object_]:
        """Return the name, the personality or the interests of everybody as texts."""
        people = self._personas
        if isinstance(people, SyntheticPeople):
            return people.texts(name, in_words)
        return np.array([in_words(getattr(persona, name)) for persona in people], object)

    def numbers(self, name: str) -> NDArray[np.float64]:
        column = self._columns.get(f"agent.{name}")
        if column is None:
            people = self._personas
            if isinstance(people, SyntheticPeople):
                column = people.trait(name) if name in TRAITS else np.asarray(getattr(people, name))
            else:
                of = [each.traits for each in people] if name in TRAITS else people
                column = np.fromiter((getattr(each, name) for each in of), np.float64, len(people))
            self._columns[f"agent.{name}"] = column
        return column


def interests_of(personas: Sequence[Persona]) -> tuple[list[str], Interests]:
    """Return the topics of all interests, whose codes are their places, and the interests of people."""
    # 1. The codes of all people, one after the other, and how many each has.
    if isinstance(personas, SyntheticPeople):
        topics, table = personas.topics, personas.interest_codes.astype(np.int64)
        codes, lengths = table.ravel(), np.full(len(table), table.shape[1], dtype=np.int64)
    else:
        numbers: dict[str, int] = {}
        places = [[numbers.setdefault(topic, len(numbers)) for topic in persona.interests] for persona in personas]
        topics, lengths = [*numbers], np.array([*map(len, places)], dtype=np.int64)
        codes = np.fromiter(chain.from_iterable(places), np.int64, int(lengths.sum()))
    # 2. A bit for each topic of each person.
    count = len(topics)
    width = max(1, -(-count // 8))
    people = np.repeat(np.arange(len(lengths)), lengths)
    bits = np.zeros(len(lengths) * width, dtype=np.uint8)
    np.bitwise_or.at(bits, people * width + (codes >> 3), (1 << (codes & 7)).astype(np.uint8))
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    of_codes = np.append(np.arange(count + 1), count)  # the last code is of no topic
    return topics, Interests(bits, width, count, starts, codes.astype(np.int32), of_codes, np.arange(count), count)

"""Synthetic people in columns: everybody is drawn at once, and a persona is made when somebody asks for it.

A million take a second, and 40 bytes each instead of 700.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property
from operator import eq
from typing import Any, Final, overload

import numpy as np
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from prism.columns import Floats, Ints, ascending, distinct, places_in_lists, runs
from prism.config.attributes import Value
from prism.config.model import PopulationConfig
from prism.rng import Draw, integers, mapped, normals, pick, uniforms
from prism.social.people.attributes import draw_attribute, drawn_attributes
from prism.social.people.margins import DrawnMargins
from prism.social.people.persona import (
    FIRST_NAMES,
    LAST_NAMES,
    PERSONALITIES,
    TRAITS_OF,
    Persona,
    activity_scale,
    band_around,
    topic_weights,
)

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
    - attributes: `prism.social.people.attributes.draw_attribute`.

    Args:
        margins: the values of their attributes, if there are margins.
    """

    def __init__(self, size: int, seed: int, config: PopulationConfig, margins: DrawnMargins | None = None) -> None:
        self._size, self._seed, self._config, self._margins = size, seed, config, margins
        self._made: dict[int, Persona] = {}

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, person: int) -> Persona: ...
    @overload
    def __getitem__(self, person: slice) -> tuple[Persona, ...]: ...
    def __getitem__(self, person: int | slice) -> Persona | tuple[Persona, ...]:
        if isinstance(person, slice):
            return tuple(self[each] for each in range(*person.indices(self._size)))
        found = self._made.get(person)
        if found is None:
            number = range(self._size)[person]
            if len(self._made) >= KEPT:
                self._made.clear()
            found = self._made[number] = self._persona(number)
        return found

    def __iter__(self) -> Iterator[Persona]:
        return map(self._persona, range(self._size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(other) == self._size and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # it equals other sequences, which have other hashes

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
        attributes = (
            drawn_attributes(person, self._seed, self._config.attributes)
            if self._margins is None
            else self._margins.attributes(person)
        )
        made = copy(_ANYBODY)  # a copy is not checked, which takes longer than all the rest: what is drawn is in range
        for field, value in (
            ("name", self.name(person)),
            ("interests", self.interests(person)),
            ("personality", personality),
            ("engagement_threshold", threshold),
            *band_around(threshold, self._config).items(),
            ("activity", float(self.activity[person])),
            ("traits", TRAITS_OF[personality]),
            ("attributes", attributes),
        ):
            force_setattr(made, field, value)
        return made

    def attribute(self, name: str) -> Sequence[Value | None]:
        declaration = self._config.attributes.get(name)
        if declaration is not None and self._margins is not None:
            return self._margins.attribute(name)
        if declaration is None or not declaration.is_complete:
            return [None] * self._size
        return [draw_attribute(person, self._seed, name, declaration) for person in range(self._size)]


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

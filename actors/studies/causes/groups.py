"""Groups of people, and the share of each in an outcome: its Shapley value, from futures in which groups are silent.

The share of a group is what it adds on average when groups begin to speak one after the other, in any order. So shares
add up to the outcome, less that of the future in which all of them are silent, whatever the groups do together.

Sources: Shapley (1953), the value; Castro, Gomez & Tejada (2009), its estimate from orders drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import factorial
from typing import NamedTuple

import numpy as np

from actors.core.errors import RunDirectoryError
from actors.results.measures import personas_of
from actors.results.retrace import OpenRun
from prism.expectations import guess
from prism.experiment.intervals import Interval, described
from prism.rng import Draw, uniforms

GROUPS_MAX = 64
Coalition = frozenset[int]  # the numbers of the groups that are not silent


class Group(NamedTuple):
    name: str
    people: tuple[int, ...]


class Orders(NamedTuple):
    """The orders in which groups begin to speak: some of them, or all, of which only the coalitions are needed."""

    number: int
    each: Sequence[Sequence[int]] | None

    def coalitions(self) -> list[Coalition]:
        """Return every coalition that is needed, none of them twice."""
        groups = range(self.number)
        if self.each is None:
            return [frozenset(some) for size in range(self.number + 1) for some in combinations(groups, size)]
        found = {frozenset(order[:size]): None for order in self.each for size in range(self.number + 1)}
        return [*found]


def groups_of(run: OpenRun, attribute: str) -> list[Group]:
    """Return the people of a run by the value that an attribute has at the start."""
    people = personas_of(run.domain)
    declared = [*people[0].attributes] if people else []
    if attribute not in declared:
        known = guess(attribute, declared) if declared else "people of this run have no attributes"
        raise RunDirectoryError(f"{run.path}: no attribute {attribute!r} that makes groups: {known}")
    found: dict[str, list[int]] = {}
    for number, persona in enumerate(people):
        found.setdefault(str(persona.attributes[attribute]), []).append(number)
    if len(found) > GROUPS_MAX:
        problem = f"{attribute} has {len(found):,} values; expected at most {GROUPS_MAX}, each of which makes a group"
        raise RunDirectoryError(f"{run.path}: {problem}")
    return [Group(name, tuple(found[name])) for name in sorted(found)]


def orders_of(groups: int, budget: int, seed: int) -> Orders:
    """Return all orders if a budget has room for all their coalitions, or as many as it has room for; one at least."""
    if 2**groups <= budget:
        return Orders(groups, None)
    numbers = np.arange(groups)
    drawn = [np.argsort(uniforms(seed, numbers, 0, Draw.CAUSE_ORDER, at)) for at in range(max(1, budget // groups))]
    return Orders(groups, [each.tolist() for each in drawn])


def shares_of(orders: Orders, value: Callable[[Coalition], float]) -> list[Interval]:
    """Return the share of each group, with an interval if only some orders were looked at.

    Args:
        value: the outcome with the groups of a coalition.
    """
    if orders.each is None:
        return [_exact(group, orders.number, value) for group in range(orders.number)]
    added: list[list[float]] = [[] for _ in range(orders.number)]
    for order in orders.each:
        for size, group in enumerate(order):
            added[group].append(value(frozenset(order[: size + 1])) - value(frozenset(order[:size])))
    return [described(each) for each in added]


def _exact(group: int, number: int, value: Callable[[Coalition], float]) -> Interval:
    others = [each for each in range(number) if each != group]
    share = 0.0
    for size in range(number):
        weight = factorial(size) * factorial(number - size - 1) / factorial(number)
        for some in combinations(others, size):
            share += weight * (value(frozenset((*some, group))) - value(frozenset(some)))
    return Interval(mean=share, low=None, high=None, sd=0.0, count=factorial(number))

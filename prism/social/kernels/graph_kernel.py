"""The graph of Barabasi & Albert (1999): people join one by one, and befriend popular ones more often."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from prism import kernels
from prism.columns import Ints
from prism.kernels import kernel
from prism.rng import WORLD, Draw, uniforms

PERSON_TICKS: Final = 10
"""The ticks of a person in a run that take plain Python as long as a person's friendships do."""


def friendships(size: int, count: int, seed: int) -> tuple[Ints, Ints]:
    """Return both ends of each friendship of `size` people, of whom each befriends `count` earlier ones, or all.

    It is the graph that igraph's Barabasi makes of the same draws by its method `psumtree`.
    """
    joining = np.minimum(np.arange(size), count)
    befriended = np.zeros(int(joining.sum()), dtype=np.int64)
    choices = count * max(0, size - count - 1)
    draws = uniforms(seed, np.full(choices, WORLD), 0, Draw.GRAPH, np.arange(1, choices + 1))
    if kernels.are_wanted(PERSON_TICKS * size):
        kernels.compile_kernels()
    weights, tree = np.zeros(size, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    if kernels.are_compiled():
        befriend(draws, count, weights, tree, befriended)
    else:  # plain Python is three times as fast with lists
        friends = befriended.tolist()
        befriend(draws.tolist(), count, weights.tolist(), tree.tolist(), friends)
        befriended = np.array(friends, dtype=np.int64)
    return np.repeat(np.arange(size), joining), befriended


@kernel
def befriend(draws: Any, count: Any, weights: Any, tree: Any, befriended: Any) -> None:
    """Let people join one by one, and write whom each befriends.

    A person's weight is one more than their friends, and one befriends nobody twice.

    Args:
        draws: in [0, 1), one for each friendship of a person who cannot befriend all earlier ones.
        weights: of each person, and `tree` their sums for `add` and `person_at`; all 0.
        befriended: is filled, in the order of who joins.
    """
    total = end = drawn = 0
    for person in range(len(weights)):
        first = end
        for earlier in range(min(person, count)):
            friend = earlier
            if person > count:
                friend = person_at(tree, draws[drawn] * total)
                drawn += 1
                add(tree, friend, -weights[friend])  # nobody twice: the weight comes back below
                total -= weights[friend]
            befriended[end] = friend
            end += 1
        for place in range(first, end):
            friend = befriended[place]
            back = weights[friend] if person > count else 0
            weights[friend] += 1
            add(tree, friend, back + 1)
            total += back + 1
        weights[person] = 1 + end - first
        add(tree, person, weights[person])
        total += weights[person]


@kernel
def add(tree: Any, person: Any, weight: Any) -> None:
    """Add to the weight of a person. Source: Fenwick (1994), whose tree holds sums of weights."""
    at = person + 1
    while at < len(tree):
        tree[at] += weight
        at += at & -at


@kernel
def person_at(tree: Any, sum_before: Any) -> Any:
    """Return the person at whom the sum of the weights, in the order of people, exceeds this."""
    person, step = 0, 1
    while 2 * step < len(tree):
        step *= 2
    while step > 0:
        if person + step < len(tree) and tree[person + step] <= sum_before:
            person += step
            sum_before -= tree[person]
        step >>= 1
    return person

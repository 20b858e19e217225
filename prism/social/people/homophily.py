"""Homophily: generated ties of which a given share joins people with the same value of an attribute.

Pairs of ties swap their ends until the share is reached, so everybody keeps as many followers and followees as the
generator gave them. Ties that need not change stay.

Sources: McPherson, Smith-Lovin & Cook (2001) for homophily; Maslov & Sneppen (2002) for swaps that keep degrees.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints, places_in_lists
from prism.rng import Draw, uniforms
from prism.social.ties.graph import FollowGraph

STEPS_MAX: Final = 200
"""The most steps of swaps; usual shares need fewer than ten."""
CANDIDATES_MIN: Final = 1000
"""The ties that are tried in a step; four for each missing tie if that is more, and at most all ties."""
STALLS_MAX: Final = 5
"""The swaps end after so many steps in a row without one: no ties are left that could change."""


class Homophily(NamedTuple):
    """The share of ties between people with the same value of an attribute.

    Args:
        by: the attribute.
        configured: the share that was asked for, 0 to 1; realised: the one that came out.
        by_chance: the share among the ties of the generator, which knows nothing of the attribute.
    """

    by: str
    configured: float
    realised: float
    by_chance: float

    def __str__(self) -> str:
        return (
            f"population.graph.homophily: ties within the same {self.by}: asked {self.configured:.1%}, came out "
            f"{self.realised:.1%}; by chance {self.by_chance:.1%}"
        )

    @property
    def record(self) -> dict[str, Any]:
        """The same for `summary.json`."""
        return {name: round(each, 6) if isinstance(each, float) else each for name, each in self._asdict().items()}


def wired(
    graph: FollowGraph, values: NDArray[Any], by: str, share: float, seed: int, *, mutual: bool
) -> tuple[FollowGraph, Homophily]:
    """Return a graph in which this share of the ties joins equals, as far as the numbers of ties allow.

    Args:
        values: the value of each person.
        by: the name of these values.
        share: of all ties; 0 to 1.
        mutual: whether all ties are friendships, which they then stay.
    """
    groups = np.unique(values, return_inverse=True)[1]
    tails, heads = graph.ties()
    if mutual:
        once = tails < heads
        tails, heads = tails[once], heads[once]
    ties = _Ties(tails, heads, groups, seed, mutual=mutual)
    before, stalls = ties.share, 0
    wanted = round(share * len(tails))
    for step in range(STEPS_MAX):
        if ties.same_count == wanted or stalls == STALLS_MAX:
            break
        stalls = 0 if ties.swap(wanted - ties.same_count, step) else stalls + 1
    made = FollowGraph(graph.size, ties.tails, ties.heads, names=graph.names, mutual=mutual)
    return made, Homophily(by, share, ties.share, before)


class _Ties:
    """Ties that swap their ends.

    Args:
        tails, heads: the followers and the followees; of a friendship in any order.
        groups: the number of each person's group.
    """

    def __init__(self, tails: Ints, heads: Ints, groups: Ints, seed: int, *, mutual: bool) -> None:
        self.tails, self.heads = tails, heads
        self._groups, self._seed, self._mutual = groups, seed, mutual
        self._same = groups[tails] == groups[heads]
        self.same_count = int(np.count_nonzero(self._same))
        """The number of ties between equals."""
        self._keys = np.sort(self._keys_of(tails, heads))

    @property
    def share(self) -> float:
        """Their share of all ties; 0 without ties."""
        return self.same_count / len(self._same) if len(self._same) else 0.0

    def swap(self, gap: int, step: int) -> bool:
        """Let pairs of ties swap their heads, and return whether any pair did.

        Args:
            gap: the ties between equals that are missing; below 0 if there are too many.
        """
        # 1. Some of the ties of the kind that is too common, in a random order.
        kept = np.flatnonzero(self._same == (gap < 0))
        marks = uniforms(self._seed, kept, step, Draw.HOMOPHILY)
        some = np.flatnonzero(marks * len(kept) < max(CANDIDATES_MIN, 4 * abs(gap)))
        kept = kept[some[np.argsort(marks[some], kind="stable")]]
        if self._mutual:  # either end of a friendship may be swapped
            turned = kept[uniforms(self._seed, kept, step, Draw.HOMOPHILY, 1) < 0.5]
            self.tails[turned], self.heads[turned] = self.heads[turned], self.tails[turned]
        # 2. Two halves, whose ties are paired. Ties between unequals gain only if the new ends are of one group: the
        #    head of the one is of the group of the tail of the other, so that each swap gains a tie or two.
        groups, half = self._groups, len(kept) // 2
        one, other = kept[:half], kept[half : 2 * half]
        if gap > 0:
            keys = _ranked(groups[self.heads[one]]), _ranked(groups[self.tails[other]])
            _, first, second = np.intersect1d(*keys, assume_unique=True, return_indices=True)
            order = np.argsort(first)
            one, other = one[first[order]], other[second[order]]
        # 3. The pairs whose swap of a-b, c-d to a-d, c-b gains, and makes no tie to oneself.
        a, b, c, d = self.tails[one], self.heads[one], self.tails[other], self.heads[other]
        same = (groups[a] == groups[d]).astype(np.int64) + (groups[c] == groups[b])
        gains = same if gap > 0 else 2 - same
        fits = np.flatnonzero((gains > 0) & (a != d) & (c != b))
        # 4. Both new ties are ties of nobody, and of no pair before.
        new = np.stack((self._keys_of(a, d)[fits], self._keys_of(c, b)[fits]), axis=1).ravel()
        is_first = np.zeros(len(new), dtype=np.bool_)
        is_first[np.unique(new, return_index=True)[1]] = True
        if len(new):
            at = np.minimum(np.searchsorted(self._keys, new), len(self._keys) - 1)
            fits = fits[(is_first & (self._keys[at] != new)).reshape(-1, 2).all(axis=1)]
        # 5. Not more of them than needed.
        fits = fits[np.cumsum(gains[fits]) <= abs(gap)]
        one, other = one[fits], other[fits]
        both = np.concatenate((one, other))
        gone = self._keys_of(self.tails[both], self.heads[both])
        self.heads[one], self.heads[other] = d[fits], b[fits]
        self._same[both] = groups[self.tails[both]] == groups[self.heads[both]]
        self.same_count += int(np.sign(gap)) * int(gains[fits].sum())
        # 6. The keys stay sorted: two sorted lists are merged.
        left = np.delete(self._keys, np.searchsorted(self._keys, gone))
        come = np.sort(self._keys_of(self.tails[both], self.heads[both]))
        self._keys = np.sort(np.concatenate((left, come)), kind="stable")
        return len(fits) > 0

    def _keys_of(self, tails: Ints, heads: Ints) -> Ints:
        size = len(self._groups)
        if self._mutual:
            return np.asarray(np.minimum(tails, heads) * size + np.maximum(tails, heads))
        return tails * size + heads


def _ranked(groups: Ints) -> Ints:
    """Return a number for each entry that tells its group and how many of the group stand before it."""
    ranks = np.empty(len(groups), dtype=np.int64)
    order = np.argsort(groups, kind="stable")
    ranks[order] = places_in_lists(np.bincount(groups)) if len(groups) else ranks
    return np.asarray(groups * max(1, len(groups)) + ranks)

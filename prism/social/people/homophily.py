"""Homophily: generated ties of which a given share joins people with the same value of an attribute.

Pairs of ties swap their ends until the share is reached, so everybody keeps as many followers and followees as the
generator gave them. Ties that need not change stay.

Sources: McPherson, Smith-Lovin & Cook (2001) for homophily; Maslov & Sneppen (2002) for swaps that keep degrees.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints, places_among, places_in_lists
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
        values: the value of each person; by: the name of these values.
        share: of all ties; 0 to 1.
        mutual: whether all ties are friendships, which they then stay.
    """
    groups = np.unique(values, return_inverse=True)[1]
    tails, heads = graph.ties()
    if mutual:
        once = tails < heads
        tails, heads = tails[once], heads[once]
    wanted, counts, stalls = round(share * len(tails)), list[int](), 0
    for step in range(STEPS_MAX + 1):
        same = groups[tails] == groups[heads]
        counts.append(int(np.count_nonzero(same)))
        stalls = stalls + 1 if counts[-2:-1] == counts[-1:] else 0
        if counts[-1] == wanted or stalls == STALLS_MAX or step == STEPS_MAX:
            break
        _swap(tails, heads, groups, same, wanted - counts[-1], seed, step, mutual=mutual)
    made = FollowGraph(graph.size, tails, heads, names=graph.names, mutual=mutual)
    before, after = (count / max(1, len(tails)) for count in (counts[0], counts[-1]))
    return made, Homophily(by, share, after, before)


def _swap(
    tails: Ints, heads: Ints, groups: Ints, same: NDArray[np.bool_], gap: int, seed: int, step: int, *, mutual: bool
) -> None:
    """Let pairs of ties swap their heads.

    Args:
        tails, heads: the followers and the followees, which are changed; of a friendship in any order.
        groups: the number of each person's group; same: whether a tie is within one.
        gap: the ties between equals that are missing; below 0 if there are too many.
    """

    def keys_of(one: Ints, other: Ints) -> Ints:
        first, last = (np.minimum(one, other), np.maximum(one, other)) if mutual else (one, other)
        return np.asarray(first * len(groups) + last)

    # 1. Some of the ties of the kind that is too common, in a random order.
    kept = np.flatnonzero(same == (gap < 0))
    marks = uniforms(seed, kept, step, Draw.HOMOPHILY)
    some = np.flatnonzero(marks * len(kept) < max(CANDIDATES_MIN, 4 * abs(gap)))
    kept = kept[some[np.argsort(marks[some], kind="stable")]]
    if mutual:  # either end of a friendship may be swapped
        turned = kept[uniforms(seed, kept, step, Draw.HOMOPHILY, 1) < 0.5]
        tails[turned], heads[turned] = heads[turned], tails[turned]
    # 2. Two halves, whose ties are paired. Ties between unequals gain only if the new ends are of one group: the
    #    head of the one is of the group of the tail of the other, so that each swap gains a tie or two.
    half = len(kept) // 2
    one, other = kept[:half], kept[half : 2 * half]
    if gap > 0:
        keys = _ranked(groups[heads[one]]), _ranked(groups[tails[other]])
        _, first, second = np.intersect1d(*keys, assume_unique=True, return_indices=True)
        order = np.argsort(first)
        one, other = one[first[order]], other[second[order]]
    # 3. The pairs whose swap of a-b, c-d to a-d, c-b gains, and makes no tie to oneself.
    a, b, c, d = tails[one], heads[one], tails[other], heads[other]
    equal = (groups[a] == groups[d]).astype(np.int64) + (groups[c] == groups[b])
    gains = equal if gap > 0 else 2 - equal
    fits = np.flatnonzero((gains > 0) & (a != d) & (c != b))
    # 4. Both new ties are ties of nobody, and of no pair before.
    new = np.stack((keys_of(a, d)[fits], keys_of(c, b)[fits]), axis=1).ravel()
    is_new = places_among(np.sort(keys_of(tails, heads)), new) < 0
    firsts = np.unique(new, return_index=True)[1]
    is_first = np.isin(np.arange(len(new)), firsts)
    fits = fits[(is_first & is_new).reshape(-1, 2).all(axis=1)]
    # 5. Not more of them than needed.
    fits = fits[np.cumsum(gains[fits]) <= abs(gap)]
    heads[one[fits]], heads[other[fits]] = d[fits], b[fits]


def _ranked(groups: Ints) -> Ints:
    """Return a number for each entry that tells its group and how many of the group stand before it."""
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[np.argsort(groups, kind="stable")] = places_in_lists(np.bincount(groups))
    return np.asarray(groups * max(1, len(groups)) + ranks)

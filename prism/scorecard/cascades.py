"""Cascades, which are trees of posts with replies and reshares below them: their shapes, files, and comparison.

Nearly everything about a cascade's shape depends on its size, so only cascades of equal sizes say whether the shape is
right. Every simulated cascade stands beside all real ones whose size is within a tenth of its own, which share its
weight. One with fewer than ten of them is left out: a single real tree would carry the weight of all that have its
size.

Sources: Goel, Anderson, Hofman & Watts (2016) for structural virality; Vosoughi, Roy & Aral (2018) for depth and the
largest breadth; Juul & Ugander, "Comparing information diffusion mechanisms by matching on cascade size" (2021).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.columns import Floats, Ints
from prism.distribution import effective_number
from prism.errors import InputError
from prism.text_files import Table, decode_text, read_table

ROOT: Final = -1
"""The parent of a root."""


class Tree(msgspec.Struct, frozen=True, gc=False):
    """A cascade: a post with all replies and reshares below it."""

    # the place of each post's parent in the tree; `ROOT` for the first post, which is the original. A parent comes
    # before its children.
    parents: tuple[int, ...]
    minutes: tuple[float, ...]  # minutes from the original to each post; may be negative in real data


class Shapes(NamedTuple):
    """The shapes of cascades, in columns of shape (cascades,)."""

    size: Ints  # posts, with the original
    depth: Ints  # steps from the original to the farthest post
    breadth: Ints  # posts at the most common depth
    # structural virality: the mean number of steps between two posts; 0 for a single post. It is just below 2 for a
    # star, and grows with the size for a chain.
    virality: Floats
    half_minutes: Floats  # minutes until half of the posts were there

    @property
    def breadth_share(self) -> Floats:
        """The posts at the most common depth, as a share of all posts."""
        return self.breadth / self.size

    def where(self, is_kept: Any) -> Shapes:
        """Return the cascades for which a column of truth values is true."""
        return Shapes(*(each[is_kept] for each in self))


def above_all(parents: Ints) -> tuple[Ints, Ints]:
    """Return the place of each post's original, and its steps from there. `parents`: as for `shapes_in`."""
    is_root = parents < 0
    roots, depths = np.where(is_root, np.arange(len(parents)), parents), (~is_root).astype(np.int64)
    while not np.array_equal(nearer := roots[roots], roots):  # each turn doubles the steps that are taken at once
        depths += depths[roots]
        roots = nearer
    return roots, depths


def shapes_in(parents: Ints, minutes: Floats) -> Shapes:
    """Return the shape of each cascade, in the order of their originals.

    Args:
        parents: the place of each post's parent, `ROOT` for an original; no post is below itself.
        minutes: minutes from the original to each post.
    """
    roots, depths = above_all(parents)
    sizes = np.bincount(roots, minlength=len(roots))
    originals = np.flatnonzero(parents < 0)
    size, count = sizes[originals], len(originals)
    found = Shapes(size, np.zeros(count, np.int64), np.ones(count, np.int64), np.zeros(count), minutes[originals])
    # Most posts are alone: the steps below need only the others.
    inside = np.flatnonzero(sizes[roots] > 1)
    if not len(inside):
        return found
    several = np.flatnonzero(size > 1)
    # 1. The posts at and below each post, from the deepest ones up.
    below, by_depth = np.ones(len(roots), np.int64), inside[np.argsort(depths[inside], kind="stable")]
    ends = np.cumsum(np.bincount(depths[inside]))
    for level in range(len(ends) - 1, 0, -1):
        posts = by_depth[ends[level - 1] : ends[level]]
        np.add.at(below, parents[posts], below[posts])
    # 2. Every pair on the two sides of a post's tie with its parent steps over it.
    by_root = inside[np.lexsort((minutes[inside], roots[inside]))]
    starts = np.cumsum(size[several]) - size[several]
    steps = np.add.reduceat((below * (sizes[roots] - below))[by_root], starts)
    found.virality[several] = 2.0 * steps / (size[several] * (size[several] - 1))
    found.half_minutes[several] = minutes[by_root[starts + (size[several] - 1) // 2]]
    # 3. The posts at each depth of each cascade.
    found.depth[several] = np.maximum.reduceat(depths[by_root], starts)
    levels, posts_at = np.unique(roots[inside] * len(ends) + depths[inside], return_counts=True)
    firsts = np.flatnonzero(np.diff(levels // len(ends), prepend=ROOT))
    found.breadth[several] = np.maximum.reduceat(posts_at, firsts)
    return found


def shapes_of(trees: Sequence[Tree]) -> Shapes:
    parents, before = list[Ints](), 0
    for tree in trees:
        own = np.array(tree.parents)
        parents.append(np.where(own < 0, ROOT, own + before))
        before += len(own)
    minutes = [np.array(tree.minutes) for tree in trees]
    return shapes_in(np.concatenate([np.empty(0, np.int64), *parents]), np.concatenate([np.empty(0), *minutes]))


def together(shapes: Iterable[Shapes]) -> Shapes:
    """Return the cascades of several runs one after the other."""
    return Shapes(*map(np.concatenate, zip(shapes_of(()), *shapes, strict=True)))


CASCADE_COLUMNS: Final = ("cascade", "node", "parent", "delay_minutes")


def columns_in(data: bytes, source: str) -> tuple[str, ...]:
    """Return the names in the first line of a table that is not blank, in lower case."""
    return _table(data, source)[0]


def parse_cascades(data: bytes, source: str) -> tuple[Tree, ...]:
    """Return the trees of a CSV file with `CASCADE_COLUMNS`: the rows of a cascade are together, the root (0) first."""
    names, table = _table(data, source)
    if missing := [name for name in CASCADE_COLUMNS if name not in names]:
        problem = f"missing column: {', '.join(missing[:3])}; expected {', '.join(CASCADE_COLUMNS)}"
        raise InputError(source, problem, line=1)
    places = [names.index(name) for name in CASCADE_COLUMNS]
    trees: list[Tree] = []
    seen: dict[str, None] = {}
    for name, rows in groupby(table.rows, key=lambda row: row[1][places[0]]):
        parents: list[int] = []
        minutes: list[float] = []
        for line, fields in rows:
            if name in seen:
                raise InputError(source, f"expected the rows of cascade {name} together", line=line)
            node, parent = (_number(fields[place], source, line, "node or parent") for place in places[1:3])
            if node != len(parents):
                raise InputError(source, f"expected node {len(parents)} of cascade {name}, got {node:g}", line=line)
            if parent != ROOT if node == 0 else not 0 <= parent < node or parent % 1:
                expected = "-1, as of a root" if node == 0 else f"a node before {node:g}"
                raise InputError(source, f"expected {expected}, got {parent:g}", key="parent", line=line)
            parents.append(int(parent))
            minutes.append(_number(fields[places[3]], source, line, CASCADE_COLUMNS[3]))
        trees.append(Tree(tuple(parents), tuple(minutes)))
        seen[name] = None
    if not trees:
        raise InputError(source, "holds no cascades: expected at least one line below the header")
    return tuple(trees)


def _table(data: bytes, source: str) -> tuple[tuple[str, ...], Table]:
    """Return the names of the columns in lower case, and the table."""
    table = read_table(decode_text(data, source), source, CASCADE_COLUMNS)
    if not table.header:
        raise InputError(source, "is empty: expected a line with the names of its columns")
    return tuple(name.lower() for name in table.header), table


def _number(text: str, source: str, line: int, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(source, f"expected a number, got {text[:60]!r}", key=name, line=line)
    return value


SIZE_TOLERANCE: Final = 0.1  # the largest difference of the logarithms of two sizes that count as equal
NEIGHBOURS: Final = 10  # the fewest real cascades that a simulated one is compared with


class Comparison(NamedTuple):
    """One number of simulated cascades beside that of real ones of equal sizes."""

    matched: int  # simulated cascades that have enough real ones of their size
    effective: float  # as many real cascades of equal weights would tell as much (Kish 1965)
    # simulated, real: medians
    simulated: float
    real: float
    distance: float  # the Kolmogorov-Smirnov distance, 0 to 1


class Matching:
    """The real cascades that each simulated one is compared with, by the sizes of both, which are above 0.

    Args:
        tolerance: the largest difference of the logarithms of two sizes that count as equal.
    """

    def __init__(self, simulated: Floats, real: Floats, tolerance: float = SIZE_TOLERANCE) -> None:
        order = np.argsort(real, kind="stable")
        logs = np.log(real[order])
        low = np.searchsorted(logs, np.log(simulated) - tolerance, side="left")
        high = np.searchsorted(logs, np.log(simulated) + tolerance, side="right")
        self.kept = np.flatnonzero(high - low >= NEIGHBOURS)
        """The simulated cascades that have enough real ones of their size."""
        self._order, self._low, self._high = order, low[self.kept], high[self.kept]

    def __len__(self) -> int:
        return len(self.kept)

    def real_weights(self) -> Floats:
        """Return the weight of each real cascade, if each kept simulated one has the weight 1."""
        found = np.empty(len(self._order))
        found[self._order] = _spread(self._low, self._high, len(self._order))
        return found

    def distance(self, simulated: Floats, real: Floats) -> float:
        """Return the Kolmogorov-Smirnov distance of one number of the cascades, 0 to 1; arguments as in `compare`."""
        return distance(simulated[self.kept], np.ones(len(self)), real, self.real_weights())

    def ranks(self, simulated: Floats, real: Floats) -> Floats:
        """Return the rank of each kept cascade among the real ones of its size, 0 to 1; arguments as in `compare`.

        A rank is the share of the real ones that are less, and half of those that are equal.
        """
        ordered, kept = real[self._order], simulated[self.kept]
        found = [
            (np.mean(ordered[low:high] < own) + np.mean(ordered[low:high] <= own)) / 2.0
            for own, low, high in zip(kept, self._low, self._high, strict=True)
        ]
        return np.array(found, dtype=np.float64)

    def compare(self, simulated: Floats, real: Floats) -> Comparison:
        """Compare one number of the cascades.

        Args:
            simulated: the number of every simulated cascade; `real`: of every real one.

        Raises:
            ValueError: no simulated cascade has enough real ones of its size.
        """
        if not len(self):
            raise ValueError("no simulated cascade has enough real ones of its size")
        values, whole, weights = simulated[self.kept], np.ones(len(self)), self.real_weights()
        return Comparison(
            matched=len(self),
            effective=effective_number(weights),
            simulated=weighted_median(values, whole),
            real=weighted_median(real, weights),
            distance=distance(values, whole, real, weights),
        )


def _spread(low: NDArray[np.int64], high: NDArray[np.int64], count: int) -> Floats:
    """Return the sum at each of `count` places of weights of 1 that are spread evenly over the places low to high."""
    share = 1.0 / (high - low)
    steps = np.zeros(count + 1)
    np.add.at(steps, low, share)
    np.add.at(steps, high, -share)
    found: Floats = np.maximum(np.cumsum(steps[:-1]), 0.0)
    found[found < 1e-12 * found.max(initial=0.0)] = 0.0  # rounding leaves tiny values at places without weight
    return found


def distance(one: Floats, one_weights: Floats, other: Floats, other_weights: Floats) -> float:
    """Return the Kolmogorov-Smirnov distance of two weighted samples, 0 to 1."""
    points = np.unique(np.concatenate((one, other)))
    return float(np.abs(_shares(one, one_weights, points) - _shares(other, other_weights, points)).max())


def weighted_median(values: Floats, weights: Floats) -> float:
    """Return the smallest value at which half of the weight is reached."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2.0 * (1.0 - 1e-12))])


def _shares(values: Floats, weights: Floats, points: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    reached = np.concatenate(([0.0], np.cumsum(weights[order])))
    shares: Floats = reached[np.searchsorted(values[order], points, side="right")] / reached[-1]
    return shares

"""The shapes of cascades, which are trees of posts with replies and reshares below them, and files of cascades.

Sources: Goel, Anderson, Hofman & Watts (2016) for structural virality; Vosoughi, Roy & Aral (2018) for depth and the
largest breadth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from prism.columns import Floats, Ints
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

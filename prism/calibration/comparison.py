"""A run beside the real world: its deviations, their sum, and the statistics that tell parameters apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import combinations

import msgspec
import numpy as np

from prism.calibration.document import GOALS, SHAPES, Target
from prism.calibration.parameters import Floats
from prism.scorecard import Matching, Tree, shape_of
from prism.scorecard.matched import distance as distance_of

CASCADES_LEAST = 5
"""The fewest cascades of comparable sizes of which a run has a shape."""
WORST = 1.0
"""The distance of a shape that a run does not have."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers and the cascades of a run that are compared.

    Args:
        numbers: `{measure: value}`.
        cascades: size and `SHAPES` of each cascade that is old enough, a row each; of real ones too.
    """

    numbers: dict[str, float] = {}
    cascades: tuple[tuple[float, ...], ...] = ()


class Real(msgspec.Struct, frozen=True, kw_only=True):
    """The real cascades: those that are fitted, and those of the holdout. A row each, as in `Observed`."""

    fitted: tuple[tuple[float, ...], ...] = ()
    holdout: tuple[tuple[float, ...], ...] = ()


def rows_of(trees: Iterable[Tree]) -> tuple[tuple[float, ...], ...]:
    """Return the size and the shape of trees, a row each."""
    shapes = [shape_of(tree) for tree in trees]
    return tuple((float(each.size), *(float(getattr(each, name)) for name in SHAPES)) for each in shapes)


def parted(trees: Sequence[Tree], holdout: float) -> Real:
    """Return real cascades in two parts, by a hash of each: the part does not depend on their order.

    Args:
        holdout: the share that is not fitted, about; 0 to 1.
    """
    rows = rows_of(trees)
    is_out = [_hash_share(tree) < holdout for tree in trees]
    return Real(
        fitted=tuple(row for row, out in zip(rows, is_out, strict=True) if not out),
        holdout=tuple(row for row, out in zip(rows, is_out, strict=True) if out),
    )


def _hash_share(tree: Tree) -> float:
    """Return a number from 0 to 1 that a tree alone decides."""
    return int.from_bytes(sha256(msgspec.json.encode(tree)).digest()[:8]) / 2**64


class Comparer:
    """Compares runs with real cascades and with the numbers of targets.

    Args:
        targets: what is compared.
        real: cascades, a row each.
    """

    def __init__(self, targets: Mapping[str, Target], real: Sequence[Sequence[float]] = ()) -> None:
        self.targets = dict(targets)
        self._real = np.array(real, dtype=np.float64).reshape(-1, 1 + len(SHAPES))

    def deviations(self, observed: Observed) -> dict[str, float]:
        """Return `{target: deviation}` in tolerances: with its sign for a value, 0 or more for a limit or a shape."""
        matched = _matched(_table(observed), self._real)
        return {name: self._deviation(target, observed, matched) for name, target in self.targets.items()}

    def _deviation(self, target: Target, observed: Observed, matched: _Matched | None) -> float:
        if target.shape is not None:
            return (WORST if matched is None else matched.distance(target.shape)) / target.unit
        return _apart(target, observed.numbers[str(target.measure)])

    def between(self, one: Observed, other: Observed) -> float:
        """Return the distance of two runs, as if the second one were the data."""
        matched = _matched(_table(one), _table(other))
        parts = []
        for target in self.targets.values():
            if target.shape is not None:
                parts.append((WORST if matched is None else matched.distance(target.shape)) / target.unit)
            else:
                first, second = (each.numbers[str(target.measure)] for each in (one, other))
                if target.value is None:
                    first, second = (_apart(target, each) * target.unit for each in (first, second))
                parts.append((first - second) / target.unit)
        return root_mean_square(parts)

    def statistics(self, observed: Observed) -> list[float] | None:
        """Return the numbers from which parameters are told; None of a run that lacks a shape.

        A shape has two: the mean rank of its cascades among the data of equal sizes, and how far ranks are from the
        middle. Unlike a distance they say in which direction a run is off.
        """
        matched = _matched(_table(observed), self._real)
        found: list[float] = []
        for target in self.targets.values():
            if target.shape is None:
                value = observed.numbers[str(target.measure)]
                found.append(value if target.value is not None else _apart(target, value))
            elif matched is None:
                return None
            else:
                found += matched.ranks(target.shape)
        return found

    def wanted(self) -> list[float]:
        """Return the same numbers of the data."""
        found: list[float] = []
        own = _matched(self._real, self._real)
        for target in self.targets.values():
            if target.shape is None:
                found.append(0.0 if target.value is None else target.value)
            else:
                found += [0.5, 0.25] if own is None else own.ranks(target.shape)
        return found

    def count_compared(self, runs: Iterable[Observed]) -> int:
        """Return the cascades of runs that have real ones of their sizes."""
        if not len(self._real):
            return 0
        tables = [_table(each) for each in runs]
        return sum(len(Matching(table[:, 0], self._real[:, 0], neighbours=1)) for table in tables if len(table))


def holdout_targets(targets: Mapping[str, Target], *, has_cascades: bool) -> dict[str, Target]:
    """Return the targets of which the part of the data that is not fitted has a figure, with that figure."""
    found = {}
    for name, target in targets.items():
        if target.shape is not None and has_cascades:
            found[name] = target
        elif target.holdout is not None:
            key = next(each for each in GOALS if getattr(target, each) is not None)
            found[name] = msgspec.structs.replace(target, **{key: target.holdout})
    return found


def pooled(runs: Sequence[Observed]) -> Observed:
    """Return runs taken together: the means of their numbers, and all their cascades."""
    names = runs[0].numbers if runs else {}
    return Observed(
        numbers={name: math.fsum(each.numbers[name] for each in runs) / len(runs) for name in names},
        cascades=tuple(row for each in runs for row in each.cascades),
    )


def root_mean_square(parts: Iterable[float]) -> float:
    """Return the distance that deviations make: 1 if each is at its tolerance; 0 without any."""
    squares = [part * part for part in parts]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else 0.0


HALVES = 20
"""The splits into halves that are compared."""


def halves_apart(targets: Mapping[str, Target], real: Sequence[Sequence[float]], seed: int) -> float:
    """Return the median distance of two random halves of the real cascades, in the shapes of the targets."""
    shapes = {name: target for name, target in targets.items() if target.shape is not None}
    random, found = np.random.default_rng(seed), []
    for _ in range(HALVES):
        order = random.permutation(len(real))
        one, other = (tuple(tuple(real[place]) for place in half) for half in np.array_split(order, 2))
        parts = Comparer(shapes, other).deviations(Observed(cascades=one)).values()
        found.append(root_mean_square(parts))
    return float(np.median(found))


def pairs_apart(comparer: Comparer, runs: Sequence[Observed]) -> list[float]:
    """Return the distances of all pairs of runs."""
    return [comparer.between(one, other) for one, other in combinations(runs, 2)]


def _apart(target: Target, value: float) -> float:
    """Return the deviation of a number in tolerances."""
    if target.value is not None:
        return (value - target.value) / target.unit
    if target.most is not None:
        return max(0.0, value - target.most) / target.unit
    return max(0.0, (0.0 if target.least is None else target.least) - value) / target.unit


def _table(observed: Observed) -> Floats:
    return np.array(observed.cascades, dtype=np.float64).reshape(-1, 1 + len(SHAPES))


def _matched(ours: Floats, real: Floats) -> _Matched | None:
    """Return our cascades beside real ones of equal sizes; None if there are too few."""
    if not len(ours) or not len(real):
        return None
    matched = _Matched(ours, real)
    return matched if len(matched) >= CASCADES_LEAST else None


class _Matched:
    """Cascades beside real ones of equal sizes: see `prism.scorecard.matched`."""

    def __init__(self, ours: Floats, real: Floats) -> None:
        matching = Matching(ours[:, 0], real[:, 0], neighbours=1)
        self._kept = ours[matching.kept]
        self._real = real
        self._ones = np.ones(len(matching))
        self._weights = matching.real_weights(self._ones) if len(matching) else self._ones

    def __len__(self) -> int:
        return len(self._kept)

    def distance(self, shape: str) -> float:
        """Return the Kolmogorov-Smirnov distance of a shape, 0 to 1."""
        column = 1 + SHAPES.index(shape)
        return distance_of(self._kept[:, column], self._ones, self._real[:, column], self._weights)

    def ranks(self, shape: str) -> list[float]:
        """Return the mean of the ranks of a shape among the real ones of equal sizes, and of their distance from 1/2.

        A rank is the share of the real ones that are less, and half of those that are equal.
        """
        column = 1 + SHAPES.index(shape)
        order = np.argsort(self._real[:, 0], kind="stable")
        logs, values = np.log(self._real[order, 0]), self._real[order, column]
        low = np.searchsorted(logs, np.log(self._kept[:, 0]) - 0.1, side="left")
        high = np.searchsorted(logs, np.log(self._kept[:, 0]) + 0.1, side="right")
        ranks = np.array(
            [
                (np.count_nonzero(values[start:end] < own) + np.count_nonzero(values[start:end] <= own))
                / 2
                / (end - start)
                for own, start, end in zip(self._kept[:, column], low, high, strict=True)
            ]
        )
        return [float(ranks.mean()), float(np.abs(ranks - 0.5).mean())]

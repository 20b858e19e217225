"""A run beside the real world: its deviations, their sum, and the statistics that tell parameters apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import compress
from operator import not_

import msgspec
import numpy as np

from prism.calibration.calibration_file import SHAPES, SIZE, Target
from prism.calibration.posterior import Datum
from prism.columns import Floats
from prism.scorecard.cascades import Matching, Shapes, Tree, distance, shapes_of

CASCADES_LEAST = 5  # the fewest cascades of comparable sizes from which a run has a shape
WORST = 1.0  # the distance of a shape that a run does not have


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers and the cascades of a run that are compared."""

    numbers: dict[str, float] = {}  # `{measure: value}`
    # the `SHAPES` of each cascade that is old enough, a row each; of real ones too
    cascades: tuple[tuple[float, ...], ...] = ()


class Real(msgspec.Struct, frozen=True, kw_only=True):
    """The real cascades: those that are fitted, and those of the holdout. A row each, as in `Observed`."""

    fitted: tuple[tuple[float, ...], ...] = ()
    holdout: tuple[tuple[float, ...], ...] = ()


def table_of(shapes: Shapes) -> Floats:
    """Return the `SHAPES` of cascades, a row each."""
    return np.column_stack([getattr(shapes, name) for name in SHAPES]).astype(np.float64)


def rows_in(table: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, table.tolist()))


def parted(trees: Sequence[Tree], holdout: float) -> Real:
    """Return real cascades in two parts, by a hash of each: the part does not depend on their order.

    Args:
        holdout: the share that is not fitted, about; 0 to 1.
    """
    rows = rows_in(table_of(shapes_of(trees)))
    shares = [int.from_bytes(sha256(msgspec.json.encode(tree)).digest()[:8]) / 2**64 for tree in trees]
    is_out = [share < holdout for share in shares]
    return Real(fitted=tuple(compress(rows, map(not_, is_out))), holdout=tuple(compress(rows, is_out)))


class Comparer:
    """Compares runs with real cascades and with the numbers of targets."""

    def __init__(self, targets: Mapping[str, Target], real: Sequence[Sequence[float]] = ()) -> None:
        self.targets = dict(targets)
        self._real = _table(real)

    def deviations(self, observed: Observed) -> dict[str, float]:
        """Return `{target: deviation}` in tolerances: with its sign for a value, 0 or more for a shape."""
        ours = _Beside(observed, self._real)
        return {
            name: (observed.numbers[str(target.measure)] - (target.value or 0.0)) / target.unit
            if target.shape is None
            else ours.distance(target.shape) / target.unit
            for name, target in self.targets.items()
        }

    def between(self, one: Observed, other: Observed) -> float:
        """Return the distance of two runs, as if the second one were the data.

        Shapes are compared by their ranks among the real ones of equal sizes: two runs have too few of equal sizes. The
        difference of two distances from the data would be too small: runs can be as far from it on different sides.
        """
        ours, theirs = (_Beside(each, self._real) for each in (one, other))
        parts = []
        for target in self.targets.values():
            if target.shape is None:
                first, second = (each.numbers[str(target.measure)] for each in (one, other))
                parts.append((first - second) / target.unit)
            else:
                ranks = [each.ranks(target.shape) for each in (ours, theirs)]
                whole = [np.ones(len(each)) for each in ranks]
                apart = distance(ranks[0], whole[0], ranks[1], whole[1]) if all(map(len, ranks)) else WORST
                parts.append(apart / target.unit)
        return root_mean_square(parts)

    def statistics(self, observed: Observed) -> list[float]:
        """Return the statistics that tell parameters apart; NaN for a shape that the run does not have.

        A shape has two: the mean rank of its cascades among the data of equal sizes, and the distance of the ranks from
        the middle. Unlike a distance from the data, these tell in which direction a run deviates.
        """
        ours = _Beside(observed, self._real)
        return [
            number
            for each in self.targets.values()
            for number in (_of_ranks(ours.ranks(each.shape)) if each.shape else [observed.numbers[str(each.measure)]])
        ]

    def wanted(self) -> list[Datum]:
        """Return the same statistics of the data."""
        own, found = _Beside(Observed(cascades=rows_in(self._real)), self._real), list[Datum]()
        for target in self.targets.values():
            if target.shape is not None:
                found += [Datum(value=each) for each in _of_ranks(own.ranks(target.shape))]
            elif target.value is not None:
                found.append(Datum(value=target.value, error=target.error or 0.0))
        return found

    def count_compared(self, observed: Observed) -> int:
        """Return the cascades that have enough real ones of their sizes."""
        return _Beside(observed, self._real).count


def holdout_targets(targets: Mapping[str, Target], *, has_cascades: bool) -> dict[str, Target]:
    """Return the targets with a figure in the part of the data that is not fitted, with that figure."""
    found = {}
    for name, target in targets.items():
        if target.shape is not None and has_cascades:
            found[name] = target
        elif target.holdout is not None:
            found[name] = msgspec.structs.replace(target, value=target.holdout)
    return found


def pooled(runs: Sequence[Observed]) -> Observed:
    """Return runs taken together: the means of their numbers, and all their cascades."""
    names = runs[0].numbers if runs else {}
    return Observed(
        numbers={name: math.fsum(each.numbers[name] for each in runs) / len(runs) for name in names},
        cascades=tuple(row for each in runs for row in each.cascades),
    )


def root_mean_square(parts: Iterable[float]) -> float:
    """Return the root mean square of deviations: 1 if each is at its tolerance; 0 without deviations."""
    squares = [part * part for part in parts]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else 0.0


def _table(rows: Sequence[Sequence[float]]) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(-1, len(SHAPES))


class _Beside:
    """The cascades of a run beside real ones: of equal sizes, as in the scorecard, or of any size to compare sizes."""

    def __init__(self, observed: Observed, real: Floats) -> None:
        self._ours, self._real = _table(observed.cascades), real
        self._large = self._ours[self._ours[:, 0] >= real[:, 0].min(initial=np.inf)]  # smaller ones are not in the data
        self._equal = Matching(self._ours[:, 0], real[:, 0])
        self._any = Matching(self._large[:, 0], real[:, 0], np.inf)
        self.count = len(self._equal)  # the cascades that have enough real ones of their sizes

    def distance(self, shape: str) -> float:
        """Return the Kolmogorov-Smirnov distance of a shape, 0 to 1."""
        matching, ours, real = self._of(shape)
        return WORST if len(matching) < CASCADES_LEAST else matching.distance(ours, real)

    def ranks(self, shape: str) -> Floats:
        """Return the ranks of a shape among the real ones, 0 to 1; none if there are too few."""
        matching, ours, real = self._of(shape)
        return np.empty(0) if len(matching) < CASCADES_LEAST else matching.ranks(ours, real)

    def _of(self, shape: str) -> tuple[Matching, Floats, Floats]:
        column = SHAPES.index(shape)
        matching, ours = (self._any, self._large) if shape == SIZE else (self._equal, self._ours)
        return matching, ours[:, column], self._real[:, column]


def _of_ranks(ranks: Floats) -> list[float]:
    """Return the mean of ranks, and of their distance from 1/2; NaN without any."""
    return [float(ranks.mean()), float(np.abs(ranks - 0.5).mean())] if len(ranks) else [math.nan, math.nan]

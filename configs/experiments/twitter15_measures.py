"""The measures of `twitter15.yaml`: mean shapes of cascades of 100 to 200 posts, of runs and of the real trees.

The real trees are parted as in configs/calibrations/twitter15.yaml: `seen` are those that it fits, `unseen` those that
it holds out. Minutes count by their logarithm (10).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from actors import read_result
from actors.factory.input_files import read_input
from actors.results.observed import observed_feed
from prism.calibration.calibration_file import SHAPES
from prism.calibration.comparison import Real, parted, rows_in, table_of
from prism.scorecard import Feed, parse_cascades
from prism.scorecard.facts import month_share

HOLDOUT = 0.333
LEAST, MOST = 100, 200
"""Sizes of which both runs and data have many cascades, spread alike: shapes depend on size."""


def silence(path: Path) -> float:
    """Return the share of the originals that nobody answered or reshared."""
    return float(np.mean(_feed(path).shapes.size == 1))


def top_tenth(path: Path) -> float:
    """Return the share of a month's posts by the tenth of those who post."""
    feed = _feed(path)
    return month_share(feed.posts_by_person.astype(np.float64), feed.days)


def _of_runs(shape: str) -> Callable[[Sequence[Path]], float]:
    """Return the function that gives the mean of a shape over the cascades of all runs."""

    def mean(runs: Sequence[Path]) -> float:
        return float(np.mean(np.concatenate([_of_run(run)[shape] for run in runs])))

    return mean


def _of_trees(shape: str, part: str) -> Callable[[Path], tuple[float, float]]:
    """Return the function that gives the mean of a shape over a part of the real trees, and its standard error."""

    def mean(data: Path) -> tuple[float, float]:
        values = _shapes(getattr(_real(data), part))[shape]
        return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))

    return mean


depth, breadth_share, virality, half_minutes = map(_of_runs, SHAPES[1:])
seen_depth, seen_breadth_share, seen_virality = (_of_trees(shape, "fitted") for shape in SHAPES[1:4])
unseen_depth, unseen_breadth_share, unseen_virality, unseen_half_minutes = (
    _of_trees(shape, "holdout") for shape in SHAPES[1:]
)


def _feed(path: Path) -> Feed:
    return observed_feed(path, read_result(path).config)


@cache
def _of_run(path: Path) -> dict[str, NDArray[np.float64]]:
    return _shapes(rows_in(table_of(_feed(path).shapes)))


@cache
def _real(data: Path) -> Real:
    return parted(parse_cascades(read_input(data).data, data.name), HOLDOUT)


def _shapes(rows: Iterable[Sequence[float]]) -> dict[str, NDArray[np.float64]]:
    """Return `{shape: its value of each cascade}` of the cascades of 100 to 200 posts."""
    table = np.array([row for row in rows if LEAST <= row[0] <= MOST], dtype=np.float64).reshape(-1, len(SHAPES))
    table[:, -1] = np.log10(np.maximum(table[:, -1], 1.0))
    return dict(zip(SHAPES, table.T, strict=True))

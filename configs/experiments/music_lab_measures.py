"""The measures of `music-lab.yaml`, as Salganik, Dodds & Watts (2006) define them, of a song's share of downloads."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from actors.store.course import read_course
from prism.scorecard.facts import rank_correlation


def inequality(path: Path) -> float:
    """Return the Gini coefficient of the songs' shares, 0 to 1."""
    shares = _shares(path)
    return float(np.abs(np.subtract.outer(shares, shares)).sum() / (2 * len(shares)))


def unpredictability(runs: Sequence[Path]) -> float:
    """Return how far a song's shares in two markets are apart: the mean of all pairs of markets and all songs."""
    return float(np.mean([np.abs(one - other) for one, other in combinations(map(_shares, runs), 2)]))


def quality_and_success(path: Path) -> float:
    """Return the correlation of the ranks (Spearman) of a song's merit and of its share."""
    shares = _shares(path)
    return rank_correlation(np.arange(len(shares), dtype=np.float64), shares)


def _shares(path: Path) -> NDArray[np.float64]:
    """Return each song's share of the downloads. The only posts are the songs, in the order of their merit."""
    course = read_course(path, "posts", "likes")
    found = np.array([course.likes[song] for song in course.posts.ids.tolist()], dtype=np.float64)
    shares: NDArray[np.float64] = found / found.sum()
    return shares

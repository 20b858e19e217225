"""The statistics of a distribution by name, such as `median` or `q90`; shares of cascades; and distances."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

STATISTICS: Final[Mapping[str, str]] = {
    "mean": "the mean",
    "median": "the median",
    "sd": "the standard deviation of the",
    "min": "the smallest",
    "max": "the largest",
}
"""`{name of a statistic: how it stands before a noun}`, beside `q01` to `q99` for percentiles."""
IN_WORDS: Final = f"{', '.join(STATISTICS)}, or q01 to q99"
FREEDOM_MAX: Final = 10_000.0
"""The most degrees of freedom that count: with so many, Student's t differs from normal by 0.0003."""
ANGLES: Final = 20_001
"""The angles at which a density is added up."""
LARGE: Final = 10
"""The posts from which on a cascade is counted as large in `rounds.csv`."""
SIZE_TOTALS: Final = ("cascade_size_mean", "cascade_size_median", "cascades_alone", f"cascades_at_least_{LARGE}")
"""The columns of `rounds.csv` on the sizes of cascades."""
_PERCENTILE: Final = re.compile(r"q(?!00)(\d\d)")


def is_statistic(name: str) -> bool:
    return name in STATISTICS or _PERCENTILE.fullmatch(name) is not None


def statistic(values: Sequence[float] | np.ndarray[Any, Any], name: str) -> float:
    """Return a statistic of values.

    A median or a percentile is a value that occurs: the smallest one that at least that share of the values do not
    exceed. The standard deviation is that of a sample, and 0 for a single value.

    Args:
        values: at least one.
        name: one for which `is_statistic` is true.

    Raises:
        ValueError: there are no values.
    """
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        raise ValueError(f"no values, so no {name}")
    if name == "sd":
        return float(array.std(ddof=1)) if len(array) > 1 else 0.0
    if name in ("mean", "min", "max"):
        return float(getattr(array, name)())
    share = 0.5 if name == "median" else int(name.removeprefix("q")) / 100
    return float(np.quantile(array, share, method="inverted_cdf"))


def effective_number(weights: np.ndarray[Any, Any]) -> float:
    """Return the effective number of weights: as many equal ones count as much. Source: Kish (1965)."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def spread_out(counts: Mapping[int, int]) -> np.ndarray[Any, Any]:
    """Return the values of `{value: how often it occurs}`, ascending, each as often as it occurs."""
    ascending = sorted(counts)
    return np.repeat(np.array(ascending, dtype=np.float64), [counts[each] for each in ascending])


def share_of_at_least(counts: Mapping[int, int], least: int) -> float:
    """Return the share of values that are at least so large, 0 to 1; 0 if there are none."""
    total = sum(counts.values())
    return sum(number for value, number in counts.items() if value >= least) / total if total else 0.0


def size_totals(sizes: Mapping[str, int]) -> dict[str, float]:
    """Return the columns of `rounds.csv` on the sizes of cascades.

    It takes time for each size that occurs, not for each cascade.

    Args:
        sizes: `{posts, as text: cascades of that size}`.
    """
    counts = {int(size): number for size, number in sizes.items()}
    total, middle, reached = sum(counts.values()), 0, 0
    for size in sorted(counts):
        reached, middle = reached + counts[size], size
        if 2 * reached >= total:
            break
    mean = sum(size * number for size, number in counts.items()) / total if total else 0.0
    alone = counts.get(1, 0) / total if total else 0.0
    values = (round(mean, 6), middle, round(alone, 6), round(share_of_at_least(counts, LARGE), 6))
    return dict(zip(SIZE_TOTALS, values, strict=True))


def student(freedom: float) -> float:
    """Return the quantile of Student's t that leaves 2.5% above it, to four digits.

    With t = sqrt(n) tan(a), the density of the angle a is proportional to cos(a)**(n - 1).

    Args:
        freedom: the degrees of freedom n, 1 or more, whole or not.
    """
    limited = min(freedom, FREEDOM_MAX)
    angles = np.linspace(0.0, math.pi / 2.0, ANGLES)
    density = np.cos(angles) ** (limited - 1.0)
    reached = np.cumsum(density[1:] + density[:-1])
    return math.sqrt(limited) * math.tan(float(np.interp(0.95, reached / reached[-1], angles[1:])))


def jensen_shannon_rows(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the divergence of each pair of rows in bits; a row has weights with a positive sum.

    It is the Jensen-Shannon divergence, from 0 (the same shares of every option) to 1 (no option in common).
    Source: Lin, "Divergence measures based on the Shannon entropy" (1991).
    """
    p, q = (side / side.sum(axis=1, keepdims=True) for side in (first, second))
    mean = (p + q) / 2.0
    total = np.zeros(len(p))
    for side in (p, q):
        ratio = np.divide(side, mean, out=np.ones_like(side), where=side > 0.0)
        total += (side * np.log2(ratio)).sum(axis=1)
    clipped: NDArray[np.float64] = np.clip(total / 2.0, 0.0, 1.0)
    return clipped

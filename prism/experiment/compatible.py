"""The comparison of a published figure with the runs of an experiment: whether the two are compatible.

A number is compatible if it lies in the prediction interval that the runs and the published noise make: the mean of
the runs, and Student's t times the standard deviation of (mean of the runs - published number). The published number
has its published noise; without one it is taken for `worlds` runs of the same world, which vary as ours do. A direction
is compatible if the 95% interval of the mean, or of the mean difference, lies on its side of 0.

A number that is worked out from all runs of a condition enters by the pseudo-values of the jackknife, one for each run:
their mean and their spread are those of the number.

Source: Student (1908), Satterthwaite (1946), Tukey (1958). docs/decisions/010-evidence.md has the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from prism.answers import figure
from prism.experiment.intervals import CONFIDENCE, spread
from prism.experiment.replication import Published

NORMAL_95 = 1.959964  # half of the width of a 95% interval in standard errors, for intervals that were published
T = TypeVar("T")
Computed = tuple[float, float | None]  # a number that is computed from data, and its standard error


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A published figure beside what the runs say."""

    figure: str  # the figure in words
    published: str  # what was published, in words
    here: float  # the mean over the runs, or the mean difference
    # low, high: the ends between which a compatible figure lies; of a direction, the 95% interval
    low: float
    high: float
    is_hit: bool  # whether the two are compatible
    why: str  # the reason of a miss; empty for a hit
    fitted: bool  # whether the experiment was fitted to the figure
    source: str  # the table, figure or page of the study


def pseudo_values(runs: Sequence[T], statistic: Callable[[Sequence[T]], float]) -> list[float]:
    """Return a value for each run, whose mean and spread are those of a number that is worked out from all runs."""
    count, whole = len(runs), statistic(runs)
    rest = (statistic([*runs[:left], *runs[left + 1 :]]) for left in range(count))
    return [count * whole - (count - 1) * each for each in rest]


def compare(name: str, asked: Published, values: Sequence[float], computed: Computed | None) -> Compared:
    """Return a published figure beside the values of the runs.

    Args:
        values: one for each seed, two or more; of a contrast, the differences.
        computed: of a figure that is computed from data.
    """
    array = np.asarray(values, dtype=np.float64)
    mean, sd, count = float(array.mean()), spread(array), len(array)
    ours = sd**2 / count
    if asked.direction is not None:
        low, high = _ends(mean, ours, ours, count)
        is_hit = low > 0.0 if asked.direction == "greater" else high < 0.0
        why = "" if is_hit else "neither sign found" if low <= 0.0 <= high else "the opposite sign"
        return _compared(name, asked, f"{asked.direction} than 0", (mean, low, high), why)
    (first, last), error = _published(asked, computed)
    theirs = sd**2 / asked.worlds if error is None else error**2
    low, high = _ends(mean, ours + theirs, ours + theirs if error is None else ours, count)
    why = "too high" if low > last else "too low" if high < first else ""
    said = f"{first:,g}" if first == last else f"{first:,g} to {last:,g}"
    return _compared(name, asked, said if error is None else f"{said}, se {figure(error, 2)}", (mean, low, high), why)


def _compared(name: str, asked: Published, published: str, found: tuple[float, float, float], why: str) -> Compared:
    here, low, high = found
    return Compared(
        figure=name,
        published=published,
        here=here,
        low=low,
        high=high,
        is_hit=not why,
        why=why,
        fitted=asked.fitted,
        source=asked.source,
    )


def _published(asked: Published, computed: Computed | None) -> tuple[tuple[float, float], float | None]:
    """Return the ends between which a published number lies, and its standard error; None if it has none."""
    if computed is not None:
        return (computed[0], computed[0]), computed[1]
    value = asked.value
    ends = (value, value) if value is not None else asked.range or (math.nan, math.nan)
    if asked.interval is not None:
        return ends, (asked.interval[1] - asked.interval[0]) / (2 * NORMAL_95)
    return ends, asked.se


def _ends(mean: float, variance: float, of_runs: float, count: int) -> tuple[float, float]:
    """Return the ends of an interval around the mean.

    Args:
        variance: the whole of it; `of_runs`: the part that is estimated from the runs, so that it is uncertain.
    """
    from scipy.stats import t  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    if variance == 0.0:
        return mean, mean
    freedom = np.inf if of_runs == 0.0 else (count - 1) * (variance / of_runs) ** 2
    reach = float(np.sqrt(variance) * t.ppf((1 + CONFIDENCE) / 2, freedom))
    return mean - reach, mean + reach

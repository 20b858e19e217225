"""The variance of a measure, as shares of conditions, seeds, the rest, and the rounds within a run.

The components are those of the analysis of variance without replication, each at least 0: conditions
`(MS_conditions - MS_rest) / seeds`, seeds `(MS_seeds - MS_rest) / conditions`, the rest `MS_rest`. A share is a
component over their sum. Intervals are over seeds; conditions were chosen.

Source: Searle, Casella and McCulloch (1992), chapter 4.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from prism.experiment.intervals import Array, spread, t_intervals

SEEDS_LEAST = 5  # the fewest seeds with intervals: three or four values say too little about a variance
NAMES = ("conditions", "seeds", "rest", "within_runs")


class Share(msgspec.Struct, frozen=True, kw_only=True):
    source: str  # `conditions`, `seeds`, `rest` (what a seed does in one condition alone) or `within_runs`
    share: float  # from 0 to 1; all shares of a measure add up to 1
    # low, high: its 95% interval; None for fewer than five seeds
    low: float | None = None
    high: float | None = None


def decomposed(table: Array, within: Array | None = None) -> list[Share]:
    """Return the shares of a measure's variance; none if all values are equal.

    Args:
        table: a row for each condition, two or more, and a column for each seed, two or more, without gaps.
        within: the variance over the rounds of each run, in the same places.
    """
    if spread(table.ravel()) == 0.0 and (within is None or not within.any()):
        return []
    parts = [table] if within is None else [table, within]
    stacked = np.stack(parts)

    def shares_of(places: Array) -> Any:
        return _shares(stacked[..., places.astype(np.intp)])

    seeds = table.shape[1]
    places = np.arange(seeds, dtype=np.float64)
    shares = shares_of(places)
    lows = highs = np.full(len(shares), np.nan)
    if seeds >= SEEDS_LEAST:
        lows, highs = t_intervals((places,), shares_of)
    return [
        Share(source=name, share=float(share), low=_known(low), high=_known(high))
        for name, share, low, high in zip(NAMES, shares, lows, highs, strict=False)
    ]


def noise_share(table: Array) -> float:
    """Return the share of the variance between the means of conditions that is due to chance, from 0 to 1."""
    conditions, seeds = table.shape
    if conditions < 2 or seeds < 2 or spread(table.mean(axis=1)) == 0.0:
        return 0.0
    between = spread(table.mean(axis=1)) ** 2
    _, _, rest = _components(table[:, None, :])
    share: float = float(rest[0]) / seeds / between
    return min(1.0, share)


def _known(value: Any) -> float | None:
    return min(1.0, max(0.0, float(value))) if np.isfinite(value) else None


def _shares(stacked: Any) -> Any:
    """Return the shares, in rows; seeds are the last axis."""
    conditions, seeds, rest = _components(stacked[0])
    parts = [conditions, seeds, rest]
    if len(stacked) > 1:
        parts.append(stacked[1].mean(axis=(0, -1)))
    found = np.stack(parts)
    total = found.sum(axis=0)
    return np.divide(found, total, out=np.zeros_like(found), where=total > 0)


def _components(table: Any) -> tuple[Any, Any, Any]:
    """Return the components of conditions, seeds and the rest. Conditions are the first axis, seeds the last."""
    count, seeds = table.shape[0], table.shape[-1]
    rows, columns = table.mean(axis=-1, keepdims=True), table.mean(axis=0, keepdims=True)
    residual = table - rows - columns + table.mean(axis=(0, -1), keepdims=True)
    rest = (residual**2).sum(axis=(0, -1)) / ((count - 1) * (seeds - 1))
    of_conditions = np.maximum(0.0, rows[..., 0].var(axis=0, ddof=1) - rest / seeds)
    of_seeds = np.maximum(0.0, columns[0].var(axis=-1, ddof=1) - rest / count)
    return of_conditions, of_seeds, rest

"""The variance of a measure in shares, and the effects of factors on it.

| design | has for each factor | interval | source |
|---|---|---|---|
| factorial | the mean of each level minus that of all, under each seed | over seeds | Montgomery (2017) |
| one_at_a_time | each level minus the first one, under each seed | over seeds | |
| latin_hypercube, table | standardised slopes of the means over seeds | HC3 | Saltelli (2008), by statsmodels |
| sobol | first-order and total indices of the means over seeds | points, seeds resampled | Saltelli (2010), by SALib |
| morris | mu, mu* and sigma of the means over seeds | paths, seeds resampled | Campolongo (2007), by SALib |
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from prism.experiment.design import Condition, Design, Range, levels_of
from prism.experiment.intervals import SEED, Array, described, spread, t_intervals, without_rounding
from prism.experiment.sampling import morris_levels, problem_of, unit_points

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

    The components are those of the analysis of variance without replication, each at least 0: conditions
    `(MS_conditions - MS_rest) / seeds`, seeds `(MS_seeds - MS_rest) / conditions`, the rest `MS_rest`. Intervals are
    over seeds; conditions were chosen. Source: Searle, Casella and McCulloch (1992), chapter 4.

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


RESAMPLES = 500
Z = 1.96  # standard errors on each side of a 95% interval
LEVERAGE_MAX = 1 - 1e-9
"""The leverage of a condition that no other one checks: the line goes through it, and HC3 divides 0 by 0."""
NOISE_NOTED = 0.1  # the share of noise from which on a note says that more seeds are needed


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """An effect of a factor on a measure."""

    measure: str
    factor: str
    kind: str  # `level`, `slope`, `first_order`, `total`, `mu`, `mu_star` or `sigma`
    level: str = ""  # of a factor with levels; empty elsewhere
    value: float  # in the unit of the measure; a slope is in standard deviations, an index a share of the variance
    # low and high end of its 95% interval, if it has one
    low: float | None = None
    high: float | None = None


class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """The effects on one measure, or why there are none."""

    effects: list[Effect] = []
    note: str = ""  # a remark on them, in words; empty without one


def effects_on(measure: str, design: Design, conditions: Sequence[Condition], table: Array) -> Effects:
    """Return the effects of a design's factors.

    Args:
        table: a row for each condition, in the order of the design, and a column for each seed, two or more.
    """
    if spread(table.ravel()) == 0.0:
        return Effects(note=f"{measure}: all values are equal, so there are no effects")
    if design.kind in ("factorial", "one_at_a_time"):
        return Effects(effects=_of_levels(measure, design, conditions, table))
    if design.kind in ("latin_hypercube", "table"):
        return _slopes(measure, design, conditions, table)
    found = _sobol(measure, design, table) if design.kind == "sobol" else _morris(measure, design, table)
    noise = noise_share(table)
    if noise < NOISE_NOTED:
        return Effects(effects=found)
    note = f"{measure}: {noise:.0%} of the variance between points is chance, which hides effects: take more seeds"
    return Effects(effects=found, note=note)


def _of_levels(measure: str, design: Design, conditions: Sequence[Condition], table: Array) -> list[Effect]:
    rows = {each.name: place for place, each in enumerate(conditions)}
    found = []
    for factor in design.factors:
        levels = {
            level: table[[rows[name] for name in names]].mean(axis=0)
            for level, names in levels_of(factor, design, conditions).items()
        }
        is_base = design.kind == "one_at_a_time"
        against = next(iter(levels.values())) if is_base else np.mean([*levels.values()], axis=0)
        for level, values in list(levels.items())[1 if is_base else 0 :]:
            over = described(list(without_rounding(values - against, of=table)))
            found.append(
                Effect(
                    measure=measure,
                    factor=factor,
                    kind="level",
                    level=level,
                    value=over.mean,
                    low=over.low,
                    high=over.high,
                )
            )
    return found


def _slopes(measure: str, design: Design, conditions: Sequence[Condition], table: Array) -> Effects:
    names = list(conditions[0].factors)
    numeric = [name for name in names if all(_is_number(each.factors[name]) for each in conditions)]
    if len(numeric) < len(names):
        texts = ", ".join(name for name in names if name not in numeric)
        return Effects(note=f"{measure}: no slopes, because {texts} is no number")
    if len(conditions) < 2 * len(names) + 2:
        return Effects(note=f"{measure}: no slopes: {len(names)} factors need {2 * len(names) + 2} conditions or more")
    inputs = np.array([[_scaled(design, name, each.factors[name]) for name in names] for each in conditions])
    means = table.mean(axis=1)
    if spread(means) == 0.0 or any(spread(column) == 0.0 for column in inputs.T):
        return Effects(note=f"{measure}: no slopes: a factor or all means are equal")
    from statsmodels.regression.linear_model import OLS  # noqa: PLC0415  # an extra, and slow to import
    from statsmodels.tools.tools import add_constant  # noqa: PLC0415

    def standardised(values: Array) -> Any:
        return (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)

    fitted: Any = OLS(standardised(means), add_constant(standardised(inputs))).fit(cov_type="HC3")
    if np.linalg.matrix_rank(inputs - inputs.mean(axis=0)) < len(names):
        return Effects(note=f"{measure}: no slopes: a factor follows from the others")
    leverages = fitted.get_influence().hat_matrix_diag
    if leverages.max() > LEVERAGE_MAX:
        name = conditions[int(leverages.argmax())].name
        return Effects(note=f"{measure}: no slopes: that of a factor hangs on the condition {name} alone")
    ends = fitted.conf_int()
    found = [
        Effect(
            measure=measure,
            factor=name,
            kind="slope",
            value=float(fitted.params[place]),
            low=float(ends[place][0]),
            high=float(ends[place][1]),
        )
        for place, name in enumerate(names, start=1)
    ]
    return Effects(effects=found, note=f"{measure}: straight lines explain {fitted.rsquared:.0%} of the variance")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _scaled(design: Design, name: str, value: float) -> float:
    factor = design.factors.get(name)
    return float(np.log(value)) if isinstance(factor, Range) and factor.scale == "log" else float(value)


def _sobol(measure: str, design: Design, table: Array) -> list[Effect]:
    from SALib.analyze import sobol  # noqa: PLC0415  # an extra

    factors = len(design.factors)
    blocks = table.reshape(-1, factors + 2, table.shape[1])

    def indices(chosen: Array) -> Array:
        scale = chosen.std() or 1.0  # the estimators treat a small variance as 0
        values = (chosen - chosen.mean()) / scale
        first, second = values[:, 0], values[:, -1]
        return np.array(
            [
                [estimate(first, values[:, 1 + place], second) for place in range(factors)]
                for estimate in (sobol.first_order, sobol.total_order)
            ]
        )

    return _indexed(measure, design, ("first_order", "total"), *_resampled(blocks, indices))


def _morris(measure: str, design: Design, table: Array) -> list[Effect]:
    from SALib.analyze import morris  # noqa: PLC0415  # an extra

    factors, points = len(design.factors), unit_points(design)
    blocks = table.reshape(-1, factors + 1, table.shape[1])
    inputs = points.reshape(-1, factors + 1, factors)

    def indices(chosen: Array, places: Any) -> Array:
        found = morris.analyze(
            problem_of(design),
            inputs[places].reshape(-1, factors),
            chosen.ravel(),
            num_resamples=2,
            num_levels=morris_levels(design),
            seed=SEED,
        )
        return np.array([np.asarray(found[name], dtype=np.float64) for name in ("mu", "mu_star", "sigma")])

    return _indexed(measure, design, ("mu", "mu_star", "sigma"), *_resampled(blocks, indices, with_places=True))


def _resampled(blocks: Array, indices: Callable[..., Array], *, with_places: bool = False) -> tuple[Array, Array]:
    """Return the indices of the means over seeds, and their standard errors over resampled blocks and seeds."""
    rng, count, seeds = np.random.default_rng(SEED), blocks.shape[0], blocks.shape[2]
    whole = np.arange(count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of resamples that are all equal: their indices are 0
        means = blocks.mean(axis=2)
        found = indices(means, whole) if with_places else indices(means)
        again = []
        for _ in range(RESAMPLES):
            weights = np.bincount(rng.integers(seeds, size=seeds), minlength=seeds) / seeds
            places = rng.integers(count, size=count)
            chosen = blocks[places] @ weights
            again.append(indices(chosen, places) if with_places else indices(chosen))
    return found, np.std(again, axis=0, ddof=1)


def _indexed(measure: str, design: Design, kinds: Sequence[str], values: Array, errors: Array) -> list[Effect]:
    """Return the indices as effects; an index that cannot be negative has no negative end."""
    least = {"total": 0.0, "mu_star": 0.0, "sigma": 0.0}
    return [
        Effect(
            measure=measure,
            factor=factor,
            kind=kind,
            value=float(values[row][column]),
            low=max(least.get(kind, -np.inf), float(values[row][column] - Z * errors[row][column])),
            high=float(values[row][column] + Z * errors[row][column]),
        )
        for column, factor in enumerate(design.factors)
        for row, kind in enumerate(kinds)
    ]

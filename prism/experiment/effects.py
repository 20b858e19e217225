"""The effects of factors on a measure.

| design | has for each factor | interval | source |
|---|---|---|---|
| factorial | the mean of each level minus that of all, under each seed | over seeds | Montgomery (2017) |
| one_at_a_time | each level minus the first one, under each seed | over seeds | |
| latin_hypercube, table | standardised slopes of the means over seeds | HC3 | Saltelli (2008), by statsmodels |
| sobol | first-order and total indices of the means over seeds | points resampled | Saltelli (2010), by SALib |
| morris | mu, mu* and sigma of the means over seeds | of mu*: paths resampled | Campolongo (2007), by SALib |
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from prism.columns import Floats
from prism.experiment.design import LEVELS, Condition, Design, Range, levels_of, problem_of, unit_points
from prism.experiment.hypothesis_tests import described, spread, without_rounding

RESAMPLES = 500
SEED = 20_080_607  # of the resamples, so that the same values give the same intervals
LEVERAGE_MAX = 1 - 1e-9
"""The leverage of a condition that no other one checks: the line goes through it, and HC3 divides 0 by 0."""


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


def effects_on(measure: str, design: Design, conditions: Sequence[Condition], table: Floats) -> Effects:
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
    return Effects(effects=_indices(measure, design, table.mean(axis=1)))


def _of_levels(measure: str, design: Design, conditions: Sequence[Condition], table: Floats) -> list[Effect]:
    rows = {each.name: place for place, each in enumerate(conditions)}
    found = []
    for factor in design.factors:
        levels = [
            (level, table[[rows[name] for name in names]].mean(axis=0))
            for level, names in levels_of(factor, design, conditions).items()
        ]
        is_base = design.kind == "one_at_a_time"
        against = levels[0][1] if is_base else np.mean([values for _, values in levels], axis=0)
        for level, values in levels[is_base:]:
            over = described(without_rounding(values - against, of=table))
            ends = {"low": over.low, "high": over.high}
            found.append(Effect(measure=measure, factor=factor, kind="level", level=level, value=over.mean, **ends))
    return found


def _slopes(measure: str, design: Design, conditions: Sequence[Condition], table: Floats) -> Effects:
    names = list(conditions[0].factors)
    numeric = [name for name in names if all(type(each.factors[name]) in (int, float) for each in conditions)]
    if len(numeric) < len(names):
        texts = ", ".join(name for name in names if name not in numeric)
        return Effects(note=f"{measure}: no slopes, because {texts} is no number")
    if len(conditions) < 2 * len(names) + 2:
        return Effects(note=f"{measure}: no slopes: {len(names)} factors need {2 * len(names) + 2} conditions or more")
    inputs = np.array([[each.factors[name] for name in names] for each in conditions], dtype=np.float64)
    for place, name in enumerate(names):
        if isinstance(factor := design.factors.get(name), Range) and factor.scale == "log":
            inputs[:, place] = np.log(inputs[:, place])
    means = table.mean(axis=1)
    if spread(means) == 0.0 or np.linalg.matrix_rank(inputs - inputs.mean(axis=0)) < len(names):
        return Effects(note=f"{measure}: no slopes: all means are equal, or a factor does not vary by itself")
    from statsmodels.regression.linear_model import OLS  # noqa: PLC0415  # an extra, and slow to import
    from statsmodels.tools.tools import add_constant  # noqa: PLC0415

    def standardised(values: Floats) -> Any:
        return (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)

    fitted: Any = OLS(standardised(means), add_constant(standardised(inputs))).fit(cov_type="HC3")
    if fitted.get_influence().hat_matrix_diag.max() > LEVERAGE_MAX:
        return Effects(note=f"{measure}: no slopes: that of a factor hangs on one condition alone")
    ends = fitted.conf_int()
    found = [
        Effect(measure=measure, factor=name, kind="slope", value=float(value), low=float(low), high=float(high))
        for name, value, (low, high) in zip(names, fitted.params[1:], ends[1:], strict=True)
    ]
    return Effects(effects=found, note=f"{measure}: straight lines explain {fitted.rsquared:.0%} of the variance")


def _indices(measure: str, design: Design, means: Floats) -> list[Effect]:
    """Return Sobol's indices or Morris's measures of the means of points, by SALib."""
    asked: dict[str, Any] = {"num_resamples": RESAMPLES, "seed": SEED}
    scale = float(means.std()) or 1.0  # the estimators treat a small variance as 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of resamples that are all equal
        if design.kind == "sobol":
            from SALib.analyze import sobol  # noqa: PLC0415  # an extra

            kinds = {"first_order": "S1", "total": "ST"}
            found = sobol.analyze(problem_of(design), (means - means.mean()) / scale, calc_second_order=False, **asked)
            scale = 1.0  # an index is a share of the variance
        else:
            from SALib.analyze import morris  # noqa: PLC0415  # an extra

            kinds = {"mu": "mu", "mu_star": "mu_star", "sigma": "sigma"}
            points, asked["num_levels"] = unit_points(design), design.levels or LEVELS
            found = morris.analyze(problem_of(design), points, means / scale, **asked)
    effects = []
    for column, factor in enumerate(design.factors):
        for kind, name in kinds.items():
            value, low, high = scale * float(np.nan_to_num(found[name][column])), None, None
            if f"{name}_conf" in found:
                reach = scale * float(np.nan_to_num(found[f"{name}_conf"][column]))
                low, high = value - reach, value + reach
                low = low if kind == "first_order" else max(0.0, low)
            effects.append(Effect(measure=measure, factor=factor, kind=kind, value=value, low=low, high=high))
    return effects

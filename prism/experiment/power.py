"""The power of planned tests: the effects that so many seeds can find, and those that they never find, by statsmodels.

| test | power of |
|---|---|
| t | the paired t test |
| wilcoxon | the paired t test with 3 / pi of the pairs: its efficiency for normal differences (Lehmann 1975) |
| equivalence | two one-sided t tests of conditions that are equal |
| mann_whitney | the t test of two samples with 3 / pi of the seeds |
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import msgspec
import numpy as np

from prism.experiment.hypothesis_tests import Hypothesis, p_value

POWER = 0.8
EFFECT_LEAST, EFFECT_LARGE = 1e-6, 30.0  # the ends of the range in which an effect is searched
RANK_EFFICIENCY = 3 / math.pi


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The effect that a test finds in four of five experiments."""

    size: float | None  # in the unit; None if no effect is found so often
    unit: str  # what the size is measured in, in words


def effect_found(hypothesis: Hypothesis, seeds: int, alpha: float) -> Found:
    """Return the effect that a test finds with a power of 0.8.

    Args:
        seeds: of each condition.
        alpha: the false alarms of this test alone.
    """
    from statsmodels.stats import power  # noqa: PLC0415  # an extra, and slow to import

    side = "two-sided" if hypothesis.alternative == "two-sided" else "larger"
    if hypothesis.test == "mann_whitney":
        solver, given = power.TTestIndPower(), {"nobs1": seeds * RANK_EFFICIENCY, "alternative": side}
        unit = "times the standard deviation of the values"
    else:
        share = RANK_EFFICIENCY if hypothesis.test == "wilcoxon" else 1.0
        solver, given = power.TTestPower(), {"nobs": seeds * share, "alternative": side}
        unit = "times the standard deviation of the paired differences"
    wanted = POWER
    if hypothesis.test == "equivalence":
        given["alternative"], wanted = "larger", (1 + POWER) / 2
    return Found(size=_solved(solver, {**given, "alpha": alpha}, wanted), unit=unit)


def _solved(solver: Any, given: dict[str, Any], wanted: float) -> float | None:
    """Return the effect size with the wanted power; None if even the largest effect has less, as for two seeds.

    The solvers of statsmodels give up on some small samples, so only its power is used.
    """
    from scipy.optimize import brentq  # noqa: PLC0415

    def lacking(size: float) -> float:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            power = float(np.squeeze(solver.power(effect_size=size, **given)))
        return (power if math.isfinite(power) else 1.0) - wanted  # far out, the noncentral curves overflow

    return float(brentq(lacking, EFFECT_LEAST, EFFECT_LARGE)) if lacking(EFFECT_LARGE) >= 0.0 else None


def smallest_p(hypothesis: Hypothesis, seeds: int) -> float:
    """Return the smallest p value that a test can have with so many seeds, if all values are different."""
    if hypothesis.test in ("t", "equivalence"):
        return 0.0
    if hypothesis.test == "wilcoxon":
        return min(1.0, (2 if hypothesis.alternative == "two-sided" else 1) * math.ldexp(1.0, -seeds))
    low = np.arange(float(seeds))
    high = low + seeds
    return p_value(hypothesis, high, low) if hypothesis.alternative == "greater" else p_value(hypothesis, low, high)

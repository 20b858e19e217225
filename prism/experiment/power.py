"""The power of planned tests: the effect that so many seeds find in four of five experiments."""

from __future__ import annotations

import math
import warnings

import numpy as np

from prism.experiment.hypothesis_tests import Hypothesis

POWER = 0.8
SMALLEST = 1e-3  # standard deviations, where the search begins
RANK_EFFICIENCY = 3 / math.pi  # of tests by ranks beside t tests, for normal differences (Lehmann 1975)


def effect_found(hypothesis: Hypothesis, seeds: int, alpha: float) -> float | None:
    """Return the effect that a test finds with a power of 0.8, in standard deviations; None if it finds none so often.

    For `mann_whitney` these are deviations of the values, otherwise of the paired differences. For `equivalence` it is
    the margin within which equal conditions are found to be equal.

    Args:
        seeds: of each condition.
        alpha: the false alarms of this test alone.
    """
    from scipy.optimize import brentq  # noqa: PLC0415
    from statsmodels.stats.power import TTestIndPower, TTestPower  # noqa: PLC0415  # an extra, and slow to import

    alternative, wanted = "two-sided" if hypothesis.alternative == "two-sided" else "larger", POWER
    if hypothesis.test == "equivalence":  # two one-sided tests, which must both find it
        alternative, wanted = "larger", (1 + POWER) / 2
    pairs = seeds * (1.0 if hypothesis.test in ("t", "equivalence") else RANK_EFFICIENCY)
    power = TTestIndPower().power if hypothesis.test == "mann_whitney" else TTestPower().power

    def lacking(size: float) -> float:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return wanted - float(np.squeeze(power(size, pairs, alpha, alternative=alternative)))

    size = SMALLEST
    while lacking(size) > 0.0:  # not a number where an effect is so large that the noncentral curve overflows
        size *= 2.0
    return float(brentq(lacking, size / 2.0, size)) if lacking(size) <= 0.0 and size > SMALLEST else None

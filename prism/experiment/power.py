"""The power of planned tests: the effect that so many seeds find in four of five experiments."""

from __future__ import annotations

import math

from prism.experiment.hypothesis_tests import Hypothesis

POWER = 0.8
LARGEST = 50.0  # standard deviations: no larger effect is searched for
RANK_EFFICIENCY = 3 / math.pi  # of tests by ranks beside t tests, for normal differences (Lehmann 1975)


def effect_found(hypothesis: Hypothesis, seeds: int, alpha: float) -> float | None:
    """Return the effect that a test finds with a power of 0.8, in standard deviations; None if it finds none so often.

    For `mann_whitney` these are deviations of the values, otherwise of the paired differences. For `equivalence` it is
    the margin within which equal conditions are found to be equal.

    Args:
        seeds: of each condition.
        alpha: the false alarms of this test alone.
    """
    # The power functions of statsmodels take a noncentral t that is not a number for some effects.
    from scipy import optimize, stats  # noqa: PLC0415

    number = seeds * (1.0 if hypothesis.test in ("t", "equivalence") else RANK_EFFICIENCY)
    freedom, scale = (2 * number - 2, number / 2) if hypothesis.test == "mann_whitney" else (number - 1, number)
    tails, wanted = 2 if hypothesis.alternative == "two-sided" else 1, POWER
    if hypothesis.test == "equivalence":  # two one-sided tests, which must both find it
        tails, wanted = 1, (1 + POWER) / 2
    critical = stats.t.isf(alpha / tails, freedom)

    def lacking(size: float) -> float:
        return wanted - float(stats.nct.sf(critical, freedom, size * math.sqrt(scale)))

    return float(optimize.brentq(lacking, 0.0, LARGEST)) if lacking(LARGEST) < 0.0 else None

"""Simulation-based calibration: runs serve as data, and their true parameters get ranks in the posteriors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from prism.calibration.parameters import Parameter
from prism.calibration.posterior import INTERVAL, Datum, Inference
from prism.columns import Floats

PARTS: Final = 10  # the parts of the runs: emulators that are tested on one part learn from the other parts
TRUTHS: Final = 300  # the most runs that are taken for the data: more would tell little more
DRAWS: Final = 512
BINS: Final = 10
COVERED: Final = INTERVAL[1] - INTERVAL[0]
HALF: Final = (0.25, 0.75)
UNLIKELY: Final = 0.01
"""Ranks are not uniform if such ones are less likely than this, in all parameters together (Bonferroni)."""
IDENTIFIED: Final = 0.7
"""The widest interval of a parameter that counts as identified, as a share of the interval that the range alone has."""
CORRELATED: Final = 0.9  # the correlation from which on two parameters are known only in combination


class TruthRanks(msgspec.Struct, frozen=True, kw_only=True):
    """The ranks of the known truths of one parameter among the draws of their posteriors."""

    parameter: str
    truths: int
    coverage: float  # the share of the truths that are in their 90% intervals
    coverage_error: float  # its standard error, if the intervals are right
    # half, half_error: the same of the 50% intervals
    half: float
    half_error: float
    likelihood: float  # how likely ranks as far from uniform are, if the posteriors are right; of a chi-squared test
    is_uniform: bool  # whether they can be taken for uniform, as those of right posteriors are
    bias: float  # the mean of estimate minus truth, as a share of the range
    bias_error: float  # its standard error
    error: float  # the root mean square of estimate minus truth, as a share of the range
    width: float  # the mean width of the 90% intervals, as a share of that of the range alone


def ranked(
    parameters: Sequence[Parameter], places: Floats, statistics: Floats, inference: Inference, data: Sequence[Datum]
) -> list[TruthRanks]:
    """Return the ranks of each parameter's truths, over runs that are taken for the data once each.

    Args:
        places: of the parameters of each run; (runs, parameters), 0 to 1.
        statistics: of each run; (runs, statistics).
        inference: from all these runs. Emulators take its kernels, and learn nothing else from the runs they are
            tested on.
        data: statistics of the data, for their limits and errors.

    Source: Talts, Betancourt, Simpson, Vehtari & Gelman (2018).
    """
    random, part_of = np.random.default_rng(0), np.arange(len(places)) * PARTS // len(places)
    ranks, errors, widths = list[Floats](), list[Floats](), list[Floats]()
    for part in range(part_of[min(TRUTHS, len(places)) - 1] + 1):
        others = inference.without(part_of == part)
        for run in np.flatnonzero(part_of[:TRUTHS] == part):
            known = [each.of_run(float(value), random) for each, value in zip(data, statistics[run], strict=True)]
            posterior = others.posterior(known, draws=DRAWS, seed=int(run))
            below, same = (
                posterior.weights @ kind for kind in (posterior.places < places[run], posterior.places == places[run])
            )
            ranks.append(below + random.random(len(parameters)) * same)
            errors.append(posterior.mean() - places[run])
            low, high = posterior.quantiles(INTERVAL).T
            widths.append((high - low) / COVERED)
    names = [each.setting for each in parameters]
    columns = zip(*(np.array(each).T for each in (ranks, errors, widths)), strict=True)
    return [_judged(name, each, len(names)) for name, each in zip(names, columns, strict=True)]


def _judged(name: str, found: tuple[Floats, ...], parameters: int) -> TruthRanks:
    from scipy.stats import chisquare  # noqa: PLC0415  # half a second

    ranks, errors, widths = found
    count = len(ranks)
    counts, _ = np.histogram(ranks, bins=BINS, range=(0.0, 1.0))
    likelihood = float(chisquare(counts).pvalue)
    inside, middle = ((low <= ranks) & (ranks <= high) for low, high in (INTERVAL, HALF))
    return TruthRanks(
        parameter=name,
        truths=count,
        coverage=float(inside.mean()),
        coverage_error=math.sqrt(COVERED * (1 - COVERED) / count),
        half=float(middle.mean()),
        half_error=0.5 / math.sqrt(count),
        likelihood=likelihood,
        is_uniform=likelihood >= UNLIKELY / parameters,
        bias=float(errors.mean()),
        bias_error=float(errors.std() / math.sqrt(count)),
        error=float(np.sqrt((errors**2).mean())),
        width=float(widths.mean()),
    )

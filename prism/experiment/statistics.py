"""The comparison of conditions over seeds: tests, effect sizes and intervals, by scipy and statsmodels.

| name | is | effect size | source |
|---|---|---|---|
| interval | bias-corrected and accelerated bootstrap of the mean over seeds | | Efron (1987) |
| wilcoxon | signed ranks of differences, exact up to 50 without ties | rank-biserial (Kerby 2014) | Wilcoxon (1945) |
| permutation | signs of the differences: all up to 15 pairs, else 9,999 at random | d_z | Fisher (1935), Cohen (1988) |
| t | paired t test | d_z | Student (1908) |
| equivalence | two one-sided paired t tests against a margin | d_z | Schuirmann (1987) |
| mann_whitney | ranks of two conditions, exact for few seeds | Cliff's delta | Mann (1947), Cliff (1993) |
| kruskal_wallis | ranks of several conditions | epsilon squared | Kruskal and Wallis (1952), Tomczak (2014) |
| friedman | ranks of several conditions within each seed | Kendall's W | Friedman (1937), Kendall (1939) |
| holm | p values for several hypotheses together | | Holm (1979) |
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from prism.experiment.hypothesis import UNPAIRED, Hypothesis
from prism.experiment.intervals import (
    INTERVAL_LEAST,
    RESAMPLES,
    ROUNDING,
    SEED,
    Array,
    Interval,
    batch_of,
    bca,
    described,
    spread,
    without_rounding,
)

ALL_SIGNS_MAX = 15
"""The most pairs of which every assignment of signs is tried: 32,768 of them."""
ARRANGEMENTS_MAX = 20_000
"""The most arrangements of two conditions with ties that are all tried: those of 8 and 8 seeds are 12,870."""
EFFECT_RESAMPLES = 1999


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a hypothesis on two conditions.

    Args:
        difference: of the first condition minus the second: over pairs, or of the means if the test is unpaired.
        effect_size: d, the mean difference over its standard deviation, or over that of both conditions if the test is
            unpaired; None if that is 0.
        statistic: of the test, as scipy has it: W, t or U; None for `permutation`, and where there is nothing to test.
        effect: the name of the test's own effect size: `d_z`, `rank-biserial` or `Cliff's delta`.
        effect_value: None if all values are equal; with its interval, where there is one.
        p: of the test; `p_holm`: among all hypotheses of the experiment.
        supported: whether `p_holm` is at most alpha.
    """

    hypothesis: Hypothesis
    difference: Interval
    effect_size: float | None
    statistic: float | None = None
    effect: str = "d_z"
    effect_value: float | None = None
    effect_low: float | None = None
    effect_high: float | None = None
    p: float
    p_holm: float = 1.0
    supported: bool = False


class SeveralCompared(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a hypothesis on several conditions, or on the levels of a factor.

    Args:
        groups: `{name: mean}` of each.
        statistic: of the test: H or chi squared; None where there is nothing to test.
        effect: the name of the effect size: `epsilon squared` or `Kendall's W`.
        effect_value: from 0 to 1; None if all values are equal. It has no interval: a bootstrap of it is biased.
        p, p_holm, supported: as for two conditions.
    """

    hypothesis: Hypothesis
    groups: dict[str, Interval]
    statistic: float | None
    effect: str
    effect_value: float | None
    p: float
    p_holm: float = 1.0
    supported: bool = False


C = TypeVar("C", bound=Comparison | SeveralCompared)


def compared(hypothesis: Hypothesis, first: Sequence[float], second: Sequence[float]) -> Comparison:
    """Return the comparison of two conditions; the values of a paired test have the same seeds in the same order."""
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if hypothesis.test in UNPAIRED:
        return _unpaired(hypothesis, one, other)
    values = np.concatenate([one, other])
    differences = without_rounding(one - other, of=values)
    tested = _rounded(differences, float(np.abs(values).max())) if hypothesis.test == "wilcoxon" else differences
    effect, statistic = ("rank-biserial", _rank_biserial) if hypothesis.test == "wilcoxon" else ("d_z", _d_z)
    size = low = high = None
    if differences.any() if hypothesis.test == "wilcoxon" else spread(differences):
        size = float(statistic(tested))
        if len(tested) >= INTERVAL_LEAST:
            low, high = bca((tested,), statistic, resamples=EFFECT_RESAMPLES)
    p, value = _paired_test(hypothesis, tested)
    return Comparison(
        hypothesis=hypothesis,
        difference=described(list(differences)),
        effect_size=float(_d_z(differences)) if spread(differences) else None,
        statistic=value,
        effect=effect,
        effect_value=size,
        effect_low=low,
        effect_high=high,
        p=p,
    )


def compared_groups(hypothesis: Hypothesis, groups: Mapping[str, Sequence[float]]) -> SeveralCompared:
    """Return the comparison of several conditions.

    Args:
        groups: `{name: values}`; for `friedman` the values of all have the same seeds in the same order.
    """
    from scipy import stats  # noqa: PLC0415

    scale = max(abs(value) for values in groups.values() for value in values)
    arrays = [_rounded(np.asarray(values, dtype=np.float64), scale) for values in groups.values()]
    is_blocked = hypothesis.test == "friedman"
    size: float | None = None
    value: float | None = None
    p = 1.0
    if _varies(arrays, is_blocked=is_blocked):
        found: Any = stats.friedmanchisquare(*arrays) if is_blocked else stats.kruskal(*arrays)
        p, value = float(found.pvalue), float(found.statistic)
        count = len(arrays[0]) * (len(arrays) - 1) if is_blocked else sum(map(len, arrays)) - 1
        size = min(1.0, value / count)
    return SeveralCompared(
        hypothesis=hypothesis,
        groups={name: described(values) for name, values in groups.items()},
        statistic=value,
        effect="Kendall's W" if is_blocked else "epsilon squared",
        effect_value=size,
        p=p,
    )


def p_value(hypothesis: Hypothesis, values: Array, others: Array | None = None) -> float:
    """Return the p value of a hypothesis on two conditions; 1 where equal values leave nothing to test.

    Args:
        values: paired differences, or for `mann_whitney` the values of the first condition.
        others: for `mann_whitney` alone: those of the second.
    """
    if others is None:
        return _paired_test(hypothesis, values)[0]
    return _mann_whitney(hypothesis, *_ranked(values, others))[0]


def holm(comparisons: Sequence[C], alpha: float, tests: int | None = None) -> list[C]:
    """Return the comparisons with p values for all of them together, and whether each is supported.

    Args:
        tests: the number of hypotheses, with those that could not be compared; None if all were.
    """
    if not comparisons:
        return []
    from statsmodels.stats.multitest import multipletests  # noqa: PLC0415  # an extra, and slow to import

    untested = 0 if tests is None else tests - len(comparisons)
    adjusted = multipletests([*(each.p for each in comparisons), *[1.0] * untested], alpha, method="holm")[1]
    return [
        msgspec.structs.replace(each, p_holm=float(p), supported=bool(p <= alpha))
        for each, p in zip(comparisons, adjusted, strict=False)
    ]


def _rounded(values: Array, scale: float | None = None) -> Array:
    """Return values for ranking: those that differ by rounding alone are equal, so that they have one rank."""
    quantum = ROUNDING * (float(np.abs(values).max()) if scale is None else scale)
    return np.round(values / quantum) if quantum > 0.0 else values


def _ranked(first: Array, second: Array) -> tuple[Array, Array]:
    """Return the values of two conditions for ranking them together."""
    scale = float(max(np.abs(first).max(), np.abs(second).max()))
    return _rounded(first, scale), _rounded(second, scale)


def _paired_test(hypothesis: Hypothesis, differences: Array) -> tuple[float, float | None]:
    """Return the p value, and the statistic where the test has one."""
    from scipy import stats  # noqa: PLC0415

    if hypothesis.test == "equivalence":
        return _equivalence(hypothesis.margin or 0.0, differences)
    if not differences.any():
        return 1.0, None
    found: Any
    if hypothesis.test == "wilcoxon":
        found = stats.wilcoxon(_rounded(differences), alternative=hypothesis.alternative)
        return float(found.pvalue), float(found.statistic)
    if hypothesis.test == "t":
        if spread(differences) == 0.0:  # the statistic is infinite
            side = {"two-sided": True, "less": differences[0] < 0, "greater": differences[0] > 0}
            return (0.0 if side[hypothesis.alternative] else 1.0), None
        found = stats.ttest_1samp(differences, 0.0, alternative=hypothesis.alternative)
        return float(found.pvalue), float(found.statistic)
    found = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=RESAMPLES if len(differences) > ALL_SIGNS_MAX else np.inf,
        batch=batch_of(len(differences)),
        alternative=hypothesis.alternative,
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue), None


def _equivalence(margin: float, differences: Array) -> tuple[float, float | None]:
    from scipy import stats  # noqa: PLC0415

    if spread(differences) == 0.0:
        return (0.0 if abs(float(differences.mean())) < margin else 1.0), None
    below: Any = stats.ttest_1samp(differences, -margin, alternative="greater")
    above: Any = stats.ttest_1samp(differences, margin, alternative="less")
    larger = max(below, above, key=lambda each: float(each.pvalue))
    return float(larger.pvalue), float(larger.statistic)


def _unpaired(hypothesis: Hypothesis, first: Array, second: Array) -> Comparison:
    ranked = _ranked(first, second)
    p, value = _mann_whitney(hypothesis, *ranked)
    varies = value is not None
    size = float(_cliff(*ranked)) if varies else None
    low = high = effect_low = effect_high = None
    if varies and min(len(first), len(second)) >= INTERVAL_LEAST:
        low, high = bca((first, second), _mean_difference)
        effect_low, effect_high = bca(ranked, _cliff, resamples=EFFECT_RESAMPLES)
    pooled = math.sqrt((spread(first) ** 2 + spread(second) ** 2) / 2)
    mean, count = float(first.mean() - second.mean()), min(len(first), len(second))
    return Comparison(
        hypothesis=hypothesis,
        difference=Interval(mean=mean, low=low, high=high, sd=pooled, count=count),
        effect_size=mean / pooled if pooled else None,
        statistic=value,
        effect="Cliff's delta",
        effect_value=size,
        effect_low=effect_low,
        effect_high=effect_high,
        p=p,
    )


def _mann_whitney(hypothesis: Hypothesis, first: Array, second: Array) -> tuple[float, float | None]:
    """Return the p value and U: exact for few seeds, with ties by trying all arrangements, else by the normal curve.

    Args:
        first, second: rounded, so that equal values are equal numbers. If all are, there is no U.
    """
    from scipy import stats  # noqa: PLC0415

    both = np.concatenate([first, second])
    if np.ptp(both) == 0.0:
        return 1.0, None
    method: Any = "auto"
    arrangements = math.comb(len(both), len(first))
    if len(np.unique(both)) < len(both) and arrangements <= ARRANGEMENTS_MAX:
        method = stats.PermutationMethod(n_resamples=arrangements, batch=batch_of(len(both)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ties among many values: the normal curve is corrected for them
        found: Any = stats.mannwhitneyu(first, second, alternative=hypothesis.alternative, method=method)
    return float(found.pvalue), float(found.statistic)


def _varies(arrays: Sequence[Array], *, is_blocked: bool) -> bool:
    """Return whether there are ranks to compare: somewhere two values differ, for `friedman` within a seed."""
    if is_blocked:
        table = np.stack(arrays)
        return bool((np.ptp(table, axis=0) > 0.0).any())
    return bool(np.ptp(np.concatenate(arrays)) > 0.0)


def _mean_difference(first: Any, second: Any, axis: int = -1) -> Any:
    return np.mean(first, axis=axis) - np.mean(second, axis=axis)


def _d_z(differences: Any, axis: int = -1) -> Any:
    return np.mean(differences, axis=axis) / np.std(differences, axis=axis, ddof=1)


def _rank_biserial(differences: Any, axis: int = -1) -> Any:
    """Return the ranks of positive differences minus those of negative ones, over all; 0 has no rank."""
    from scipy.stats import rankdata  # noqa: PLC0415

    values = np.moveaxis(differences, axis, -1)
    zeros = np.sum(values == 0.0, axis=-1, keepdims=True)
    ranks = np.where(values == 0.0, 0.0, rankdata(np.abs(values), axis=-1) - zeros)
    return np.sum(np.sign(values) * ranks, axis=-1) / np.sum(ranks, axis=-1)


def _cliff(first: Any, second: Any, axis: int = -1) -> Any:
    """Return how much more often a value of the first is above one of the second than below it, from -1 to 1.

    It follows from the ranks, which take less time and memory than all pairs of thousands of seeds.
    """
    from scipy.stats import rankdata  # noqa: PLC0415

    one, other = np.moveaxis(first, axis, -1), np.moveaxis(second, axis, -1)
    shape = np.broadcast_shapes(one.shape[:-1], other.shape[:-1])  # the jackknife leaves values out of one alone
    both = [np.broadcast_to(each, (*shape, each.shape[-1])) for each in (one, other)]
    count, others = one.shape[-1], other.shape[-1]
    ranks = rankdata(np.concatenate(both, axis=-1), axis=-1)[..., :count].sum(axis=-1)
    return 2 * (ranks - count * (count + 1) / 2) / (count * others) - 1

"""The comparison of conditions over seeds: tests, effect sizes and intervals, by scipy and statsmodels.

| name | is | effect size | source |
|---|---|---|---|
| interval | Student's t with the error of the jackknife; of two conditions without pairs Welch's | | Tukey (1958) |
| wilcoxon | signed ranks of differences that are not 0 | rank-biserial (Kerby 2014) | Wilcoxon (1945) |
| permutation | signs of the differences: all up to 15 pairs, else 9,999 at random | d_z | Fisher (1935), Cohen (1988) |
| t | paired t test | d_z | Student (1908) |
| equivalence | two one-sided paired t tests against a margin | d_z | Schuirmann (1987) |
| mann_whitney | ranks of two conditions, exact for few seeds | Cliff's delta | Mann (1947), Cliff (1993) |
| kruskal_wallis | ranks of several conditions | epsilon squared | Kruskal and Wallis (1952), Tomczak (2014) |
| friedman | ranks of several conditions within each seed | Kendall's W | Friedman (1937), Kendall (1939) |
| holm | p values for several hypotheses together | | Holm (1979) |

The p value of `wilcoxon` is exact up to 50 differences without ties, and up to 15 with ties by all signs; more are
taken to the normal curve. A t test of equal differences is not made, because nothing measures chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
import numpy as np

from prism.experiment.hypothesis import UNPAIRED, Alternative, Hypothesis
from prism.experiment.intervals import (
    INTERVAL_LEAST,
    RESAMPLES,
    ROUNDING,
    SEED,
    Array,
    Interval,
    batch_of,
    described,
    spread,
    t_interval,
    without_rounding,
)

ALL_SIGNS_MAX = 15  # the most pairs of which every assignment of signs is tried: 32,768 of them
EXACT_RANKS_MAX = 50
"""The most differences without ties whose signed ranks are counted; above, the normal curve is as good."""
EXACT_U_MAX = 8  # the most seeds of the smaller of two conditions without ties whose arrangements are counted
ARRANGEMENTS_MAX = 20_000
"""The most arrangements of two conditions with ties that are all tried: those of 8 and 8 seeds are 12,870."""

PFrom = Literal["exact", "normal curve", "random signs", "Student's t", "chi-squared curve", "nothing"]
"""The origin of a p value: all arrangements counted, or a curve, or `nothing` where there was nothing to test."""
P_WORDS: Mapping[PFrom, str] = {
    "exact": "exact",
    "normal curve": "approximate, by the normal curve",
    "random signs": f"approximate, by {RESAMPLES:,} random signs",
    "Student's t": "by Student's t, for normal differences",
    "chi-squared curve": "approximate, by the chi-squared curve",
    "nothing": "of nothing",
}
NO_DIFFERENCE = "no pair differs"
NO_VARIATION = "the differences of all pairs are the same, so nothing tells how far chance alone moves them"
ALL_EQUAL = "all values are equal"


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    p_from: PFrom  # how it was found
    zeros: int = 0  # pairs without a difference, which tell ranks and signs nothing; 0 for tests without pairs
    ties: int = 0  # values, or differences that are not 0, that share a rank with another; 0 for tests without ranks
    untested: str = ""  # why there was nothing to test, in words; empty where there was

    def __str__(self) -> str:
        return f"not tested: {self.untested}" if self.untested else f"p {P_WORDS[self.p_from]}"


class _Tested(NamedTuple):
    p: float
    statistic: float | None
    basis: Basis


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a hypothesis on two conditions."""

    hypothesis: Hypothesis
    difference: Interval  # of the first condition minus the second: over pairs, or of the means if the test is unpaired
    # of the test, as scipy has it: W, t or U; None for `permutation`, and where there is nothing to test
    statistic: float | None = None
    effect: str = "d_z"  # the name of the test's effect size: `d_z`, `rank-biserial` or `Cliff's delta`
    effect_value: float | None = None  # None if all values are equal; with its interval, where there is one
    effect_low: float | None = None
    effect_high: float | None = None
    basis: Basis = Basis(p_from="nothing")  # the values that p stands on, and whether it is exact
    p: float  # of the test alone
    p_holm: float = 1.0  # corrected for `among` hypotheses
    among: int = 1
    supported: bool = False  # whether `p_holm` is at most alpha
    # of the opposite: of the other direction, or of a difference beyond the margin of an equivalence; None of a two-
    # sided hypothesis, which has no opposite, and where there is nothing to test
    p_opposite: float | None = None
    refuted: bool = False  # whether `p_opposite` times `among` is at most alpha

    @property
    def counted(self) -> str:
        """The pairs or seeds in words, with those that tell nothing, and the origin of p."""
        what = "seed" if self.hypothesis.test in UNPAIRED else "pair"
        return _counted(self.difference.count, what, self.basis)


class SeveralCompared(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a hypothesis on several conditions, or on the levels of a factor."""

    hypothesis: Hypothesis
    groups: dict[str, Interval]  # `{name: mean}` of each
    statistic: float | None  # of the test: H or chi squared; None where there is nothing to test
    effect: str  # the name of the effect size: `epsilon squared` or `Kendall's W`
    # from 0 to 1; None if all values are equal. It has no interval: a bootstrap of it is biased.
    effect_value: float | None
    # basis, p, p_holm, among, supported: as for two conditions
    basis: Basis = Basis(p_from="nothing")
    p: float
    p_holm: float = 1.0
    among: int = 1
    supported: bool = False

    @property
    def counted(self) -> str:
        """The fewest seeds of a group in words, with the ties, and the origin of p."""
        return _counted(min(each.count for each in self.groups.values()), "seed", self.basis)


def _counted(count: int, what: str, basis: Basis) -> str:
    parts = [f"{count:,} {what}{'s' if count != 1 else ''}"]
    if basis.zeros:
        parts.append(f"{basis.zeros:,} of them without a difference")
    if basis.ties:
        of = "values" if what == "seed" else "differences"
        parts.append(f"{basis.ties:,} {of} with the rank of another")
    return f"{', '.join(parts)}; {basis}"


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
            low, high = t_interval((tested,), statistic, is_bounded=hypothesis.test == "wilcoxon")
    found = _paired_test(hypothesis, tested)
    untested = bool(found.basis.untested)
    return Comparison(
        hypothesis=hypothesis,
        difference=described(list(differences)),
        statistic=found.statistic,
        effect=effect,
        effect_value=size,
        effect_low=low,
        effect_high=high,
        basis=found.basis,
        p=found.p,
        p_opposite=None if untested else _p_opposite(hypothesis, tested),
    )


def _p_opposite(hypothesis: Hypothesis, values: Array, others: Array | None = None) -> float | None:
    if hypothesis.margin is not None:
        from scipy import stats  # noqa: PLC0415

        above: Any = stats.ttest_1samp(values, hypothesis.margin, alternative="greater")
        below: Any = stats.ttest_1samp(values, -hypothesis.margin, alternative="less")
        return min(1.0, 2 * float(min(above.pvalue, below.pvalue)))
    if hypothesis.alternative == "two-sided":
        return None
    other: Alternative = "less" if hypothesis.alternative == "greater" else "greater"
    return p_value(msgspec.structs.replace(hypothesis, alternative=other), values, others)


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
    p, basis = 1.0, _nothing(ALL_EQUAL)
    if _varies(arrays, is_blocked=is_blocked):
        found: Any = stats.friedmanchisquare(*arrays) if is_blocked else stats.kruskal(*arrays)
        p, value = float(found.pvalue), float(found.statistic)
        count = len(arrays[0]) * (len(arrays) - 1) if is_blocked else sum(map(len, arrays)) - 1
        size = min(1.0, value / count)
        blocks = np.stack(arrays, axis=1) if is_blocked else [np.concatenate(arrays)]
        basis = Basis(p_from="chi-squared curve", ties=sum(map(_ties, blocks)))
    return SeveralCompared(
        hypothesis=hypothesis,
        groups={name: described(values) for name, values in groups.items()},
        statistic=value,
        effect="Kendall's W" if is_blocked else "epsilon squared",
        effect_value=size,
        basis=basis,
        p=p,
    )


def p_value(hypothesis: Hypothesis, values: Array, others: Array | None = None) -> float:
    """Return the p value of a hypothesis on two conditions; 1 where equal values leave nothing to test.

    Args:
        values: paired differences, or for `mann_whitney` the values of the first condition.
        others: for `mann_whitney` alone: those of the second.
    """
    if others is None:
        return _paired_test(hypothesis, values).p
    return _mann_whitney(hypothesis, *_ranked(values, others)).p


def holm(comparisons: Sequence[C], alpha: float, tests: int | None = None) -> list[C]:
    """Return the comparisons with p values for all of them together, and whether each is supported.

    Args:
        tests: the number of hypotheses, with those that could not be compared; None if all were.
    """
    if not comparisons:
        return []
    from statsmodels.stats.multitest import multipletests  # noqa: PLC0415  # an extra, and slow to import

    count = len(comparisons) if tests is None else tests
    untested = [1.0] * (count - len(comparisons))
    adjusted = multipletests([*(each.p for each in comparisons), *untested], alpha, method="holm")[1]
    return [
        msgspec.structs.replace(
            each, p_holm=float(p), among=count, supported=bool(p <= alpha), **_refuted(each, alpha, count)
        )
        for each, p in zip(comparisons, adjusted, strict=False)
    ]


def _refuted(each: Comparison | SeveralCompared, alpha: float, count: int) -> dict[str, bool]:
    if not isinstance(each, Comparison) or each.p_opposite is None:
        return {}
    return {"refuted": count * each.p_opposite <= alpha}


def corrected(
    comparisons: Sequence[C],
    alpha: float,
    hypotheses: Sequence[Hypothesis],
    planned: Sequence[Hypothesis],
    lost: Sequence[Hypothesis] = (),
) -> list[C]:
    """Return the comparisons with corrected p values: the planned ones among themselves, the others among all.

    So hypotheses that are added or removed after a look at the results do not change the planned ones.

    Args:
        hypotheses: all of the experiment, with those that could not be compared.
        planned: those that a plan had before the first result.
        lost: planned hypotheses that are no longer there, or whose meaning has changed.
    """
    first = [each for each in hypotheses if each in planned]
    of_planned = iter(holm([each for each in comparisons if each.hypothesis in first], alpha, len(first) + len(lost)))
    of_all = holm(comparisons, alpha, len(hypotheses) + sum(each not in hypotheses for each in lost))
    return [next(of_planned) if each.hypothesis in first else each for each in of_all]


def _rounded(values: Array, scale: float | None = None) -> Array:
    """Return values for ranking: those that differ by rounding alone are equal, so that they have one rank."""
    quantum = ROUNDING * (float(np.abs(values).max()) if scale is None else scale)
    return np.round(values / quantum) if quantum > 0.0 else values


def _ranked(first: Array, second: Array) -> tuple[Array, Array]:
    """Return the values of two conditions for ranking them together."""
    scale = float(max(np.abs(first).max(), np.abs(second).max()))
    return _rounded(first, scale), _rounded(second, scale)


def _ties(values: Array) -> int:
    """Return how many values share their rank with another one."""
    counts = np.unique(values, return_counts=True)[1]
    return int(counts[counts > 1].sum())


def _nothing(untested: str, zeros: int = 0) -> Basis:
    return Basis(p_from="nothing", zeros=zeros, untested=untested)


def _paired_test(hypothesis: Hypothesis, differences: Array) -> _Tested:
    zeros = int(np.sum(differences == 0.0))
    if hypothesis.test in ("t", "equivalence"):
        if spread(differences) == 0.0:
            return _Tested(1.0, None, _nothing(NO_VARIATION, zeros))
        return _Tested(*_t(hypothesis, differences), Basis(p_from="Student's t", zeros=zeros))
    if zeros == len(differences):
        return _Tested(1.0, None, _nothing(NO_DIFFERENCE, zeros))
    if hypothesis.test == "wilcoxon":
        return _wilcoxon(hypothesis, _rounded(differences), zeros)
    p_from: PFrom = "exact" if len(differences) <= ALL_SIGNS_MAX else "random signs"
    return _Tested(_by_signs(hypothesis, differences), None, Basis(p_from=p_from, zeros=zeros))


def _wilcoxon(hypothesis: Hypothesis, differences: Array, zeros: int) -> _Tested:
    """Return the test of signed ranks; differences of 0 are left out, as Wilcoxon has it."""
    from scipy import stats  # noqa: PLC0415

    kept = differences[differences != 0.0]
    ties, signed = _ties(np.abs(kept)), np.sign(kept) * stats.rankdata(np.abs(kept))
    above, below = float(signed[signed > 0].sum()), -float(signed[signed < 0].sum())
    is_exact = len(kept) <= (ALL_SIGNS_MAX if ties else EXACT_RANKS_MAX)
    if is_exact and ties:
        p = _by_signs(hypothesis, signed)
    else:
        method: Any = "exact" if is_exact else "asymptotic"
        found: Any = stats.wilcoxon(kept, alternative=hypothesis.alternative, method=method)
        p = float(found.pvalue)
    basis = Basis(p_from="exact" if is_exact else "normal curve", zeros=zeros, ties=ties)
    return _Tested(p, min(above, below) if hypothesis.alternative == "two-sided" else above, basis)


def _by_signs(hypothesis: Hypothesis, values: Array) -> float:
    """Return the share of assignments of signs whose mean is as far out: of all, or of random ones."""
    from scipy import stats  # noqa: PLC0415

    found: Any = stats.permutation_test(
        (values,),
        np.mean,
        permutation_type="samples",
        n_resamples=RESAMPLES if len(values) > ALL_SIGNS_MAX else np.inf,
        batch=batch_of(len(values)),
        alternative=hypothesis.alternative,
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)


def _t(hypothesis: Hypothesis, differences: Array) -> tuple[float, float]:
    """Return p and t of differences that vary; of equivalence, those of the weaker of its two tests."""
    from scipy import stats  # noqa: PLC0415

    if hypothesis.test == "t":
        found: Any = stats.ttest_1samp(differences, 0.0, alternative=hypothesis.alternative)
        return float(found.pvalue), float(found.statistic)
    margin = hypothesis.margin or 0.0
    below: Any = stats.ttest_1samp(differences, -margin, alternative="greater")
    above: Any = stats.ttest_1samp(differences, margin, alternative="less")
    larger = max(below, above, key=lambda each: float(each.pvalue))
    return float(larger.pvalue), float(larger.statistic)


def _unpaired(hypothesis: Hypothesis, first: Array, second: Array) -> Comparison:
    ranked = _ranked(first, second)
    found = _mann_whitney(hypothesis, *ranked)
    varies = found.statistic is not None
    size = float(_cliff(*ranked)) if varies else None
    low = high = effect_low = effect_high = None
    if varies and min(len(first), len(second)) >= INTERVAL_LEAST:
        low, high = t_interval((first, second), _mean_difference)
        effect_low, effect_high = t_interval(ranked, _cliff, is_bounded=True)
    pooled = math.sqrt((spread(first) ** 2 + spread(second) ** 2) / 2)
    mean, count = float(first.mean() - second.mean()), min(len(first), len(second))
    return Comparison(
        hypothesis=hypothesis,
        difference=Interval(mean=mean, low=low, high=high, sd=pooled, count=count),
        statistic=found.statistic,
        effect="Cliff's delta",
        effect_value=size,
        effect_low=effect_low,
        effect_high=effect_high,
        basis=found.basis,
        p=found.p,
        p_opposite=_p_opposite(hypothesis, first, second) if varies else None,
    )


def _mann_whitney(hypothesis: Hypothesis, first: Array, second: Array) -> _Tested:
    """Return the test: exact for few seeds, with ties by trying all arrangements, else by the normal curve.

    Args:
        first, second: rounded, so that equal values are equal numbers. If all values are equal, there is no U.
    """
    from scipy import stats  # noqa: PLC0415

    both = np.concatenate([first, second])
    if np.ptp(both) == 0.0:
        return _Tested(1.0, None, _nothing(ALL_EQUAL))
    ties, arrangements = _ties(both), math.comb(len(both), len(first))
    is_exact = arrangements <= ARRANGEMENTS_MAX if ties else min(len(first), len(second)) <= EXACT_U_MAX
    method: Any = "exact" if is_exact else "asymptotic"
    if is_exact and ties:
        method = stats.PermutationMethod(n_resamples=arrangements, batch=batch_of(len(both)))
    found: Any = stats.mannwhitneyu(first, second, alternative=hypothesis.alternative, method=method)
    basis = Basis(p_from="exact" if is_exact else "normal curve", ties=ties)
    return _Tested(float(found.pvalue), float(found.statistic), basis)


def _varies(arrays: Sequence[Array], *, is_blocked: bool) -> bool:
    """Return whether there are ranks to compare: somewhere two values differ, for `friedman` within a seed."""
    if is_blocked:
        table = np.stack(arrays)
        return bool((np.ptp(table, axis=0) > 0.0).any())
    return bool(np.ptp(np.concatenate(arrays)) > 0.0)


def _mean_difference(first: Array, second: Array) -> float:
    return float(first.mean() - second.mean())


def _d_z(differences: Array) -> float:
    return float(differences.mean() / differences.std(ddof=1))


def _rank_biserial(differences: Array) -> float:
    """Return the ranks of positive differences minus those of negative ones, over all; 0 has no rank."""
    from scipy.stats import rankdata  # noqa: PLC0415

    kept = differences[differences != 0.0]
    ranks = rankdata(np.abs(kept))
    return float(np.sum(np.sign(kept) * ranks) / np.sum(ranks))


def _cliff(first: Array, second: Array) -> float:
    """Return how much more often a value of the first is above one of the second than below it, from -1 to 1.

    It follows from the ranks, which take less time and memory than all pairs of thousands of seeds.
    """
    from scipy.stats import rankdata  # noqa: PLC0415

    count = len(first)
    ranks = rankdata(np.concatenate([first, second]))[:count].sum()
    return float(2 * (ranks - count * (count + 1) / 2) / (count * len(second)) - 1)

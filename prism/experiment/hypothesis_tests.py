"""The comparison of two conditions over seeds: tests, effect sizes and intervals, by scipy and statsmodels.

| name | is | effect size | source |
|---|---|---|---|
| interval | Student's t with the error of the jackknife; of two conditions without pairs Welch's | | Tukey (1958) |
| wilcoxon | signed ranks of differences that are not 0 | rank-biserial (Kerby 2014) | Wilcoxon (1945) |
| t | paired t test | d_z (Cohen 1988) | Student (1908) |
| equivalence | two one-sided paired t tests against a margin | d_z | Schuirmann (1987) |
| mann_whitney | ranks of two conditions, exact for few seeds | Cliff's delta | Mann (1947), Cliff (1993) |
| holm | p values for several hypotheses together | | Holm (1979) |

The p value of `wilcoxon` is exact up to 50 differences without ties, and up to 15 with ties by all signs; more are
taken to the normal curve. A t test of equal differences is not made, because nothing measures chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta

from prism.errors import SettingError
from prism.experiment.design import check_contrast
from prism.experiment.intervals import (
    INTERVAL_LEAST,
    ROUNDING,
    Array,
    Interval,
    described,
    spread,
    t_interval,
    without_rounding,
)

ALL_SIGNS_MAX = 15  # the most differences with ties of which every assignment of signs is tried: 32,768 of them
EXACT_RANKS_MAX = 50
"""The most differences without ties whose signed ranks are counted; above, the normal curve is as good."""
EXACT_U_MAX = 8  # the most seeds of the smaller of two conditions without ties whose arrangements are counted
ARRANGEMENTS_MAX = 20_000
"""The most arrangements of two conditions with ties that are all tried: those of 8 and 8 seeds are 12,870."""

PFrom = Literal["exact", "normal curve", "Student's t", "nothing"]
"""The origin of a p value: all arrangements counted, or a curve, or `nothing` where there was nothing to test."""
P_WORDS: Mapping[PFrom, str] = {
    "exact": "exact",
    "normal curve": "approximate, by the normal curve",
    "Student's t": "by Student's t, for normal differences",
    "nothing": "of nothing",
}
NO_DIFFERENCE = "no pair differs"
NO_VARIATION = "the differences of all pairs are the same, so nothing tells how far chance alone moves them"
ALL_EQUAL = "all values are equal"


Test = Literal["wilcoxon", "t", "equivalence", "mann_whitney"]
Alternative = Literal["two-sided", "less", "greater"]
UNPAIRED = ("mann_whitney",)  # the tests that take no notice of equal seeds


class Hypothesis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A comparison of two conditions that was planned.

    Args:
        measure: the measure that is compared, by its name.
        contrast: two conditions; the difference is the first one minus the second.
        test: `wilcoxon` signed ranks, paired `t`, `equivalence` by two one-sided t tests, and `mann_whitney` without
            pairs.
        alternative: of the difference; `equivalence` has none.
        margin: the differences up to which the conditions count as equal; for `equivalence` alone.
    """

    measure: str
    contrast: tuple[str, str]
    test: Test = "wilcoxon"
    alternative: Alternative = "two-sided"
    margin: Annotated[float, Meta(gt=0.0)] | None = None

    @property
    def with_test(self) -> str:
        """The hypothesis in words, with its test: two hypotheses may differ by that alone."""
        return f"{self} ({self.test})"

    def __str__(self) -> str:
        first, second = self.contrast
        relation = {"two-sided": "differs from", "less": "is less than", "greater": "is greater than"}[self.alternative]
        if self.test == "equivalence":
            return f"{self.measure}: {first} equals {second} within {self.margin:g}"
        return f"{self.measure}: {first} {relation} {second}"


def check_hypothesis(hypothesis: Hypothesis, conditions: Sequence[str], key: str) -> None:
    """Refuse a hypothesis whose parts do not go together."""
    check_contrast(hypothesis.contrast, conditions, f"{key}.contrast")
    if hypothesis.alternative != "two-sided" and hypothesis.test == "equivalence":
        raise SettingError("hypotheses", "equivalence has no alternative", keys=[f"{key}.alternative"])
    if (hypothesis.margin is not None) != (hypothesis.test == "equivalence"):
        problem = "expected a margin for the test equivalence, and for no other"
        raise SettingError("hypotheses", problem, keys=[f"{key}.margin" if hypothesis.margin else key])


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    p_from: PFrom  # how it was found
    zeros: int = 0  # pairs without a difference, which tell ranks nothing; 0 for tests without pairs
    ties: int = 0  # values, or differences that are not 0, that share a rank with another; 0 for tests without ranks
    untested: str = ""  # why there was nothing to test, in words; empty where there was

    def __str__(self) -> str:
        return f"not tested: {self.untested}" if self.untested else f"p {P_WORDS[self.p_from]}"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a hypothesis."""

    hypothesis: Hypothesis
    difference: Interval  # of the first condition minus the second: over pairs, or of the means if the test is unpaired
    statistic: float | None = None  # of the test, as scipy has it: W, t or U; None if there is nothing to test
    effect: str = "d_z"  # the name of the test's effect size: `d_z`, `rank-biserial` or `Cliff's delta`
    effect_value: float | None = None  # None if there is nothing to test
    effect_low: float | None = None
    effect_high: float | None = None
    basis: Basis = Basis(p_from="nothing")  # the values that p stands on, and whether it is exact
    p: float  # of the test alone
    p_holm: float = 1.0  # corrected for `among` hypotheses
    among: int = 1
    supported: bool = False  # whether `p_holm` is at most alpha
    # p of the opposite: the other direction, or a difference beyond the margin of an equivalence. None for a two-sided
    # hypothesis, which has no opposite, and if there is nothing to test.
    p_opposite: float | None = None
    refuted: bool = False  # whether `p_opposite` times `among` is at most alpha

    @property
    def counted(self) -> str:
        """The pairs or seeds in words, with those that tell nothing, and the origin of p."""
        what, of = ("seed", "values") if self.hypothesis.test in UNPAIRED else ("pair", "differences")
        parts = [f"{self.difference.count:,} {what}{'s' if self.difference.count != 1 else ''}"]
        if self.basis.zeros:
            parts.append(f"{self.basis.zeros:,} of them without a difference")
        if self.basis.ties:
            parts.append(f"{self.basis.ties:,} {of} with the rank of another")
        return f"{', '.join(parts)}; {self.basis}"


def compared(hypothesis: Hypothesis, first: Sequence[float], second: Sequence[float]) -> Comparison:
    """Return the comparison of two conditions; the values of a paired test have the same seeds in the same order."""
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    values = np.concatenate([one, other])
    differences = without_rounding(one - other, of=values) if hypothesis.test not in UNPAIRED else np.empty(0)
    scale = float(np.abs(values).max())
    samples: tuple[Array, ...] = (differences,)
    effect, statistic = EFFECTS[hypothesis.test]
    if hypothesis.test == "wilcoxon":
        samples = (_rounded(differences, scale),)
    elif hypothesis.test in UNPAIRED:
        samples = _rounded(one, scale), _rounded(other, scale)
    found = _tested(hypothesis, *samples)
    is_tested = not found.basis.untested
    has_intervals = is_tested and min(map(len, samples)) >= INTERVAL_LEAST
    if hypothesis.test in UNPAIRED:
        ends = t_interval((one, other), lambda a, b: a.mean() - b.mean()) if has_intervals else (None, None)
        difference = Interval(
            mean=float(one.mean() - other.mean()),
            low=ends[0],
            high=ends[1],
            sd=math.sqrt((spread(one) ** 2 + spread(other) ** 2) / 2),
            count=min(len(one), len(other)),
        )
    else:
        difference = described(list(differences))
    is_bounded = effect != "d_z"
    low, high = t_interval(samples, statistic, is_bounded=is_bounded) if has_intervals else (None, None)
    return Comparison(
        hypothesis=hypothesis,
        difference=difference,
        statistic=found.statistic,
        effect=effect,
        effect_value=float(statistic(*samples)) if is_tested else None,
        effect_low=low,
        effect_high=high,
        basis=found.basis,
        p=found.p,
        p_opposite=_p_opposite(hypothesis, samples) if is_tested else None,
    )


def _p_opposite(hypothesis: Hypothesis, samples: tuple[Array, ...]) -> float | None:
    if hypothesis.margin is not None:  # a difference beyond the margin, on either side
        sides: tuple[tuple[float, Alternative], ...] = (hypothesis.margin, "greater"), (-hypothesis.margin, "less")
        return min(1.0, 2 * min(float(_t(samples[0], limit, side).pvalue) for limit, side in sides))
    if hypothesis.alternative == "two-sided":
        return None
    other: Alternative = "less" if hypothesis.alternative == "greater" else "greater"
    return p_value(msgspec.structs.replace(hypothesis, alternative=other), *samples)


def p_value(hypothesis: Hypothesis, *samples: Array) -> float:
    """Return the p value of a hypothesis; 1 where equal values leave nothing to test.

    Args:
        samples: paired differences, or for `mann_whitney` the values of both conditions.
    """
    return _tested(hypothesis, *samples).p


def corrected(
    comparisons: Sequence[Comparison],
    alpha: float,
    hypotheses: Sequence[Hypothesis],
    planned: Sequence[Hypothesis],
    lost: Sequence[Hypothesis] = (),
) -> list[Comparison]:
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


def holm(comparisons: Sequence[Comparison], alpha: float, tests: int) -> list[Comparison]:
    """Return the comparisons with p values for all of them together, and whether each is supported.

    Args:
        tests: the number of hypotheses, with those that could not be compared.
    """
    if not comparisons:
        return []
    from statsmodels.stats.multitest import multipletests  # noqa: PLC0415  # an extra, and slow to import

    untested = [1.0] * (tests - len(comparisons))
    adjusted = multipletests([*(each.p for each in comparisons), *untested], alpha, method="holm")[1]
    return [
        msgspec.structs.replace(
            each,
            p_holm=float(p),
            among=tests,
            supported=bool(p <= alpha),
            refuted=each.p_opposite is not None and tests * each.p_opposite <= alpha,
        )
        for each, p in zip(comparisons, adjusted, strict=False)
    ]


class _Tested(NamedTuple):
    p: float
    statistic: float | None
    basis: Basis


def _tested(hypothesis: Hypothesis, first: Array, second: Array | None = None) -> _Tested:
    """Return the test of paired differences, or of the values of two conditions.

    Tests by ranks are exact for few values, with ties by all arrangements; otherwise they take the normal curve.
    Differences of 0 have no rank, as Wilcoxon has it.
    """
    from scipy import stats  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    zeros, alternative = 0 if second is not None else int(np.sum(first == 0.0)), hypothesis.alternative
    if hypothesis.test in ("t", "equivalence"):
        if spread(first) == 0.0:
            return _Tested(1.0, None, Basis(p_from="nothing", zeros=zeros, untested=NO_VARIATION))
        margin = hypothesis.margin or 0.0
        sides: list[tuple[float, Alternative]] = [(-margin, "greater"), (margin, "less")]
        tests = [_t(first, *side) for side in (sides if margin else [(0.0, alternative)])]
        weaker = max(tests, key=lambda each: float(each.pvalue))
        return _Tested(float(weaker.pvalue), float(weaker.statistic), Basis(p_from="Student's t", zeros=zeros))
    if second is None:
        kept = first[first != 0.0]
        if not len(kept):
            return _Tested(1.0, None, Basis(p_from="nothing", zeros=zeros, untested=NO_DIFFERENCE))
        ties, arrangements = _ties(np.abs(_rounded(kept))), 2 ** len(kept)
        is_exact = len(kept) <= (ALL_SIGNS_MAX if ties else EXACT_RANKS_MAX)
        test: Any = partial(stats.wilcoxon, _rounded(kept))
    else:
        scale = float(max(np.abs(first).max(), np.abs(second).max()))
        ours, theirs = _rounded(first, scale), _rounded(second, scale)
        both = np.concatenate([ours, theirs])
        if np.ptp(both) == 0.0:
            return _Tested(1.0, None, Basis(p_from="nothing", untested=ALL_EQUAL))
        ties, arrangements = _ties(both), math.comb(len(both), len(ours))
        is_exact = arrangements <= ARRANGEMENTS_MAX if ties else min(len(ours), len(theirs)) <= EXACT_U_MAX
        test = partial(stats.mannwhitneyu, ours, theirs)
    method: Any = "exact" if is_exact else "asymptotic"
    if is_exact and ties:
        method = stats.PermutationMethod(n_resamples=arrangements)
    found = test(alternative=alternative, method=method)
    basis = Basis(p_from="exact" if is_exact else "normal curve", zeros=zeros, ties=ties)
    return _Tested(float(found.pvalue), float(found.statistic), basis)


def _t(differences: Array, limit: float, alternative: Alternative) -> Any:
    from scipy.stats import ttest_1samp  # noqa: PLC0415

    return ttest_1samp(differences, limit, alternative=alternative)


def _rounded(values: Array, scale: float | None = None) -> Array:
    """Return values for ranking: those that differ by rounding alone are equal, so that they have one rank."""
    quantum = ROUNDING * (float(np.abs(values).max()) if scale is None else scale)
    return np.round(values / quantum) if quantum > 0.0 else values


def _ties(values: Array) -> int:
    """Return how many values share their rank with another one."""
    counts = np.unique(values, return_counts=True)[1]
    return int(counts[counts > 1].sum())


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


EFFECTS: Mapping[Test, tuple[str, Callable[..., float]]] = {
    "wilcoxon": ("rank-biserial", _rank_biserial),
    "t": ("d_z", _d_z),
    "equivalence": ("d_z", _d_z),
    "mann_whitney": ("Cliff's delta", _cliff),
}
"""`{test: the name of its effect size, and a function of its samples}`."""

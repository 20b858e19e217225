"""Statistics over seeds: means with intervals, and the comparison of two conditions, by scipy and statsmodels.

| name | is | effect size | source |
|---|---|---|---|
| interval | Student's t with the error of the jackknife; of two conditions without pairs Welch's | | Tukey (1958) |
| wilcoxon | signed ranks of differences that are not 0 | rank-biserial (Kerby 2014) | Wilcoxon (1945) |
| t | paired t test | d_z (Cohen 1988) | Student (1908) |
| equivalence | two one-sided paired t tests against a margin | d_z | Schuirmann (1987) |
| mann_whitney | ranks of two conditions, exact for few seeds | Cliff's delta | Mann (1947), Cliff (1993) |
| holm | p values for several hypotheses together | | Holm (1979) |

Intervals are by Student's t (1908), with the error of the jackknife (Tukey 1958), which is how much a number moves when
one value is left out: of a mean, the usual standard error; of a difference of means, that of Welch (1947). Numbers
between -1 and 1 have their interval on the scale of Fisher's z (1921). docs/experiments.md has the coverage.
Tests by ranks are exact for few values, with ties by all arrangements, and otherwise take the normal curve. A t test of
equal differences is not made, because nothing measures chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, combinations
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from prism.columns import Floats
from prism.experiment.design import check_contrast, refusal
from prism.wording import counted

CONFIDENCE = 0.95
ROUNDING = 1e-12
"""Values that are closer than this, relative to the largest, differ by the rounding of floating-point numbers alone."""
GROUPS_MAX = 256  # the most groups of values that are left out in turn: of more values than that, several at once
INTERVAL_LEAST = 3  # the fewest values with an interval


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A mean with its interval; no interval where all values are equal or there are fewer than three."""

    mean: float
    low: float | None
    high: float | None
    sd: float
    count: int


def described(values: Sequence[float] | Floats) -> Interval:
    """Return the mean of a measure over seeds, with its interval."""
    array = np.asarray(values, dtype=np.float64)
    sd = spread(array)
    low, high = None, None
    if len(array) >= INTERVAL_LEAST and sd > 0.0:
        low, high = t_interval((array,), np.mean)
    return Interval(mean=float(array.mean()), low=low, high=high, sd=sd, count=len(array))


def spread(values: Floats) -> float:
    """Return the standard deviation; 0 for one value, and for values that are equal but for rounding."""
    if len(values) < 2 or np.ptp(values) <= ROUNDING * np.abs(values).max():
        return 0.0
    return float(values.std(ddof=1))


def without_rounding(differences: Floats, *, of: Floats) -> Floats:
    """Return differences without rounding errors: those that differ only by rounding become equal, or 0.

    Args:
        of: the values, whose size tells how large rounding is.
    """
    rounding = ROUNDING * float(np.abs(of).max())
    if np.ptp(differences) <= rounding:
        differences = np.full_like(differences, differences[0])
    return np.where(np.abs(differences) <= rounding, 0.0, differences)


def t_interval(
    samples: tuple[Floats, ...], statistic: Callable[..., float], *, is_bounded: bool = False
) -> tuple[float | None, float | None]:
    """Return the interval of a number; no interval if leaving out values never changes the number.

    Args:
        samples: independent of each other, each of two values or more.
        statistic: takes the samples and returns the number.
        is_bounded: whether the number is from -1 to 1.
    """
    from scipy.stats import t  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    most = 1.0 - 1.0 / sum(map(len, samples)) ** 2  # near the bound, but not at it, where the scale has no end

    def scaled(*parts: Floats) -> Any:
        found = np.float64(statistic(*parts))
        return np.arctanh(np.clip(found, -most, most)) if is_bounded else found

    with np.errstate(all="ignore"):  # where the number is at its bound, or nothing varies, there is no interval
        found, variance, weight = scaled(*samples), 0.0, 0.0
        for place, sample in enumerate(samples):
            groups = np.array_split(np.arange(len(sample)), min(len(sample), GROUPS_MAX))
            lefts = (np.delete(sample, group) for group in groups)
            rest = [scaled(*samples[:place], left, *samples[place + 1 :]) for left in lefts]
            part = (len(groups) - 1) * np.var(rest)
            variance, weight = variance + part, weight + part**2 / (len(groups) - 1)
        if not variance > (ROUNDING * found) ** 2:
            return None, None
        reach = np.sqrt(variance) * t.ppf((1 + CONFIDENCE) / 2, variance**2 / weight)
    low, high = (np.tanh(end) if is_bounded else end for end in (found - reach, found + reach))
    return (float(low), float(high)) if np.isfinite(low) and np.isfinite(high) else (None, None)


EXACT_RANKS_MAX, EXACT_U_MAX = 50, 8
"""The most differences, and the most seeds of the smaller condition, without ties whose arrangements are counted."""
ARRANGEMENTS_MAX = 1 << 15
"""The most arrangements that are tried, ties or not: the signs of 15 differences. Those of 8 and 8 seeds are 12,870."""
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
        raise refusal(f"{key}.alternative", "equivalence has no alternative")
    if (hypothesis.margin is not None) != (hypothesis.test == "equivalence"):
        problem = "expected a margin for the test equivalence, and for no other"
        raise refusal(f"{key}.margin" if hypothesis.margin else key, problem)


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a hypothesis."""

    hypothesis: Hypothesis
    difference: Interval  # of the first condition minus the second: over pairs, or of the means if the test is unpaired
    effect: str = "d_z"  # the name of the test's effect size: `d_z`, `rank-biserial` or `Cliff's delta`
    effect_value: float | None = None  # None if there is nothing to test
    effect_low: float | None = None
    effect_high: float | None = None
    zeros: int = 0  # pairs without a difference, which tell ranks nothing; 0 for tests without pairs
    untested: str = ""  # why there was nothing to test, in words; empty where there was
    p: float  # of the test alone; 1 if there was nothing to test
    p_holm: float = 1.0  # corrected for `among` hypotheses
    among: int = 1
    supported: bool = False  # whether `p_holm` is at most alpha
    # p of the opposite: the other direction, or a difference beyond the margin of an equivalence. None for a two-sided
    # hypothesis, which has no opposite, and if there is nothing to test.
    p_opposite: float | None = None
    refuted: bool = False  # whether `p_opposite` times `among` is at most alpha

    @property
    def counted(self) -> str:
        """The pairs or seeds in words, with those that tell nothing, and why nothing was tested."""
        what = "seed" if self.hypothesis.test in UNPAIRED else "pair"
        zeros = f", {self.zeros:,} of them without a difference" if self.zeros else ""
        untested = f"; not tested: {self.untested}" if self.untested else ""
        return f"{counted(self.difference.count, what)}{zeros}{untested}"


def compared(hypothesis: Hypothesis, first: Sequence[float], second: Sequence[float]) -> Comparison:
    """Return the comparison of two conditions; the values of a paired test have the same seeds in the same order."""
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    values, zeros = np.concatenate([one, other]), 0
    samples: tuple[Floats, ...] = (one, other)
    has_interval = min(map(len, samples)) >= INTERVAL_LEAST
    if hypothesis.test not in UNPAIRED:
        samples = (without_rounding(one - other, of=values),)
        difference, zeros = described(samples[0]), int(np.sum(samples[0] == 0.0))
    else:
        ends = t_interval(samples, lambda a, b: a.mean() - b.mean()) if has_interval else (None, None)
        sd = math.sqrt((spread(one) ** 2 + spread(other) ** 2) / 2)
        mean, count = float(one.mean() - other.mean()), min(len(one), len(other))
        difference = Interval(mean=mean, low=ends[0], high=ends[1], sd=sd, count=count)
    effect, statistic = EFFECTS[hypothesis.test]
    if hypothesis.test in ("wilcoxon", "mann_whitney") and (quantum := ROUNDING * float(np.abs(values).max())):
        samples = tuple(np.round(each / quantum) for each in samples)  # what differs by rounding alone has one rank
    found = Comparison(hypothesis=hypothesis, difference=difference, effect=effect, zeros=zeros, p=1.0)
    if untested := _untested(hypothesis, samples):
        return msgspec.structs.replace(found, untested=untested)
    low, high = t_interval(samples, statistic, is_bounded=effect != "d_z") if has_interval else (None, None)
    return msgspec.structs.replace(
        found,
        effect_value=float(statistic(*samples)),
        effect_low=low,
        effect_high=high,
        p=p_value(hypothesis, *samples),
        p_opposite=_p_opposite(hypothesis, samples),
    )


def _p_opposite(hypothesis: Hypothesis, samples: tuple[Floats, ...]) -> float | None:
    if (margin := hypothesis.margin) is not None:  # a difference beyond the margin, on either side
        return min(1.0, 2 * min(_p_of_t(samples[0], margin, "greater"), _p_of_t(samples[0], -margin, "less")))
    if hypothesis.alternative == "two-sided":
        return None
    other: Alternative = "less" if hypothesis.alternative == "greater" else "greater"
    return p_value(msgspec.structs.replace(hypothesis, alternative=other), *samples)


def p_value(hypothesis: Hypothesis, *samples: Floats) -> float:
    """Return the p value of a hypothesis; 1 where equal values leave nothing to test.

    Args:
        samples: paired differences, or for `mann_whitney` the values of both conditions.
    """
    if _untested(hypothesis, samples):
        return 1.0
    from scipy import stats  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    alternative, first, found = hypothesis.alternative, samples[0], None
    if hypothesis.test == "mann_whitney":
        both, count, few = np.concatenate(samples), len(first), min(map(len, samples)) <= EXACT_U_MAX
        if (arrangements := math.comb(len(both), count)) <= ARRANGEMENTS_MAX:
            ranks = stats.rankdata(both)
            chosen = np.fromiter(chain.from_iterable(combinations(range(len(both)), count)), np.int64)
            return _p_among(ranks[chosen.reshape(arrangements, count)].sum(axis=1), ranks[:count].sum(), alternative)
        method: Any = "exact" if few and len(np.unique(both)) == len(both) else "asymptotic"
        found = stats.mannwhitneyu(*samples, alternative=alternative, method=method)
    elif hypothesis.test == "wilcoxon":  # differences of 0 have no rank, as Wilcoxon has it
        kept = first[first != 0.0]
        if 2 ** len(kept) <= ARRANGEMENTS_MAX:
            ranks, places = stats.rankdata(np.abs(kept)), np.arange(len(kept))
            signs = (np.arange(2 ** len(kept))[:, None] >> places) & 1
            return _p_among(signs @ ranks, ranks[kept > 0.0].sum(), alternative)
        is_exact = len(kept) <= EXACT_RANKS_MAX and len(np.unique(np.abs(kept))) == len(kept)
        found = stats.wilcoxon(kept, alternative=alternative, method="exact" if is_exact else "asymptotic")
    elif (margin := hypothesis.margin) is not None:
        return max(_p_of_t(first, -margin, "greater"), _p_of_t(first, margin, "less"))
    return _p_of_t(first, 0.0, alternative) if found is None else float(found.pvalue)


def _p_among(sums: Floats, own: float, alternative: Alternative) -> float:  # all arrangements are equally likely
    less, greater = float(np.mean(sums <= own)), float(np.mean(sums >= own))
    return {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}[alternative]


def _p_of_t(differences: Floats, limit: float, alternative: Alternative) -> float:
    from scipy.stats import ttest_1samp  # noqa: PLC0415

    return float(ttest_1samp(differences, limit, alternative=alternative).pvalue)


def smallest_p(hypothesis: Hypothesis, seeds: int) -> float:
    """Return the smallest p value that a test can have with so many seeds, if all values are different."""
    if hypothesis.test in ("t", "equivalence"):
        return 0.0
    if hypothesis.test == "wilcoxon":
        return min(1.0, (2 if hypothesis.alternative == "two-sided" else 1) * math.ldexp(1.0, -seeds))
    low = np.arange(float(seeds))
    high = low + seeds
    return p_value(hypothesis, high, low) if hypothesis.alternative == "greater" else p_value(hypothesis, low, high)


def corrected(
    comparisons: Sequence[Comparison],
    alpha: float,
    hypotheses: Sequence[Hypothesis],
    planned: Sequence[Hypothesis],
) -> list[Comparison]:
    """Return the comparisons with corrected p values: the planned ones among themselves, the others among all.

    So hypotheses that are added after a look at the results do not change the planned ones.

    Args:
        hypotheses: all of the experiment, with those that could not be compared.
        planned: those that a plan had before the first result.
    """
    first = [each for each in hypotheses if each in planned]
    of_planned = iter(holm([each for each in comparisons if each.hypothesis in first], alpha, len(first)))
    of_all = holm(comparisons, alpha, len(hypotheses))
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


def _untested(hypothesis: Hypothesis, samples: tuple[Floats, ...]) -> str:
    """Return why there is nothing to test; empty where there is."""
    if hypothesis.test in UNPAIRED:
        return ALL_EQUAL if np.ptp(np.concatenate(samples)) == 0.0 else ""
    if hypothesis.test == "wilcoxon":
        return "" if samples[0].any() else NO_DIFFERENCE
    return NO_VARIATION if spread(samples[0]) == 0.0 else ""


def _d_z(differences: Floats) -> float:
    return float(differences.mean() / differences.std(ddof=1))


def _rank_biserial(differences: Floats) -> float:
    from scipy.stats import rankdata  # noqa: PLC0415

    kept = differences[differences != 0.0]
    ranks = rankdata(np.abs(kept))
    return float(np.sum(np.sign(kept) * ranks) / np.sum(ranks))


def _cliff(first: Floats, second: Floats) -> float:
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

"""Answers in sentences: the result, whether chance could have made it, and what a reader may misunderstand.

Terminal, report, view and JSON show the sentences that are made here. A sentence has the means, their difference in
words, and the p value. Whatever points the other way stands behind it: where the largest cascade is larger and most
cascades are smaller, both are said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple

import msgspec

from prism.answers import SIZE, MeasureWords, figure
from prism.distribution import share_of_at_least
from prism.experiment.hypothesis_tests import UNPAIRED, Comparison
from prism.experiment.power import smallest_p

FEW_SEEDS = 10  # the number of seeds below which an answer says that they are few
NOTABLE = 0.01  # the smallest difference of two shares of posts without an answer that an answer states
AGREED = 2 / 3  # the share of the seeds that must agree before an answer says that something points the other way
GROUPS_SAID = 3

Finding = Literal["yes", "no", "undecided", "described"]
Sizes = Mapping[int, int]  # `{posts: cascades of that size}` of a run


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    hypothesis: str = ""  # what was asked, with its test; empty for a description
    # `yes` for a hypothesis that is supported, `no` for one whose opposite is supported, `undecided` for the others;
    # `described` without a hypothesis
    finding: Finding
    text: str  # the answer, in sentences


class Side(NamedTuple):
    said: str  # the condition as it stands in a sentence: `with a hot feed`, `under few`
    values: Sequence[float]  # of the measure, one for each seed; of matched sides in the same order
    sizes: Sequence[Sizes] = ()  # the sizes of the cascades under each seed; none in a world without cascades


def condition_in_words(name: str, settings: Mapping[str, Any]) -> str:
    """Return a condition as it stands in a sentence: `with a hot feed`, or `under` its name."""
    if list(settings) == ["feed.algorithm"]:
        feed = str(settings["feed.algorithm"])
        return f"with {'an' if feed[:1] in 'aeiou' else 'a'} {feed} feed"
    return f"under {name}"


def answered(each: Comparison, words: MeasureWords, first: Side, second: Side, alpha: float) -> Answer:
    """Return the answer to a hypothesis on two conditions."""
    hypothesis = each.hypothesis
    finding: Finding = "yes" if each.supported else "no" if each.refuted else "undecided"
    fact = _contrast(words, first, second, is_matched=hypothesis.test not in UNPAIRED)
    seeds, margin = min(len(first.values), len(second.values)), hypothesis.margin
    chance = ""
    if finding == "undecided" and not each.untested:
        within = None if margin is None else words.amount(margin)
        chance = ", which " + ("chance alone may have made" if within is None else f"may lie within {within} or beyond")
    # The corrected p value: of the hypothesis, or of its opposite where that is supported.
    value = each.p_holm
    if each.refuted and each.p_opposite is not None:
        value = min(1.0, each.among * each.p_opposite)
    p = "p < 0.001" if value < 0.001 else f"p = {value:.2g}"
    p += f", corrected for {each.among:,} hypotheses" if each.among > 1 else ""
    sentences = [f"{_opening(each, finding, words)} {fact}{chance} ({p}{_few(seeds)})."]
    least = smallest_p(hypothesis, seeds)
    if not each.supported and least > alpha:
        raw = f", before the correction for {each.among:,} hypotheses" if each.among > 1 else ""
        never = f"the smallest p value of this test is {figure(least, 2)}{raw}."
        sentences.append(f"{seeds:,} seeds can never decide it: {never}")
    sentences += crossings(words, first, second)
    return Answer(hypothesis=hypothesis.with_test, finding=finding, text=" ".join(sentences))


def described_by(words: MeasureWords, sides: Sequence[Side], *, is_matched: bool = True) -> Answer:
    """Return the description of a measure in some conditions, without a hypothesis.

    Of two sides it tells by how much the first differs from the second, and names the first again.
    """
    seeds = min(len(side.values) for side in sides)
    if len(sides) == 2:
        fact = f"{_contrast(words, *sides, is_matched=is_matched)} {sides[0].said}"
        rest = list(crossings(words, *sides))
    else:
        means = [(fmean(side.values), side.said) for side in sides]
        shown = means if len(means) <= GROUPS_SAID else [min(means), max(means)]
        amounts = [f"{words.amount(mean, bare=place > 0)} {said}" for place, (mean, said) in enumerate(shown)]
        between = "between " if len(means) > GROUPS_SAID else ""
        listed = " and ".join([", ".join(amounts[:-1]), amounts[-1]]) if amounts[1:] else amounts[0]
        fact = f"Over {_seeds(seeds)} {words.subject} {words.verb} {_average(seeds)}{between}{listed}"
        rest = []
    caution = "one seed says nothing about chance" if seeds == 1 else f"not tested{_few(seeds)}"
    return Answer(finding="described", text=" ".join([f"{fact} ({caution}).", *rest]))


def crossings(words: MeasureWords, first: Side, second: Side) -> Iterator[str]:
    """Yield a sentence for each thing that points the other way than the means of a measure.

    These are most seeds, if a few seeds make the mean; and most cascades.
    """
    difference = fmean(first.values) - fmean(second.values)
    if difference == 0.0:
        return
    if len(first.values) == len(second.values):
        opposed = sum((one - other) * difference < 0 for one, other in zip(first.values, second.values, strict=True))
        if 2 * opposed > len(first.values):
            yield (
                f"But in {opposed:,} of {_seeds(len(first.values))} it was the other way around: the mean comes "
                "from the others."
            )
    if words.sizes and first.sizes and second.sizes:
        yield from _crossed_cascades(first.sizes, second.sizes, words.sizes * difference)


def _crossed_cascades(first: Sequence[Sizes], second: Sequence[Sizes], direction: float) -> Iterator[str]:
    """Yield a sentence if most cascades are larger where the measure says smaller, or smaller where it says larger."""
    ours, theirs = [list(map(_median, each)) for each in (first, second)]
    middle, other = fmean(ours), fmean(theirs)
    if (middle - other) * direction < 0 and _agree(ours, theirs, -direction):
        noun = "post" if figure(middle) == "1" else "posts"
        word = SIZE.less if direction > 0 else SIZE.more
        yield f"But most cascades were {word}: a median of {figure(middle)} {noun} against {figure(other)}."
        return
    ours, theirs = [[1.0 - share_of_at_least(each, 2) for each in sizes] for sizes in (first, second)]
    alone, other = fmean(ours), fmean(theirs)
    if (alone - other) * direction >= NOTABLE * abs(direction) and _agree(ours, theirs, direction):
        more = "more" if direction > 0 else "fewer"
        shares = f"{figure(100 * alone, 2)}% against {figure(100 * other, 2)}%"
        yield f"But {more} posts stayed without a reply or reshare: {shares}."


def _agree(ours: Sequence[float], theirs: Sequence[float], direction: float) -> bool:
    """Return whether enough seeds differ in this direction."""
    pairs = list(zip(ours, theirs, strict=False))
    return sum((one - other) * direction > 0 for one, other in pairs) >= AGREED * len(pairs)


def _median(sizes: Sizes) -> float:
    """Return the smallest size that half of the cascades do not exceed; 0 without cascades."""
    reached, total = 0, sum(sizes.values())
    for size in sorted(sizes):
        reached += sizes[size]
        if 2 * reached >= total:
            return float(size)
    return 0.0


def _opening(each: Comparison, finding: Finding, words: MeasureWords) -> str:
    hypothesis = each.hypothesis
    if finding == "undecided":
        return f"Not tested: {each.untested}." if each.untested else "Undecided."
    if hypothesis.margin is not None:
        within = words.amount(hypothesis.margin)
        return f"Yes, equal within {within}." if finding == "yes" else f"No, further apart than {within}."
    if finding == "no":
        return "No, the opposite."
    return "Yes, they differ." if hypothesis.alternative == "two-sided" else "Yes."


def _contrast(words: MeasureWords, first: Side, second: Side, *, is_matched: bool) -> str:
    """Return the means of two sides and their difference, without a full stop."""
    one, other, seeds = fmean(first.values), fmean(second.values), min(len(first.values), len(second.values))
    matched = "matched " if is_matched and seeds > 1 else ""
    return (
        f"Over {_seeds(seeds, matched)} {words.subject} {words.verb} {_average(seeds)}{words.amount(one)} {first.said} "
        f"and {words.amount(other, bare=True)} {second.said}, {words.change(one, other)}"
    )


def _seeds(seeds: int, matched: str = "") -> str:
    return "one seed" if seeds == 1 else f"{seeds:,} {matched}seeds"


def _average(seeds: int) -> str:
    return "on average " if seeds > 1 else ""


def _few(seeds: int) -> str:
    return f"; {seeds:,} seeds are few" if seeds < FEW_SEEDS else ""

"""Answers in sentences: the result, whether chance could have made it, and what a reader may misunderstand.

Terminal, report, view and JSON show the sentences that are made here. A sentence has the means, their difference in
words, and the p value. If most seeds point the other way, that stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple

import msgspec

from prism.answers import EQUAL, MeasureWords, figure
from prism.experiment.hypothesis_tests import UNPAIRED, Comparison, smallest_p

FEW_SEEDS = 10  # the number of seeds below which an answer says that they are few
GROUPS_SAID = 3

Finding = Literal["yes", "no", "undecided", "described"]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    hypothesis: str = ""  # what was asked, with its test; empty for a description
    # `yes` for a hypothesis that is supported, `no` for one whose opposite is supported, `undecided` for the others;
    # `described` without a hypothesis
    finding: Finding
    text: str  # the answer, in sentences


class Side(NamedTuple):
    said: str  # the condition as it stands in a sentence: `with a hot feed`, `under few`
    values: Sequence[float]  # of the measure, one for each seed; of matched sides in the same order


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
    if finding == "undecided" and not each.untested and not (margin is None and fact.endswith(EQUAL)):
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
    sentences += crossings(first, second)
    return Answer(hypothesis=hypothesis.with_test, finding=finding, text=" ".join(sentences))


def described_by(words: MeasureWords, sides: Sequence[Side], *, is_matched: bool = True) -> Answer:
    """Return the description of a measure in some conditions, without a hypothesis.

    Of two sides it tells by how much the first differs from the second, and names the first again.
    """
    seeds = min(len(side.values) for side in sides)
    if len(sides) == 2:
        fact = _contrast(words, *sides, is_matched=is_matched)
        fact += "" if fact.endswith(EQUAL) else f" {sides[0].said}"
        rest = list(crossings(*sides))
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


def crossings(first: Side, second: Side) -> Iterator[str]:
    """Yield a sentence if most seeds point the other way than the means of a measure, which a few seeds make."""
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

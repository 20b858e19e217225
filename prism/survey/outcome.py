"""The outcome of a questionnaire: counts of answers, the share of repeated answers, and changes between moments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from prism.experiment.hypothesis_tests import Hypothesis, compared
from prism.survey.questionnaire import Item


class Given(NamedTuple):
    """An answer that was given, or None: the person, the moment, the question and how often it was asked by then."""

    agent: int
    moment: str
    item: str
    repeat: int
    answer: int | str | None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The change of the answers of the same people between two moments."""

    # first, second: the moments
    first: str
    second: str
    people: int  # those who answered at both
    # up, down: those of them who went to a higher number, or to the first option, and those who went the other way
    up: int
    down: int
    difference: float  # of the means, or of the shares of the first option
    # low, high: its interval, if there is one
    low: float | None
    high: float | None
    effect: float | None  # the rank-biserial correlation, from -1 to 1; None if nobody moved
    # of no change, two-sided, by Wilcoxon's signed ranks; of two options this is the test of McNemar (1947)
    p: float
    sentence: str  # the same in words


class ItemOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one question."""

    id: str
    text: str
    kind: str
    # `{moment: {answer: how often, in the first asking}}`, in the order of the answers; empty if it is open
    counts: dict[str, dict[str, int]]
    means: dict[str, float]  # `{moment: the mean of a scale}`
    # answered, missing: `{moment: people}`, in the first asking
    answered: dict[str, int]
    missing: dict[str, int]
    # the share of the pairs of a first and a later asking with equal answers; None without a second one, and for open
    # questions
    repeated: float | None
    changes: list[Change]  # from the first moment to each later one, where there is a test for it


def outcomes_of(
    items: Sequence[Item], moments: Sequence[str], given: Iterable[Given], *, compares: bool = True
) -> list[ItemOutcome]:
    """Return the outcome of each question."""
    answers: dict[str, dict[tuple[str, int], dict[int, int | str]]] = {item.id: {} for item in items}
    missing = Counter[tuple[str, str]]()
    for each in given:
        if each.answer is not None:
            answers[each.item].setdefault((each.moment, each.repeat), {})[each.agent] = each.answer
        elif each.repeat == 1:
            missing[each.item, each.moment] += 1
    compared_with = moments[1:] if compares else ()
    return [_outcome(item, moments, compared_with, answers[item.id], missing) for item in items]


def _outcome(
    item: Item,
    moments: Sequence[str],
    compared_with: Sequence[str],
    answers: Mapping[tuple[str, int], Mapping[int, Any]],
    missing: Mapping[tuple[str, str], int],
) -> ItemOutcome:
    first = {moment: answers.get((moment, 1), {}) for moment in moments}
    counts = {moment: Counter(map(str, given.values())) for moment, given in first.items()}
    is_scale, is_tested = item.scale is not None, item.scale is not None or len(item.options) == 2
    return ItemOutcome(
        id=item.id,
        text=item.text,
        kind="scale" if is_scale else "options" if item.options else "open",
        counts={moment: {each: counts[moment][each] for each in item.choices} for moment in moments if item.choices},
        means={moment: sum(given.values()) / len(given) for moment, given in first.items() if is_scale and given},
        answered={moment: len(given) for moment, given in first.items()},
        missing={moment: missing[item.id, moment] for moment in moments},
        repeated=_repeated(answers) if item.choices else None,
        changes=[
            _change(item, (moments[0], later), first[moments[0]], first[later])
            for later in compared_with
            if is_tested and first[moments[0]].keys() & first[later].keys()
        ],
    )


def _repeated(answers: Mapping[tuple[str, int], Mapping[int, Any]]) -> float | None:
    equal = pairs = 0
    for (moment, repeat), given in answers.items():
        before = answers.get((moment, 1), {}) if repeat > 1 else {}
        for agent in given.keys() & before.keys():
            pairs += 1
            equal += given[agent] == before[agent]
    return equal / pairs if pairs else None


def _change(item: Item, moments: tuple[str, str], before: Mapping[int, Any], after: Mapping[int, Any]) -> Change:
    people = sorted(before.keys() & after.keys())
    value = float if item.scale is not None else lambda answer: float(answer == item.options[0])
    was, now = [value(before[each]) for each in people], [value(after[each]) for each in people]
    up, down = (sum(low < high for low, high in zip(*pair, strict=True)) for pair in ((was, now), (now, was)))
    found = compared(Hypothesis(measure="answer", contrast=("now", "was")), now, was)
    low, high = found.difference.low, found.difference.high
    if item.scale is None and low is not None and high is not None:  # the difference of two shares
        low, high = max(-1.0, low), min(1.0, high)
    change = Change(
        first=moments[0],
        second=moments[1],
        people=len(people),
        up=up,
        down=down,
        difference=found.difference.mean,
        low=low,
        high=high,
        effect=found.effect_value,
        p=found.p,
        sentence="",
    )
    return replace(change, sentence=_sentence(item, change, sum(was), sum(now)))


def _sentence(item: Item, change: Change, was: float, now: float) -> str:
    """Return a change in words, the size first and the test last. `was`, `now`: the sums of the answers."""
    start = f"{item.id}: from {change.first} to {change.second}"
    if change.effect is None:
        return f"{start} nobody of {change.people:,} people changed the answer."
    moved = f"{change.up:,} of {change.people:,} people moved up and {change.down:,} down"
    way = f"{abs(change.difference):.2f} points {'higher' if change.difference > 0 else 'lower'}"
    said = f"answers were {way if change.difference else 'the same on average'}"
    if item.scale is None:
        moved = f"{change.up:,} of {change.people:,} people came to it and {change.down:,} left it"
        said = f"{item.options[0]!r} went from {was / change.people:.0%} to {now / change.people:.0%}"
    interval = "" if change.low is None else f", 95% interval {change.low:+.2f} to {change.high:+.2f}"
    interval = interval if item.scale is not None else interval.replace("interval", "interval of the difference")
    p = "p < 0.001" if change.p < 0.001 else f"p = {change.p:.3f}"
    test = f"Wilcoxon signed ranks, {p}, rank-biserial {change.effect:+.2f}"
    return f"{start} {said}{interval}: {moved} ({test})."

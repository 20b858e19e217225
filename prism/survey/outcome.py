"""The outcome of a questionnaire: counts of answers, the share of repeated answers, and changes between moments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from prism.distribution import NORMAL
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
    test: str  # `wilcoxon` signed ranks for a scale, `mcnemar` for two options
    # rank-biserial of a scale, from -1 to 1; of two options up less down, over both. None if nobody moved.
    effect: float | None
    p: float  # of no change, two-sided
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
    counts = {moment: Counter(str(answer) for answer in given.values()) for moment, given in first.items()}
    is_scale = item.scale is not None
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
            if (is_scale or len(item.options) == 2) and first[moments[0]].keys() & first[later].keys()
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
    up = sum(b < a for b, a in zip(was, now, strict=True))
    down = sum(b > a for b, a in zip(was, now, strict=True))
    numbers: dict[str, Any] = {"people": len(people), "up": up, "down": down}
    if item.scale is not None:
        test, found = "wilcoxon", compared(Hypothesis(measure="answer", contrast=("now", "was")), now, was)
        numbers |= {"difference": found.difference.mean, "low": found.difference.low, "high": found.difference.high}
        numbers |= {"effect": found.effect_value, "p": found.p}
    else:
        test, numbers = "mcnemar", {**numbers, **mcnemar(up, down, len(people))}
    sentence = _sentence(item, moments, was, now, numbers)
    return Change(first=moments[0], second=moments[1], test=test, sentence=sentence, **numbers)


def mcnemar(up: int, down: int, people: int) -> dict[str, Any]:
    """Return the exact test of McNemar (1947), with the interval of a difference of paired shares by Wald.

    Source: the exact p value is that of a sign test of those who moved; the interval is of Agresti, "Categorical data
    analysis" (2002), section 10.1.1.
    """
    from scipy.stats import binomtest  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    difference, moved = (up - down) / people, up + down
    half = NORMAL * max(0.0, moved - (up - down) ** 2 / people) ** 0.5 / people
    return {
        "difference": difference,
        "low": max(-1.0, difference - half) if moved else None,
        "high": min(1.0, difference + half) if moved else None,
        "effect": (up - down) / moved if moved else None,
        "p": float(binomtest(up, moved).pvalue) if moved else 1.0,
    }


def _sentence(
    item: Item, moments: tuple[str, str], was: Sequence[float], now: Sequence[float], numbers: Mapping[str, Any]
) -> str:
    """Return a change in words, the size first and the test last."""
    people, up, down, p = (numbers[name] for name in ("people", "up", "down", "p"))
    first, second = moments
    start = f"{item.id}: from {first} to {second}"
    if not up and not down:
        return f"{start} nobody of {people:,} people changed the answer."
    moved = f"{up:,} of {people:,} people moved up and {down:,} down"
    low, high, difference = numbers["low"], numbers["high"], numbers["difference"]
    shown_p = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    if item.scale is not None:
        interval = "" if low is None else f", 95% interval {low:+.2f} to {high:+.2f}"
        points = f"{abs(difference):.2f} points {'higher' if difference > 0 else 'lower'}"
        way = points if difference else "the same on average"
        tail = f"Wilcoxon signed ranks, {shown_p}, rank-biserial {numbers['effect']:+.2f}"
        return f"{start} answers were {way}{interval}: {moved} ({tail})."
    shares = f"{sum(was) / people:.0%} to {sum(now) / people:.0%}"
    moved = f"{up:,} of {people:,} people came to it and {down:,} left it"
    interval = "" if low is None else f"; difference {difference:+.2f}, 95% interval {low:+.2f} to {high:+.2f}"
    return f"{start} {item.options[0]!r} went from {shares}: {moved} (McNemar, {shown_p}{interval})."

"""Distances of choices: the divergence, its interval, and the counts that they are worked out from."""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from prism.divergence import (
    EMBEDDED,
    FIRST_OPTION,
    RULE,
    Compared,
    ComparedChoices,
    CountsState,
    Distance,
    Divergence,
    Reference,
    jensen_shannon,
    moved_interval,
)
from prism.rng import Draw, pick, uniform
from tests.catalogue import catalogue
from tests.tiers import Size

OPTIONS = ("scroll", "like", "reply")
DRAWN = Draw.SERVER_ANSWER
"""A draw for tests: it changes no result."""


def entropy(*shares: float) -> float:
    return -sum(share * math.log2(share) for share in shares if share)


FOUR = entropy(0.1, 0.3, 0.2, 0.4)


@catalogue(
    ("first", "second", "bits"),
    [
        ([1, 0], [0, 1], 1.0),
        ([2, 2], [7, 7], 0.0),
        # The entropy of the mean less the mean of the entropies: H(3/4, 1/4) - (0 + 1) / 2.
        ([5, 0], [3, 3], entropy(3 / 4, 1 / 4) - 1 / 2),
        ([9, 1], [1, 9], entropy(1 / 2, 1 / 2) - entropy(9 / 10, 1 / 10)),
        (
            [6, 3, 1, 0],
            [1, 3, 2, 4],
            entropy(0.35, 0.3, 0.15, 0.2) - (entropy(0.6, 0.3, 0.1) + entropy(0.1, 0.3, 0.2, 0.4)) / 2,
        ),
    ],
)
def test_the_divergence_is_the_entropy_of_the_mean_less_the_mean_entropy(
    first: list[float], second: list[float], bits: float
) -> None:
    assert jensen_shannon(first, second) == pytest.approx(bits, abs=1e-12)
    assert jensen_shannon(second, first) == pytest.approx(bits, abs=1e-12)


@catalogue(("first", "second"), [([1.0], [1.0, 2.0]), ([0.0, 0.0], [1.0, 1.0]), ([], [])])
def test_weights_that_are_no_distribution_are_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match="expected weights of the same options"):
        jensen_shannon(first, second)


def compared_choices(questions: int, *, seed: int = 0, likes: float = 0.5, expected: float = 0.5) -> ComparedChoices:
    """Return choices between two options, one with probability `likes`, where `expected` is what the embedded says."""
    compared, options = ComparedChoices(), OPTIONS[:2]
    for agent in range(questions):
        chosen = options[pick([1.0 - likes, likes], uniform(seed, agent, 0, DRAWN))]
        reference = Reference(0.5, (1.0 - expected, expected))
        compared.add(
            (agent, seed, "decides"), "evaluating", options, chosen=chosen, other="scroll", reference=reference
        )
    return compared


def only(compared: ComparedChoices) -> Divergence:
    (found,) = compared.divergences()
    return found


def test_counts_are_those_of_the_questions() -> None:
    compared = ComparedChoices()
    choices = [("scroll", 0.1), ("like", 0.1), ("like", 0.55), ("reply", 1.0)]
    for agent, (chosen, relevance) in enumerate(choices):
        reference = Reference(relevance, (0.5, 0.25, 0.25))
        compared.add((agent, 3, "decides"), "evaluating", OPTIONS, chosen=chosen, other="scroll", reference=reference)
    compared.add_fallback("decides", "evaluating")
    found = only(compared)
    assert (found.trigger, found.state, found.questions, found.fallbacks) == ("decides", "evaluating", 4, 1)
    assert found.choices == {
        "oracle": {"like": 2.0, "reply": 1.0, "scroll": 1.0},
        FIRST_OPTION: {"like": 0.0, "reply": 0.0, "scroll": 4.0},
        EMBEDDED: {"like": 1.0, "reply": 1.0, "scroll": 2.0},
    }
    assert found.agreement == 0.25
    # H(5/8, 1/4, 1/8) - H(1/4, 1/2, 1/4) / 2, and H(3/8, 3/8, 1/4) - (1.5 + 1.5) / 2.
    assert found.against[FIRST_OPTION].bits == round(entropy(5 / 8, 1 / 4, 1 / 8) - 1.5 / 2, 4)
    assert found.against[EMBEDDED].bits == round(entropy(3 / 8, 3 / 8, 1 / 4) - 1.5, 4)
    assert [(part.low, part.high, part.questions, part.agreement) for part in found.by_relevance] == [
        (0.0, 0.2, 2, 0.5),
        (0.4, 0.6, 1, 0.0),
        (0.8, 1.0, 1, 0.0),
    ]
    before = {("decides", name): distance.bits for name, distance in found.against.items()}
    assert compared.bits() == compared.bits() == before
    state = compared.state()
    reference = Reference(1.0, (0.5, 0.25, 0.25))
    compared.add((9, 3, "decides"), "evaluating", OPTIONS, chosen="reply", other="scroll", reference=reference)
    assert compared.bits() == {("decides", name): each.bits for name, each in only(compared).against.items()} != before
    compared.restore(state)
    assert compared.bits() == before


def test_the_ratio_of_rates_tells_of_what_is_rare_where_bits_do_not() -> None:
    compared = ComparedChoices()
    for agent in range(1000):
        reference = Reference(0.1 if agent % 2 else 0.9, (0.94, 0.06, 0.0))
        chosen = "like" if agent % 100 == 0 else "scroll"
        name = (agent, 3, "decides")
        compared.add(name, "evaluating", OPTIONS, chosen=chosen, other="scroll", reference=reference)
    found = only(compared)
    assert found.against[EMBEDDED].bits < 0.02
    assert found.ratios.keys() == {EMBEDDED}
    like = found.ratios[EMBEDDED]["like"]
    # Wilson (1927): 10 of 1,000 are from 0.54% to 1.83%; the embedded choice has 6%.
    assert (like.ratio, like.low, like.high) == pytest.approx((1 / 6, 0.00544 / 0.06, 0.01831 / 0.06), abs=2e-3)
    assert "reply" not in found.ratios[EMBEDDED], "nobody expects it"
    low, high = found.by_relevance
    assert low.ratios[EMBEDDED]["like"].ratio == 0.0
    assert high.ratios[EMBEDDED]["like"].ratio == pytest.approx(1 / 3, abs=1e-3)


def test_without_a_reference_there_is_neither_a_bin_nor_a_distance_from_the_embedded_choice() -> None:
    compared = ComparedChoices(RULE)
    compared.add((0, 0, "amber"), "waiting", ("go", "stop"), chosen="go", other="stop")
    found = only(compared)
    assert found.against.keys() == {RULE}
    assert found.against[RULE].bits == 1.0
    assert found.by_relevance == []
    compared.add(
        (1, 0, "amber"), "waiting", ("go", "stop"), chosen="go", other="go", reference=Reference(None, (1.0, 0.0))
    )
    assert only(compared).against.keys() == {RULE}  # one of the two questions is unknown to it


def test_fallbacks_alone_are_counted_and_have_no_distance() -> None:
    compared = ComparedChoices()
    compared.add_fallback("decides", "evaluating")
    found = only(compared)
    assert (found.questions, found.fallbacks, found.against, found.by_relevance) == (0, 1, {}, [])


def test_an_option_of_an_alternative_alone_is_one_more_option() -> None:
    compared = ComparedChoices(RULE)
    compared.add((0, 0, "decides"), "evaluating", ("scroll", "like"), chosen="like", other="rest")
    assert only(compared).choices["rule"] == {"like": 0.0, "rest": 1.0, "scroll": 0.0}


def test_the_order_of_choices_does_not_matter_and_a_restored_count_goes_on() -> None:
    def add(compared: ComparedChoices, agents: range) -> ComparedChoices:
        for agent in agents:
            weights = (0.1 + agent % 7 / 10, 1.0 / 3.0, 0.7)
            total = sum(weights)
            compared.add(
                (agent, agent % 5, "decides"),
                "evaluating" if agent % 3 else "scrolling",
                OPTIONS,
                chosen=OPTIONS[agent * agent % 3],
                other=OPTIONS[0],
                reference=Reference(agent % 11 / 10, [weight / total for weight in weights]),
            )
        return compared

    whole = add(ComparedChoices(), range(200)).divergences()
    assert add(ComparedChoices(), range(199, -1, -1)).divergences() == whole
    half = add(ComparedChoices(), range(90))
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(half.state()), type=CountsState)
    resumed = ComparedChoices()
    resumed.restore(stored)
    assert add(resumed, range(90, 200)).divergences() == whole
    assert [each.state for each in whole] == ["evaluating", "scrolling"]


def test_a_state_that_was_taken_changes_no_more() -> None:
    compared = compared_choices(5)
    before = compared.state()
    encoded = msgspec.msgpack.encode(before)
    compared.add((9, 9, "decides"), "evaluating", OPTIONS, chosen="reply", other="scroll")
    assert msgspec.msgpack.encode(before) == encoded


def test_an_interval_is_narrower_for_more_questions_and_holds_its_value() -> None:
    found = [only(compared_choices(questions, likes=0.7)).against[EMBEDDED] for questions in (50, 500, 5000)]
    assert all(0.0 <= each.low <= each.bits <= each.high <= 1.0 for each in found)
    widths = [each.high - each.low for each in found]
    assert all(wide > 2 * narrow for wide, narrow in pairwise(widths))


def test_equal_choices_are_not_told_apart() -> None:
    found = only(compared_choices(2000)).against[EMBEDDED]
    assert found.low == 0.0
    assert found.high < 0.005


@catalogue(("likes", "questions"), [(0.5, 100), (0.6, 200), (0.8, 200)])
def test_the_interval_holds_the_true_divergence_in_about_19_of_20_samples(
    likes: float, questions: int, size: Size
) -> None:
    samples = size(600, everyday=100)
    # Of two options with probabilities 1 - l and l, and 1/2 and 1/2.
    mean = (likes + 0.5) / 2
    true = entropy(mean, 1 - mean) - (entropy(likes, 1 - likes) + 1) / 2
    found = [only(compared_choices(questions, seed=seed, likes=likes)).against[EMBEDDED] for seed in range(samples)]
    held = sum(each.low - 5e-5 <= true <= each.high + 5e-5 for each in found)
    assert 0.88 * samples <= held


def test_a_distance_from_itself_is_none() -> None:
    compared = ComparedChoices()
    for agent in range(30):
        compared.add((agent, 0, "decides"), "evaluating", OPTIONS, chosen="scroll", other="scroll")
    assert only(compared).against == {FIRST_OPTION: Distance(bits=0.0, low=0.0, high=0.0)}
    assert only(compared).agreement == 1.0


def test_an_interval_is_moved_by_the_bias_of_its_resamples() -> None:
    # The mean is 0.1 too high, and the percentiles are 0.205 and 0.395.
    assert moved_interval(np.array([0.2, 0.3, 0.4]), 0.2) == pytest.approx((0.105, 0.295))
    assert moved_interval(np.array([0.0, 0.0, 0.3]), 0.0) == pytest.approx((0.0, 0.185))
    assert moved_interval(np.array([0.9, 0.95, 1.0]), 1.0) == pytest.approx((0.9525, 1.0))


@catalogue("seed", range(8))
def test_choices_that_are_counted_together_are_counted_as_one_by_one(seed: int) -> None:
    kinds = (("decides", "reading", ("scroll", "like", "post")), ("decides", "reading", ("scroll", "post")))
    choices = []
    for number in range(300):
        trigger, state, options = kinds[uniform(seed, number, 0, 1) < 0.3]
        shares = [0.1 + uniform(seed, number, place, 2) for place in range(len(options))]
        chosen = "sleep" if seed == 7 and number == 200 else options[pick(shares, uniform(seed, number, 0, 3))]
        relevance = None if number % 7 == 0 else uniform(seed, number, 0, 4)
        probabilities = None if number % 5 == 0 else [share / sum(shares) for share in shares]
        reference = Reference(relevance, probabilities)
        choices.append(Compared(number % 40, number // 10, trigger, state, options, chosen, reference))
    one_by_one, together, in_parts = ComparedChoices(), ComparedChoices(), ComparedChoices()
    for each in choices:
        name = each.agent, each.tick, each.trigger
        first = each.options[0]
        one_by_one.add(name, each.state, each.options, chosen=each.chosen, other=first, reference=each.reference)
    together.add_all(choices)
    for start in range(0, len(choices), 25):
        in_parts.add_all(choices[start : start + 25])
    assert together.divergences() == one_by_one.divergences() == in_parts.divergences()
    assert counted(together) == counted(one_by_one) == counted(in_parts)


def counted(choices: ComparedChoices) -> object:
    """Return the counts, whatever the order of the cells, and whichever options they have room for."""
    found = []
    for trigger, state, counts in choices.state():
        cells = {key: counts.cell(key) for key in sorted(counts.cells)}
        found.append((trigger, state, counts.options, cells))
    return found

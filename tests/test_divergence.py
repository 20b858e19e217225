"""Distances of choices: the divergence, its interval, and the choices that it is worked out from."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from prism.divergence import (
    EMBEDDED,
    RULE,
    ComparedChoices,
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


def compared_choices(questions: int, *, seed: int = 0, likes: float = 0.5) -> ComparedChoices:
    """Return choices between two options, one with probability `likes`; the embedded choice says one half."""
    compared, options = ComparedChoices(), OPTIONS[:2]
    for agent in range(questions):
        chosen = options[pick([1.0 - likes, likes], uniform(seed, agent, 0, DRAWN))]
        name, reference = (agent, seed, "decides"), Reference(0.5, (0.5, 0.5))
        compared.add(name, "evaluating", options, chosen=chosen, ruled="scroll", reference=reference)
    return compared


def only(compared: ComparedChoices) -> Divergence:
    (found,) = compared.divergences()
    return found


def test_figures_are_those_of_the_questions() -> None:
    compared = ComparedChoices()
    choices = [("scroll", 0.1), ("like", 0.1), ("like", 0.55), ("reply", 1.0)]
    for agent, (chosen, relevance) in enumerate(choices):
        reference = Reference(relevance, (0.5, 0.25, 0.25))
        compared.add((agent, 3, "decides"), "evaluating", OPTIONS, chosen=chosen, ruled="scroll", reference=reference)
    compared.add_fallback("decides", "evaluating")
    found = only(compared)
    assert (found.trigger, found.state, found.questions, found.fallbacks) == ("decides", "evaluating", 4, 1)
    assert found.choices == {
        "oracle": {"like": 2.0, "reply": 1.0, "scroll": 1.0},
        RULE: {"like": 0.0, "reply": 0.0, "scroll": 4.0},
        EMBEDDED: {"like": 1.0, "reply": 1.0, "scroll": 2.0},
    }
    assert found.agreement == 0.25
    # H(5/8, 1/4, 1/8) - H(1/4, 1/2, 1/4) / 2, and H(3/8, 3/8, 1/4) - (1.5 + 1.5) / 2.
    assert found.against[RULE].bits == round(entropy(5 / 8, 1 / 4, 1 / 8) - 1.5 / 2, 4)
    assert found.against[EMBEDDED].bits == round(entropy(3 / 8, 3 / 8, 1 / 4) - 1.5, 4)
    assert [(part.low, part.high, part.questions, part.agreement) for part in found.by_relevance] == [
        (0.0, 0.2, 2, 0.5),
        (0.4, 0.6, 1, 0.0),
        (0.8, 1.0, 1, 0.0),
    ]


def test_the_ratio_of_rates_tells_of_what_is_rare_where_bits_do_not() -> None:
    compared = ComparedChoices()
    for agent in range(1000):
        reference = Reference(0.1 if agent % 2 else 0.9, (0.94, 0.06, 0.0))
        chosen = "like" if agent % 100 == 0 else "scroll"
        name = (agent, 3, "decides")
        compared.add(name, "evaluating", OPTIONS, chosen=chosen, ruled="scroll", reference=reference)
    found = only(compared)
    assert found.against[EMBEDDED].bits < 0.02
    like = found.ratios[EMBEDDED]["like"]
    # Wilson (1927): 10 of 1,000 are from 0.54% to 1.83%; the embedded choice has 6%.
    assert (like.ratio, like.low, like.high) == pytest.approx((1 / 6, 0.00544 / 0.06, 0.01831 / 0.06), abs=2e-3)
    assert "reply" not in found.ratios[EMBEDDED], "nobody expects it"
    low, high = found.by_relevance
    assert low.ratios[EMBEDDED]["like"].ratio == 0.0
    assert high.ratios[EMBEDDED]["like"].ratio == pytest.approx(1 / 3, abs=1e-3)


def test_what_is_not_known_of_all_questions_is_not_compared() -> None:
    compared = ComparedChoices()
    compared.add_fallback("amber", "waiting")
    found = only(compared)
    assert (found.questions, found.fallbacks, found.against, found.by_relevance) == (0, 1, {}, [])
    compared.add((0, 0, "amber"), "waiting", ("go", "stop"), chosen="go", ruled="rest", reference=Reference(math.nan))
    found = only(compared)
    assert found.choices[RULE] == {"go": 0.0, "rest": 1.0, "stop": 0.0}
    assert found.against.keys() == {RULE}
    assert (found.against[RULE].bits, found.by_relevance) == (1.0, [])
    known = Reference(None, (1.0, 0.0))
    compared.add((1, 0, "amber"), "waiting", ("go", "stop"), chosen="go", ruled="go", reference=known)
    assert only(compared).against.keys() == {RULE}  # one of the two questions is unknown to it


def test_an_interval_is_narrower_for_more_questions_and_holds_its_value() -> None:
    found = [only(compared_choices(questions, likes=0.7)).against[EMBEDDED] for questions in (50, 500, 5000)]
    assert all(0.0 <= each.low <= each.bits <= each.high <= 1.0 for each in found)
    widths = [each.high - each.low for each in found]
    assert all(wide > 2 * narrow for wide, narrow in pairwise(widths))


@catalogue(("likes", "questions"), [(0.5, 100), (0.6, 200), (0.8, 200)])
def test_the_interval_holds_the_true_divergence_in_about_19_of_20_samples(
    likes: float, questions: int, size: Size
) -> None:
    samples = size(600, everyday=50)
    # Of two options with probabilities 1 - l and l, and 1/2 and 1/2.
    mean = (likes + 0.5) / 2
    true = entropy(mean, 1 - mean) - (entropy(likes, 1 - likes) + 1) / 2
    found = [only(compared_choices(questions, seed=seed, likes=likes)).against[EMBEDDED] for seed in range(samples)]
    held = sum(each.low - 5e-5 <= true <= each.high + 5e-5 for each in found)
    assert 0.88 * samples <= held


def test_an_interval_is_moved_by_the_bias_of_its_resamples() -> None:
    # The mean is 0.1 too high, and the percentiles are 0.205 and 0.395.
    assert moved_interval(np.array([0.2, 0.3, 0.4]), 0.2) == pytest.approx((0.105, 0.295))
    assert moved_interval(np.array([0.0, 0.0, 0.3]), 0.0) == pytest.approx((0.0, 0.185))
    assert moved_interval(np.array([0.9, 0.95, 1.0]), 1.0) == pytest.approx((0.9525, 1.0))

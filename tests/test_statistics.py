"""Statistics by name, quantiles, percentiles of durations, quarters, and the distances of choices."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.distribution import effective_number, share_of_at_least, size_totals, spread_out, statistic, student
from prism.divergence import EMBEDDED, RULE, ComparedChoices, Divergence, Reference, jensen_shannon, moved_interval
from prism.latencies import Latencies
from prism.quarter import Period, Quarter
from prism.rng import Draw, pick, uniform
from prism.wording import clauses, counted
from tests.catalogue import catalogue
from tests.tiers import Size

SIZES = {1: 5, 2: 3, 20: 2}
OPTIONS = ("scroll", "like", "reply")


def test_statistics_are_those_of_a_sample_and_of_the_cascades_one_by_one() -> None:
    assert [statistic([1.0, 3.0], "sd"), statistic([7.0], "sd")] == pytest.approx([2**0.5, 0.0])
    assert spread_out(SIZES).tolist() == [1.0] * 5 + [2.0] * 3 + [20.0] * 2
    assert share_of_at_least(SIZES, 2) == 0.5
    assert list(size_totals({"1": 5, "2": 3, "20": 2}).values()) == [5.1, 1, 0.5, 0.2]
    assert set(size_totals({}).values()) == {0}
    tables = {1: 12.7062, 2: 4.3027, 4: 2.7764, 9: 2.2622, 30: 2.0423, 1e9: 1.96}
    assert [student(freedom) for freedom in tables] == pytest.approx([*tables.values()], rel=0.0005)
    assert 12.7 > student(1.5) > 4.31
    weights = ([1.0] * 5, [1.0, 0.0, 0.0], [3.0, 1.0])
    assert [effective_number(np.array(each)) for each in weights] == [5.0, 1.0, 1.6]


@given(st.lists(st.floats(0.001, 2000.0), min_size=1), st.sampled_from([0.01, 0.5, 0.95, 0.99, 1.0]))
def test_a_percentile_is_within_three_percent_of_the_nearest_rank(durations: list[float], share: float) -> None:
    latencies = Latencies()
    for duration in durations:
        latencies.add(duration)
    exact = sorted(durations)[math.ceil(share * len(durations)) - 1]
    assert latencies.percentile(share) == pytest.approx(exact, rel=0.025)
    for duration in (0.0, 1e9):
        latencies.add(duration, 10_000)
    assert latencies.percentile(0.1) == pytest.approx(0.001, rel=0.025)
    assert 2_000 < latencies.percentile(1.0) < 2_200


def test_quarters_and_periods_are_read_from_their_names_and_others_refused() -> None:
    assert [str(Quarter.parse(text)) for text in ("1985q1", " 1985Q1 ")] == ["1985q1", "1985q1"]
    for text in ("", "1985", "1985q0", "1985q5", "85q1", "1985-1", "1985q1x", "0985q1"):
        with pytest.raises(ValueError, match="expected a quarter such as 1985q1, got"):
            Quarter.parse(text)
    period = Period.parse("1987q1-1992q3")
    assert str(period) == "1987q1-1992q3"
    quarters = (Quarter(1986, 4), Quarter(1987, 1), Quarter(1992, 3), Quarter(1992, 4))
    assert [quarter in period for quarter in quarters] == [False, True, True, False]
    for text in ("1987q1", "1987-1992", "1987q1-1992q3-1993q1"):
        with pytest.raises(ValueError, match="expected a period such as 1987q1-1992q3, got"):
            Period.parse(text)


def test_words_of_counts_and_clauses() -> None:
    found = [counted(number, "person", "people") for number in (1, 0, 1200)]
    assert [*found, counted(2, "person")] == ["1 person", "0 people", "1,200 people", "2 persons"]
    assert clauses("You exceeded your quota.", "add credit") == "You exceeded your quota; add credit"
    assert clauses("it was cut...", "add credit", "") == "it was cut...; add credit"


def entropy(*shares: float) -> float:
    return -sum(share * math.log2(share) for share in shares if share)


@catalogue(
    ("first", "second", "bits"),
    [
        ([1, 0], [0, 1], 1.0),
        ([2, 2], [7, 7], 0.0),
        # The entropy of the mean less the mean of the entropies: H(3/4, 1/4) - (0 + 1) / 2.
        ([5, 0], [3, 3], entropy(3 / 4, 1 / 4) - 1 / 2),
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


def only(compared: ComparedChoices) -> Divergence:
    (found,) = compared.divergences()
    return found


def compared_choices(questions: int, *, seed: int = 0, likes: float = 0.5) -> Divergence:
    """Return the figures of choices of which one has probability `likes`; the embedded choice says one half."""
    compared, options = ComparedChoices(), OPTIONS[:2]
    for agent in range(questions):
        chosen = options[pick([1.0 - likes, likes], uniform(seed, agent, 0, Draw.SERVER_ANSWER))]
        name, reference = (agent, seed, "decides"), Reference(0.5, (0.5, 0.5))
        compared.add(name, "evaluating", options, chosen=chosen, ruled="scroll", reference=reference)
    return only(compared)


def test_figures_are_those_of_the_questions() -> None:
    compared = ComparedChoices()
    for agent, chosen in enumerate(("scroll", "like", "like", "reply")):
        reference = Reference(0.1, (0.5, 0.25, 0.25))
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


def test_the_ratio_of_rates_tells_of_what_is_rare_where_bits_do_not() -> None:
    compared = ComparedChoices()
    for agent in range(1000):
        chosen, reference = "like" if agent % 100 == 0 else "scroll", Reference(0.9, (0.94, 0.06, 0.0))
        compared.add((agent, 3, "decides"), "evaluating", OPTIONS, chosen=chosen, ruled="scroll", reference=reference)
    found = only(compared)
    assert found.against[EMBEDDED].bits < 0.02
    like = found.ratios[EMBEDDED]["like"]
    # Wilson (1927): 10 of 1,000 are from 0.54% to 1.83%; the embedded choice has 6%.
    assert (like.ratio, like.low, like.high) == pytest.approx((1 / 6, 0.00544 / 0.06, 0.01831 / 0.06), abs=2e-3)
    assert "reply" not in found.ratios[EMBEDDED], "nobody expects it"


def test_what_is_not_known_of_all_questions_is_not_compared() -> None:
    compared, options = ComparedChoices(), ("go", "stop")
    compared.add_fallback("amber", "waiting")
    found = only(compared)
    assert (found.questions, found.fallbacks, found.against) == (0, 1, {})
    compared.add((0, 0, "amber"), "waiting", options, chosen="go", ruled="rest")
    found = only(compared)
    assert found.choices[RULE] == {"go": 0.0, "rest": 1.0, "stop": 0.0}
    assert {against: each.bits for against, each in found.against.items()} == {RULE: 1.0}
    known = Reference(None, (1.0, 0.0))
    compared.add((1, 0, "amber"), "waiting", options, chosen="go", ruled="go", reference=known)
    assert only(compared).against.keys() == {RULE}  # one of the two questions is unknown to it


def test_an_interval_holds_its_value_and_is_narrower_for_more_questions() -> None:
    found = [compared_choices(questions, likes=0.7).against[EMBEDDED] for questions in (50, 500, 5000)]
    assert all(0.0 <= each.low <= each.bits <= each.high <= 1.0 for each in found)
    assert all(wide > 2 * narrow for wide, narrow in pairwise(each.high - each.low for each in found))
    # The mean is 0.1 too high, and the percentiles are 0.205 and 0.395.
    assert moved_interval(np.array([0.2, 0.3, 0.4]), 0.2) == pytest.approx((0.105, 0.295))
    assert moved_interval(np.array([0.0, 0.0, 0.3]), 0.0) == pytest.approx((0.0, 0.185))
    assert moved_interval(np.array([0.9, 0.95, 1.0]), 1.0) == pytest.approx((0.9525, 1.0))


@catalogue(("likes", "questions"), [(0.5, 100), (0.8, 200)])
def test_the_interval_holds_the_true_divergence_in_about_19_of_20_samples(
    likes: float, questions: int, size: Size
) -> None:
    samples = size(600, everyday=40)
    # Of two options with probabilities 1 - l and l, and 1/2 and 1/2.
    mean = (likes + 0.5) / 2
    true = entropy(mean, 1 - mean) - (entropy(likes, 1 - likes) + 1) / 2
    found = [compared_choices(questions, seed=seed, likes=likes).against[EMBEDDED] for seed in range(samples)]
    assert sum(each.low - 5e-5 <= true <= each.high + 5e-5 for each in found) >= 0.88 * samples

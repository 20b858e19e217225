"""Random draws, and statistics by name: quantiles, percentiles, and distances of choices."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from prism.distribution import (
    effective_number,
    jensen_shannon_rows,
    share_of_at_least,
    size_totals,
    spread_out,
    statistic,
    student,
)
from prism.llm.spending import Latencies
from prism.quarter import Period, Quarter
from prism.rng import WORLD, Draw, integer, normal, pick, uniform, uniforms
from prism.wording import clauses, counted
from tests.catalogue import catalogue

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
    pairs = np.array([[first, second], [second, first]], dtype=np.float64)
    assert jensen_shannon_rows(pairs[:, 0], pairs[:, 1]) == pytest.approx([bits, bits], abs=1e-12)


NUMBERS = st.integers(-1, 2**40)
WEIGHTS = st.lists(st.floats(0.0, 1e6), min_size=1, max_size=12)
UNITS = st.floats(0.0, 1.0, exclude_max=True)


def test_draws_are_the_same_on_every_machine_and_in_every_release() -> None:
    assert uniform(42, 7, 3, Draw.CHOICE) == 0.37933079873857456
    assert uniform(42, WORLD, 0, Draw.GRAPH, 1) == 0.5238440339615759
    assert integer(1000, 42, 7, 3, Draw.CHOICE) == 379
    assert normal(42, 7, 3, Draw.CHOICE) == pytest.approx(0.9738951764201463, rel=1e-12)


def test_each_argument_changes_the_draw_and_a_purpose_keeps_its_number_for_good() -> None:
    keys = [(1, 2, 3, Draw.CHOICE, 4), (9, 2, 3, Draw.CHOICE, 4), (1, 9, 3, Draw.CHOICE, 4), (1, 2, 9, Draw.CHOICE, 4)]
    keys += [(1, 2, 3, Draw.APPEAL, 4), (1, 2, 3, Draw.CHOICE, 9), (1, 3, 2, Draw.CHOICE, 4)]
    assert len({uniform(*key) for key in keys}) == 7
    kept = "PERSONA ACTIVITY THRESHOLD INTERESTS NAME PERSONALITY GRAPH ONLINE ARRIVAL PUBLISHES TOPIC TEXT INTENTION"
    kept += " ATTENTION FEED_POOL FEED_ORDER CHOICE APPEAL"
    assert [Draw[name].value for name in kept.split()] == list(range(1, 19))


def test_uniform_draws_are_level_across_agents_ticks_and_indexes() -> None:
    for key in ([(0, n, 0, 1, 0) for n in range(10_000)], [(0, 0, n, 1, 0) for n in range(10_000)]):
        bins = Counter(int(uniform(*each) * 10) for each in key)
        assert sum((bins[place] - 1000) ** 2 / 1000 for place in range(10)) < 27.9  # chi-square, 9 degrees, p = 0.001


def test_a_pick_is_where_the_unit_falls_on_the_weights_laid_end_to_end() -> None:
    expected = {0.0: 0, 0.199: 0, 0.2: 2, 0.699: 2, 0.7: 3, math.nextafter(1.0, 0.0): 3}
    assert {unit: pick([2.0, 0.0, 5.0, 3.0, 0.0], unit) for unit in expected} == expected
    for weights in ([], [0.0, 0.0], [float("nan")]):
        with pytest.raises(ValueError, match=r"^weights must have a positive sum, got "):
            pick(weights, 0.5)
    with pytest.raises(ValueError, match=r"^bound must be positive, got 0$"):
        integer(0, 0, 0, 0, Draw.TOPIC)


@given(WEIGHTS, UNITS)
def test_nothing_without_weight_is_ever_picked(weights: list[float], unit: float) -> None:
    assume(math.fsum(weights) > 0.0)
    assert weights[pick(weights, unit)] > 0.0


def test_many_draws_at_once_are_those_of_each_agent() -> None:
    for count in (0, 7, 20_000):
        many = uniforms(1, np.arange(count), 7, Draw.ONLINE, np.arange(count) * 3)
        assert len(many) == count
        assert all(many[agent] == uniform(1, agent, 7, Draw.ONLINE, 3 * agent) for agent in range(0, count, 97))

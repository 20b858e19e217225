from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from prism.rng import WORLD, Draw, GraphRandom, integer, normal, pick, uniform, uniforms

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


def test_normal_deviates_have_mean_zero_and_deviation_one() -> None:
    drawn = [normal(0, agent, 0, Draw.ACTIVITY) for agent in range(10_000)]
    assert abs(math.fsum(drawn) / len(drawn)) < 0.04
    assert math.fsum(each * each for each in drawn) / len(drawn) == pytest.approx(1.0, abs=0.06)
    assert sum(abs(each) < 1.96 for each in drawn) / len(drawn) == pytest.approx(0.95, abs=0.01)


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


def test_a_generator_for_graphs_repeats_itself_from_its_seed() -> None:
    def drawn(seed: int) -> list[float]:
        source = GraphRandom(seed)
        return [source.random(), source.randint(1, 6), source.gauss(5.0, 2.0), source.getrandbits(32)]

    assert drawn(1) == drawn(1) != drawn(2)


def test_many_draws_at_once_are_those_of_each_agent() -> None:
    for count in (0, 7, 20_000):
        many = uniforms(1, np.arange(count), 7, Draw.ONLINE, np.arange(count) * 3)
        assert len(many) == count
        assert all(many[agent] == uniform(1, agent, 7, Draw.ONLINE, 3 * agent) for agent in range(0, count, 97))

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.latencies import Latencies


@given(st.lists(st.floats(0.001, 2000.0), min_size=1), st.sampled_from([0.01, 0.5, 0.95, 0.99, 1.0]))
def test_a_percentile_is_within_three_percent_of_the_nearest_rank(durations: list[float], share: float) -> None:
    latencies = Latencies()
    for duration in durations:
        latencies.add(duration)
    exact = sorted(durations)[math.ceil(share * len(durations)) - 1]
    assert latencies.percentile(share) == pytest.approx(exact, rel=0.025)


def test_what_is_too_short_or_too_long_counts_as_the_shortest_or_longest() -> None:
    latencies = Latencies()
    for duration in (0.0, 1e-9, 1e9):
        latencies.add(duration)
    assert latencies.count == 3
    assert latencies.percentile(0.5) == pytest.approx(0.001, rel=0.025)
    assert 2_000 < latencies.percentile(1.0) < 2_200

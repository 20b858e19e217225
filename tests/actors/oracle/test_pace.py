from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.oracle.pace import BURST_S, Pace, TokenBucket
from tests.catalogue import catalogue

RATES = (0.7, 7.3, 30.0, 100.0, 1000.0)


def starts(bucket: TokenBucket, calls: int, late_s: float = 0.0) -> list[float]:
    """When calls start that are always there, each `late_s` after it may."""
    now, times = 0.0, []
    for _ in range(calls):
        delay = bucket.delay(now)
        now += delay + (late_s if delay else 0.0)
        bucket.take(now)
        times.append(now)
    return times


def burst(rate: float) -> int:
    return int(max(1.0, rate * BURST_S))


def test_no_rate_lets_everything_through() -> None:
    assert starts(TokenBucket(None), 1000) == [0.0] * 1000


@catalogue("rate", RATES)
def test_the_rate_is_exact_over_a_long_time(rate: float) -> None:
    calls = 200_000
    took = starts(TokenBucket(rate), calls)[-1]
    assert took == pytest.approx((calls - burst(rate)) / rate, rel=1e-9)


@catalogue("rate", RATES)
def test_a_burst_is_what_accrues_in_ten_milliseconds_and_one_call_at_least(rate: float) -> None:
    assert starts(TokenBucket(rate), burst(rate) + 5).count(0.0) == burst(rate)


@pytest.mark.parametrize("rate", [100.0, 1000.0])
def test_timers_that_are_late_by_less_than_a_burst_cost_no_rate(rate: float) -> None:
    calls = 100_000
    late_s = 0.8 * (burst(rate) - 1) / rate
    took = starts(TokenBucket(rate), calls, late_s)[-1]
    assert took == pytest.approx((calls - burst(rate)) / rate, rel=1e-3)


@pytest.mark.parametrize("rate", [10.0, 100.0])
def test_a_late_timer_is_made_up_for_by_a_call_that_has_waited(rate: float) -> None:
    bucket, now = TokenBucket(rate), 0.0
    bucket.take(now)
    for _ in range(10_000):
        now += bucket.delay(now) + 0.002
        bucket.take(now, waited=True)
    assert now == pytest.approx(10_000 / rate, rel=1e-3, abs=0.02)


def test_no_more_is_made_up_for_than_a_burst_takes() -> None:
    bucket = TokenBucket(100.0)
    bucket.take(0.0)
    bucket.take(5.0, waited=True)
    assert bucket.delay(5.0) == 0.0
    bucket.take(5.0)
    assert bucket.delay(5.0) == pytest.approx(0.01)


def test_time_without_calls_saves_up_one_burst_and_no_more() -> None:
    bucket = TokenBucket(1000.0)
    starts(bucket, 500)
    later = 3600.0
    for _ in range(burst(1000.0)):
        assert bucket.delay(later) == pytest.approx(0.0, abs=1e-9)
        bucket.take(later)
    assert bucket.delay(later) == pytest.approx(0.001)


def test_asking_for_the_delay_takes_nothing() -> None:
    bucket = TokenBucket(2.0)
    bucket.take(10.0)
    assert [bucket.delay(10.0), bucket.delay(10.1), bucket.delay(10.5)] == pytest.approx([0.5, 0.4, 0.0])


@given(rate=st.floats(0.01, 5000.0), pauses=st.lists(st.floats(0.0, 2.0), min_size=2, max_size=60))
def test_no_window_ever_holds_more_than_its_share_and_a_burst(rate: float, pauses: list[float]) -> None:
    bucket, now, times = TokenBucket(rate), 0.0, list[float]()
    for pause in pauses:
        now += pause
        now += bucket.delay(now)
        bucket.take(now)
        times.append(now)
    assert all(before <= after for before, after in pairwise(times))
    allowed = max(1.0, rate * BURST_S)
    for first, begun in enumerate(times):
        for last in range(first, len(times)):
            assert last - first + 1 <= allowed + (times[last] - begun) * rate + 1e-6


def test_a_refusal_halves_calls_and_rate_once_for_one_overload() -> None:
    pace = Pace(64, 100.0)
    pace.ended("overloaded", begun=1.0, now=2.0)
    assert pace.limit == 32
    pace.take(2.0)
    assert pace.delay(2.0) == pytest.approx(1 / 50.0)
    pace.ended("overloaded", begun=1.9, now=2.1)  # begun before the limit was halved
    pace.ended("timeout", begun=3.0, now=4.0)  # no refusal
    assert pace.limit == 32
    pace.ended("overloaded", begun=3.0, now=4.0)
    assert pace.limit == 16


def test_answers_win_back_calls_and_rate_step_by_step() -> None:
    pace, limits = Pace(16, 10.0), list[int]()
    for time in range(20):
        pace.ended("overloaded", begun=float(time), now=time + 0.5)
    assert pace.limit == 1
    for time in range(30, 80):
        pace.ended(None, begun=float(time), now=time + 1.0)
        limits.append(pace.limit)
    assert max(after - before for before, after in pairwise(limits)) == 1
    assert limits[-1] == 16
    pace.take(100.0)
    assert pace.delay(100.0) == pytest.approx(0.1)


def test_no_call_starts_in_a_pause_that_the_server_asked_for() -> None:
    pace = Pace(4)
    pace.pause(10.0, 5.0)
    pace.pause(11.0, 1.0)
    assert [pace.delay(now) for now in (10.0, 14.0, 15.0)] == [5.0, 1.0, 0.0]

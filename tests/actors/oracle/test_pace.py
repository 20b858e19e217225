"""The limits on when a call may be made: its pace, and the circuit breaker."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.oracle.limits import BURST_S, FIRST_PAUSE_S, LONGEST_PAUSE_S, WINDOW, BreakerState, CircuitBreaker, Pace
from tests.catalogue import catalogue

RATES = (0.7, 7.3, 30.0, 100.0, 1000.0)


def starts(pace: Pace, calls: int, late_s: float = 0.0) -> list[float]:
    """Return when calls start if some always wait, each `late_s` after it may."""
    now, times = 0.0, []
    for _ in range(calls):
        delay = pace.delay(now)
        now += delay + (late_s if delay else 0.0)
        pace.take(now)
        times.append(now)
    return times


def burst(rate: float) -> int:
    return int(max(1.0, rate * BURST_S))


@catalogue("rate", RATES)
def test_the_rate_is_exact_over_a_long_time(rate: float) -> None:
    calls = 200_000
    took = starts(Pace(1, rate), calls)[-1]
    assert took == pytest.approx((calls - burst(rate)) / rate, rel=1e-9)


@pytest.mark.parametrize("rate", [10.0, 100.0])
def test_a_late_timer_is_made_up_for(rate: float) -> None:
    pace, now = Pace(1, rate), 0.0
    pace.take(now)
    for _ in range(10_000):
        now += pace.delay(now) + 0.002
        pace.take(now)
    assert now == pytest.approx(10_000 / rate, rel=1e-3, abs=0.02)


@given(rate=st.floats(0.01, 5000.0), pauses=st.lists(st.floats(0.0, 2.0), min_size=2, max_size=60))
def test_no_window_ever_holds_more_than_its_share_and_a_burst(rate: float, pauses: list[float]) -> None:
    pace, now, times = Pace(1, rate), 0.0, list[float]()
    for pause in pauses:
        now += pause
        now += pace.delay(now)
        pace.take(now)
        times.append(now)
    assert all(before <= after for before, after in pairwise(times))
    allowed = 1.0 + rate * BURST_S
    for first, begun in enumerate(times):
        for last in range(first, len(times)):
            assert last - first + 1 <= allowed + (times[last] - begun) * rate + 1e-6


def test_a_refusal_lowers_calls_and_rate_once_for_one_overload() -> None:
    pace = Pace(64, 100.0)
    for _ in range(4):
        pace.ended(None, begun=1.0, now=2.0)
    pace.ended("overloaded", begun=1.0, now=2.0, is_limited=True)
    assert pace.limit == 32
    pace.take(2.0)
    assert pace.delay(2.0) == pytest.approx(1 / (0.9 * 1.25 * 4)), "near the answers of the latest second"
    pace.ended("overloaded", begun=1.9, now=2.1, is_limited=True)  # begun before the limit was lowered
    pace.ended("timeout", begun=3.0, now=4.0)  # no refusal
    assert pace.limit == 32
    pace.ended("overloaded", begun=3.0, now=4.0, is_limited=True)
    assert pace.limit == 16


def test_answers_win_back_calls_step_by_step_and_the_rate_up_to_the_configured_one() -> None:
    pace, limits = Pace(16, 10.0), list[int]()
    for time in range(20):
        pace.ended("overloaded", begun=float(time), now=time + 0.5, is_limited=True)
    assert pace.limit == 1
    for time in range(30, 180):
        pace.ended(None, begun=float(time), now=time + 1.0)
        limits.append(pace.limit)
    assert max(after - before for before, after in pairwise(limits)) == 1
    assert limits[-1] == 16
    pace.take(200.0)
    assert pace.delay(200.0) == pytest.approx(0.1)


def test_without_a_configured_rate_refusals_teach_one_that_answers_lift_again() -> None:
    pace = Pace(4)
    pace.ended("overloaded", begun=0.0, now=0.0, is_limited=True)
    pace.take(0.0)
    assert pace.delay(0.0) == 1.0
    for time in range(1, 60):
        pace.ended(None, begun=float(time), now=float(time))
    pace.take(60.0)
    assert pace.delay(60.0) < 0.01


def opened_at(now: float, holds_after: int | None = None) -> CircuitBreaker:
    breaker = CircuitBreaker(holds_after)
    for _ in range(WINDOW):
        breaker.ended("timeout", now)
    return breaker


@pytest.mark.parametrize("reason", ["timeout", "deadline", "connection_error", "overloaded", "server_error"])
def test_it_opens_when_half_of_a_full_window_failed_and_not_before(reason: str) -> None:
    breaker = CircuitBreaker()
    for number in range(10 * WINDOW):
        breaker.ended(reason if number % 20 < 9 else None, 0.0)
    assert breaker.state is BreakerState.CLOSED
    breaker = CircuitBreaker()
    for number in range(WINDOW):
        assert breaker.state is BreakerState.CLOSED
        breaker.ended(reason if number % 2 else None, 0.0)
    assert (breaker.state, breaker.opened, breaker.allows(0.0)) == (BreakerState.OPEN, 1, False)
    breaker.ended(None, 1.0)
    assert breaker.state is BreakerState.OPEN, "an answer to a call from before it opened changes nothing"


def test_after_a_pause_it_lets_one_probe_in_and_a_probe_that_is_answered_closes_it_with_a_clean_window() -> None:
    breaker = opened_at(100.0)
    assert not breaker.allows(100.0 + FIRST_PAUSE_S - 0.001)
    assert breaker.allows(100.0 + FIRST_PAUSE_S)
    assert breaker.begun()
    assert (breaker.state, breaker.allows(1000.0)) == (BreakerState.HALF_OPEN, False)
    breaker.ended(None, 106.0, is_probe=True)
    breaker.ended("timeout", 106.0)
    assert breaker.state is BreakerState.CLOSED


def test_each_failed_probe_doubles_the_pause_up_to_a_minute() -> None:
    breaker, now, pauses = opened_at(0.0), 0.0, []
    for _ in range(6):
        begun = now
        while not breaker.allows(now):
            now += 0.5
        breaker.begun()
        pauses.append(now - begun)
        breaker.ended("connection_error", now, is_probe=True)
    assert pauses == [5.0, 10.0, 20.0, 40.0, LONGEST_PAUSE_S, LONGEST_PAUSE_S]


@pytest.mark.parametrize("holds_after", [None, 8])
def test_a_refused_question_says_nothing_about_the_server(holds_after: int | None) -> None:
    breaker = CircuitBreaker(holds_after)
    for _ in range(50):
        breaker.ended("refused", 0.0)
    assert breaker.opened == 0
    breaker = opened_at(0.0, holds_after)
    assert breaker.begun()
    breaker.ended("refused", 100.0, is_probe=True)
    assert (breaker.allows(100.0), breaker.begun()) == (True, True), "another question is the probe, and at once"

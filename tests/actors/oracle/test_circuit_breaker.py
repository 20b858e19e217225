from __future__ import annotations

import pytest

from actors.oracle.circuit_breaker import FIRST_PAUSE_S, LONGEST_PAUSE_S, WINDOW, BreakerState, CircuitBreaker


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


def test_answers_that_make_no_sense_never_trip_it() -> None:
    breaker = CircuitBreaker()
    for reason in ["invalid_response", "client_error", "error"] * 10 * WINDOW:
        breaker.ended(reason, 0.0)
    assert breaker.state is BreakerState.CLOSED


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


def test_a_doubted_backend_is_probed_at_once() -> None:
    breaker = CircuitBreaker(8)
    breaker.doubt(7.0)
    assert (breaker.is_closed, breaker.allows(7.0), breaker.begun()) == (False, True, True)


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

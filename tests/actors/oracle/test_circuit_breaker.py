from __future__ import annotations

import pytest

from actors.oracle.circuit_breaker import FIRST_PAUSE_S, LONGEST_PAUSE_S, WINDOW, BreakerState, CircuitBreaker
from tests.catalogue import catalogue


def opened_at(now: float) -> CircuitBreaker:
    breaker = CircuitBreaker()
    for _ in range(WINDOW):
        breaker.ended("timeout", now)
    return breaker


@pytest.mark.parametrize("reason", ["timeout", "deadline", "connection_error", "overloaded", "server_error"])
def test_it_opens_when_half_of_a_full_window_failed(reason: str) -> None:
    breaker = CircuitBreaker()
    for number in range(WINDOW):
        assert breaker.state is BreakerState.CLOSED
        breaker.ended(reason if number % 2 else None, 0.0)
    assert (breaker.state, breaker.opened) == (BreakerState.OPEN, 1)
    assert not breaker.allows(0.0)


def test_it_stays_closed_below_half() -> None:
    breaker = CircuitBreaker()
    for number in range(10 * WINDOW):
        breaker.ended("timeout" if number % 20 < 9 else None, 0.0)
    assert breaker.state is BreakerState.CLOSED


def test_a_window_that_is_not_full_opens_nothing() -> None:
    breaker = CircuitBreaker()
    for _ in range(WINDOW - 1):
        breaker.ended("timeout", 0.0)
    assert breaker.state is BreakerState.CLOSED


@catalogue("reason", ["invalid_response", "client_error", "error"])
def test_answers_that_make_no_sense_never_trip_it(reason: str) -> None:
    breaker = CircuitBreaker()
    for _ in range(10 * WINDOW):
        breaker.ended(reason, 0.0)
    assert breaker.state is BreakerState.CLOSED


def test_after_a_pause_it_lets_one_probe_in() -> None:
    breaker = opened_at(100.0)
    assert not breaker.allows(100.0 + FIRST_PAUSE_S - 0.001)
    assert breaker.allows(100.0 + FIRST_PAUSE_S)
    breaker.begun()
    assert breaker.state is BreakerState.HALF_OPEN
    assert not breaker.allows(100.0 + FIRST_PAUSE_S)


def test_a_probe_that_is_answered_closes_it_with_a_clean_window() -> None:
    breaker = opened_at(0.0)
    assert breaker.begun()
    breaker.ended(None, 6.0, is_probe=True)
    assert breaker.state is BreakerState.CLOSED
    breaker.ended("timeout", 6.0)
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


def test_answers_to_calls_from_before_it_opened_change_nothing() -> None:
    breaker = opened_at(0.0)
    breaker.ended(None, 1.0)
    assert breaker.state is BreakerState.OPEN


def test_a_doubted_backend_is_probed_at_once() -> None:
    breaker = CircuitBreaker(8)
    breaker.doubt(7.0)
    assert (breaker.is_closed, breaker.allows(7.0), breaker.begun()) == (False, True, True)
    breaker.ended(None, 8.0, is_probe=True)
    assert breaker.is_closed


@pytest.mark.parametrize("holds_after", [None, 8])
def test_a_refused_question_says_nothing_about_the_server(holds_after: int | None) -> None:
    breaker = CircuitBreaker(holds_after)
    for _ in range(50):
        breaker.ended("refused", 0.0)
    assert breaker.opened == 0
    for _ in range(WINDOW):
        breaker.ended("server_error", 0.0)
    assert not breaker.allows(0.0)
    assert breaker.begun()
    breaker.ended("refused", 100.0, is_probe=True)
    assert breaker.allows(100.0), "another question is the probe, and at once"
    assert breaker.begun()
    breaker.ended(None, 100.0, is_probe=True)
    assert breaker.is_closed

"""The adaptive limit against model servers that exist only as arithmetic: seeded, in virtual time."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from functools import partial
from random import Random
from statistics import median

import pytest

from actors.oracle.concurrency_limit import AdaptiveLimit, ConcurrencyLimit, FixedLimit
from prism.rng import normal, uniform

pytestmark = pytest.mark.long

MOST = 64
CALLS = 6_000


def goodput(limit: ConcurrencyLimit, slots: int, slowdown: float, seed: int, broken: float = 0.0) -> float:
    """Answers a second of a closed loop that keeps as many calls under way as the limit allows.

    The server answers `slots` calls at a time, the others queue; a call takes a log-normal second, longer by
    `slowdown` for each other call being served. A share of `broken` calls ends in a plain 500 instead of an answer.
    """
    now, calls, busy, queued = 0.0, 0, 0, 0
    done: list[tuple[float, int]] = []
    ended = answered = 0
    warm = (0.0, 0)
    while ended < CALLS:
        while busy + queued < limit.limit:
            queued += 1
        while queued and busy < slots:
            queued, busy, calls = queued - 1, busy + 1, calls + 1
            service = math.exp(0.5 * normal(seed, 0, calls, 1) - 0.125) * (1 + slowdown * (busy - 1))
            heapq.heappush(done, (now + service, calls))
        now, call = heapq.heappop(done)
        under_way = busy + queued
        failed = uniform(seed, 0, call, 2) < broken
        busy, ended, answered = busy - 1, ended + 1, answered + (not failed)
        limit.ended("server_error" if failed else None, under_way, now)
        if ended == CALLS // 3:
            warm = (now, answered)
    return (answered - warm[1]) / (now - warm[0])


SERVERS = pytest.mark.parametrize(("slots", "slowdown"), [(1, 0.0), (4, 0.0), (32, 0.0), (32, 0.3)])


@SERVERS
def test_the_adaptive_limit_reaches_nine_tenths_of_the_best_fixed_one(slots: int, slowdown: float) -> None:
    def over_seeds(make: Callable[[], ConcurrencyLimit]) -> float:
        return median(goodput(make(), slots, slowdown, seed) for seed in range(3))

    best = max(over_seeds(partial(FixedLimit, fixed)) for fixed in (1, 2, 4, 8, 16, 32, 64))
    assert over_seeds(lambda: AdaptiveLimit(MOST)) >= 0.9 * best


@SERVERS
def test_a_tenth_of_plain_failures_costs_about_a_tenth_of_the_answers(slots: int, slowdown: float) -> None:
    def answers_a_second(broken: float) -> float:
        return median(goodput(AdaptiveLimit(MOST), slots, slowdown, seed, broken) for seed in range(5))

    assert answers_a_second(broken=0.1) >= 0.8 * answers_a_second(broken=0.0)


def test_the_adaptive_limit_does_not_pile_calls_onto_a_server_that_gains_nothing() -> None:
    limit = AdaptiveLimit(MOST)
    goodput(limit, 1, 0.0, 0)
    assert limit.limit <= 8


@pytest.mark.parametrize("reason", ["timeout", "deadline", "overloaded"])
def test_an_overload_takes_a_third_off_once_for_all_calls_under_way(reason: str) -> None:
    limit = AdaptiveLimit(MOST, start=20)
    for _ in range(20):
        limit.ended(reason, 20, 1.0)
    assert limit.limit == 14


def test_a_second_overload_after_those_calls_takes_another_third() -> None:
    limit = AdaptiveLimit(MOST, start=20)
    for _ in range(AdaptiveLimit.SIGNS + 19):
        limit.ended("overloaded", 20, 1.0)
    assert limit.limit == 14
    for _ in range(AdaptiveLimit.SIGNS):
        limit.ended("overloaded", 20, 1.0)
    assert limit.limit == 10


def test_an_isolated_timeout_takes_nothing_off() -> None:
    limit = AdaptiveLimit(MOST, start=20)
    for number in range(1000):
        limit.ended("timeout" if number % 10 == 0 else "server_error", 20, float(number))
    assert limit.limit == 20


def test_four_timeouts_of_five_take_a_third_off() -> None:
    limit = AdaptiveLimit(MOST, start=20)
    for number in range(20):
        limit.ended("timeout" if number % 5 else "server_error", 20, float(number))
    assert limit.limit == 14


@pytest.mark.parametrize("faults", [{"p_timeout": 0.1}, {"p_timeout": 0.2}, {"p_refused": 0.1}])
def test_faults_that_come_at_any_number_of_calls_do_not_pull_it_down(faults: dict[str, float]) -> None:
    """Hangs by chance, and 503s that come three in a row: 5,000 calls end at a limit from 20 on, which never falls."""
    random, limit, calls = Random(7), AdaptiveLimit(MOST, start=20), 0
    while calls < 5000:
        draw = random.random()
        if draw < faults.get("p_refused", 0.0):
            reasons: list[str | None] = ["overloaded"] * 3
        else:
            reasons = ["timeout" if draw < faults.get("p_timeout", 0.0) else None]
        for reason in reasons:
            limit.ended(reason, 1, 1.0)  # one call under way says nothing about a limit of 20
        calls += len(reasons)
    assert limit.limit == 20


def test_it_never_goes_below_one_or_above_the_most() -> None:
    low, high = AdaptiveLimit(MOST), AdaptiveLimit(6)
    for number in range(200):
        low.ended("deadline", 1, float(number))
    goodput(high, 32, 0.0, 0)
    assert low.limit == 1
    assert high.limit <= 6


@pytest.mark.parametrize("reason", ["server_error", "connection_error", "invalid_response", "client_error"])
def test_what_happens_at_any_number_of_calls_is_no_overload(reason: str) -> None:
    limit = AdaptiveLimit(MOST, start=20)
    for number in range(100):
        limit.ended(reason, 20, float(number))
    assert limit.limit == 20


def test_a_loop_that_does_not_fill_the_limit_does_not_raise_it() -> None:
    limit = AdaptiveLimit(MOST, start=4)
    for number in range(1000):
        limit.ended(None, 1, float(number))
    assert limit.limit == 4


def test_a_fixed_limit_stays() -> None:
    limit = FixedLimit(7)
    limit.ended("timeout", 7, 0.0)
    assert limit.limit == 7

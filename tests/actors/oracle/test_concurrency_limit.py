"""The adaptive limit against model servers that exist only as arithmetic: seeded, in virtual time."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from functools import partial
from random import Random
from statistics import median
from typing import NamedTuple

import pytest

from actors.oracle.concurrency_limit import AdaptiveLimit, ConcurrencyLimit, FixedLimit
from prism.rng import normal, uniform
from tests.catalogue import catalogue

MOST = 64
CALLS = 6_000


class Server(NamedTuple):
    """A server of a closed loop, which keeps as many calls under way as the limit allows.

    It answers `slots` calls at a time, the others queue. A call takes a log-normal second, longer by `slowdown` for
    each other call being answered. A share of `broken` calls ends in a plain 500 instead of an answer. A share of
    `hung` calls is never answered, has no slot, and ends after ten seconds.
    """

    slots: int
    slowdown: float = 0.0
    broken: float = 0.0
    hung: float = 0.0


class Loop:
    """A closed loop of calls to a server, in virtual time."""

    def __init__(self, limit: ConcurrencyLimit, server: Server, seed: int) -> None:
        self.now = 0.0
        self.answered = 0
        self._limit, self._server, self._seed = limit, server, seed
        self._busy = self._under_way = self._begun = self._served = 0
        self._queued: deque[tuple[int, float]] = deque()
        """For each call that waits: the calls under way when it came, itself included, and the time."""
        self._ends: list[tuple[float, int, int, float, bool]] = []
        """The calls that end: when, the number, what `_queued` says of it, and True for one that hangs."""

    def end_one(self) -> None:
        """Start the calls that may start, and go on until the next one ends."""
        while self._under_way < self._limit.limit:
            self._under_way, self._begun = self._under_way + 1, self._begun + 1
            if self._draw(self._begun, 3) < self._server.hung:
                heapq.heappush(self._ends, (self.now + 10.0, -self._begun, self._under_way, self.now, True))
            else:
                self._queued.append((self._under_way, self.now))
        while self._queued and self._busy < self._server.slots:
            self._busy, self._served = self._busy + 1, self._served + 1
            alone_s = math.exp(0.5 * normal(self._seed, 0, self._served, 1) - 0.125)
            ends = self.now + alone_s * (1 + self._server.slowdown * (self._busy - 1))
            heapq.heappush(self._ends, (ends, self._served, *self._queued.popleft(), False))
        self.now, call, in_flight, begun, hangs = heapq.heappop(self._ends)
        self._under_way, self._busy = self._under_way - 1, self._busy - (not hangs)
        failed = "timeout" if hangs else "server_error" if self._draw(call, 2) < self._server.broken else None
        self.answered += failed is None
        self._limit.ended(failed, in_flight, begun, self.now)

    def _draw(self, call: int, purpose: int) -> float:
        return uniform(self._seed, 0, call, purpose)


def goodput(limit: ConcurrencyLimit, server: Server, seed: int) -> float:
    """Return the answers a second after a third of the calls."""
    loop = Loop(limit, server, seed)
    for _ in range(CALLS // 3):
        loop.end_one()
    begun, before = loop.now, loop.answered
    for _ in range(CALLS - CALLS // 3):
        loop.end_one()
    return (loop.answered - before) / (loop.now - begun)


def seconds(limit: ConcurrencyLimit, server: Server, seed: int) -> float:
    """Return the time until the thousandth answer, from the start."""
    loop = Loop(limit, server, seed)
    while loop.answered < 1000:
        loop.end_one()
    return loop.now


SERVERS = pytest.mark.parametrize("server", [Server(1), Server(4), Server(32), Server(32, slowdown=0.3)])


@pytest.mark.everyday(1)
@SERVERS
def test_the_adaptive_limit_reaches_nine_tenths_of_the_best_fixed_one(server: Server) -> None:
    def over_seeds(make: Callable[[], ConcurrencyLimit]) -> float:
        return median(goodput(make(), server, seed) for seed in range(3))

    best = max(over_seeds(partial(FixedLimit, fixed)) for fixed in (1, 2, 4, 8, 16, 32, 64))
    assert over_seeds(lambda: AdaptiveLimit(MOST)) >= 0.9 * best


@pytest.mark.everyday(1)
@SERVERS
def test_a_tenth_of_plain_failures_costs_about_a_tenth_of_the_answers(server: Server) -> None:
    def answers_a_second(server: Server) -> float:
        return median(goodput(AdaptiveLimit(MOST), server, seed) for seed in range(5))

    assert answers_a_second(server._replace(broken=0.1)) >= 0.8 * answers_a_second(server)


@catalogue("hung", [0.0, 0.1])
@catalogue("slots", [4, 16])
def test_a_thousand_answers_take_a_tenth_longer_than_at_the_best_fixed_limit(slots: int, hung: float) -> None:
    """The start counts. Where a tenth of the calls hangs, the best limit is at least twice the number of slots."""

    def over_seeds(make: Callable[[], ConcurrencyLimit]) -> float:
        return median(seconds(make(), Server(slots, hung=hung), seed) for seed in range(5))

    best = min(over_seeds(partial(FixedLimit, fixed)) for fixed in (slots, 2 * slots, 3 * slots, MOST))
    assert over_seeds(lambda: AdaptiveLimit(MOST)) <= 1.1 * best


def test_the_adaptive_limit_does_not_pile_calls_onto_a_server_that_gains_nothing() -> None:
    limit = AdaptiveLimit(MOST)
    goodput(limit, Server(1), 0)
    assert limit.limit <= 8


def test_a_limit_of_one_rises_once_calls_are_answered() -> None:
    limit = AdaptiveLimit(MOST)
    for number in range(200):
        limit.ended("deadline", 1, float(number), number + 1.0)
    assert limit.limit == 1
    loop = Loop(limit, Server(32), 0)
    while limit.limit < 20:
        loop.end_one()
        assert loop.answered < 1000


@pytest.mark.parametrize("reason", ["timeout", "deadline", "overloaded"])
def test_an_overload_takes_a_third_off_once_for_all_calls_under_way(reason: str) -> None:
    limit = AdaptiveLimit(MOST, start=20)
    for _ in range(20):
        limit.ended(reason, 20, 0.0, 1.0)
    assert limit.limit == 14


def test_a_second_overload_after_those_calls_takes_another_third() -> None:
    limit = AdaptiveLimit(MOST, start=20)
    for _ in range(AdaptiveLimit.SIGNS + 19):
        limit.ended("overloaded", 20, 0.0, 1.0)
    assert limit.limit == 14
    for _ in range(AdaptiveLimit.SIGNS):
        limit.ended("overloaded", 20, 0.0, 1.0)
    assert limit.limit == 10


def test_an_isolated_timeout_takes_nothing_off() -> None:
    limit = AdaptiveLimit(MOST, start=20)
    for number in range(1000):
        limit.ended("timeout" if number % 10 == 0 else "server_error", 20, float(number), number + 1.0)
    assert limit.limit == 20


def test_four_timeouts_of_five_take_a_third_off() -> None:
    limit = AdaptiveLimit(MOST, start=20)
    for number in range(20):
        limit.ended("timeout" if number % 5 else "server_error", 20, float(number), number + 1.0)
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
            limit.ended(reason, 1, 0.0, 1.0)  # one call under way says nothing about a limit of 20
        calls += len(reasons)
    assert limit.limit == 20


def test_it_never_goes_below_one_or_above_the_most() -> None:
    low, high = AdaptiveLimit(MOST), AdaptiveLimit(6)
    for number in range(200):
        low.ended("deadline", 1, float(number), number + 1.0)
    goodput(high, Server(32), 0)
    assert low.limit == 1
    assert high.limit <= 6


@catalogue("reason", ["server_error", "connection_error", "invalid_response", "client_error"])
def test_what_happens_at_any_number_of_calls_is_no_overload(reason: str) -> None:
    limit = AdaptiveLimit(MOST, start=20)
    for number in range(100):
        limit.ended(reason, 20, float(number), number + 1.0)
    assert limit.limit == 20


def test_a_loop_that_does_not_fill_the_limit_does_not_raise_it() -> None:
    limit = AdaptiveLimit(MOST, start=4)
    for number in range(1000):
        limit.ended(None, 1, float(number), number + 1.0)
    assert limit.limit == 4


def test_a_fixed_limit_stays() -> None:
    limit = FixedLimit(7)
    limit.ended("timeout", 7, 0.0, 1.0)
    assert limit.limit == 7

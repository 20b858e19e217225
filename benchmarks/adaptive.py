"""The adaptive limit on calls against the best fixed one, on a simulated server, in virtual time.

There is always another call to make. The server has slots, and calls that find none wait. A call that hangs takes no
slot and ends after three seconds; a 503 comes at once, three in a row. Each limit answers the same number of calls on
the same servers, start included; printed is the time of the adaptive limit over that of the best of the fixed limits 1,
the slots, 16 and 64, medians of five seeds.

    python -m benchmarks.adaptive [--answers 1000 10000] [--slots 1 4 16 64] [--seeds 5]
"""

from __future__ import annotations

import argparse
import heapq
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import NamedTuple

from actors.oracle.concurrency_limit import AdaptiveLimit, ConcurrencyLimit, FixedLimit
from actors.testing import Fault, FaultPlan, Latency
from actors.testing.faults import FaultPlayer

MEAN_S, P99_S = 0.3, 1.2
TIMEOUT_S, REFUSAL_S = 3.0, 0.01
MOST = 64
FIXED = (1, 16, MOST)
FIRST_SEED = 700


class Server(NamedTuple):
    """A kind of server.

    Args:
        shares: of its calls that fail, by how.
        slope: how much longer a call takes for each other one in a slot.
    """

    shares: Mapping[Fault, float] = {}
    slope: float = 0.0


SERVERS = {
    "no faults": Server(),
    "a tenth hangs": Server({Fault.HANG: 0.1}),
    "a fifth hangs": Server({Fault.HANG: 0.2}),
    "a tenth is refused": Server({Fault.BUSY: 0.1}),
    "each other call makes it 30% slower": Server(slope=0.3),
}


class Call(NamedTuple):
    """A call under way.

    Args:
        number: from 1, in the order of the calls.
        begun: the time at which it was made.
        in_flight: calls under way then, itself included.
    """

    number: int
    begun: float
    in_flight: int


class Simulation:
    """Calls to a simulated server, as many at once as a limit allows.

    Args:
        limit: the limit, which learns from each call.
        server: the server's kind.
        slots: calls that the server works on at once.
        seed: of latencies and faults.
    """

    def __init__(self, limit: ConcurrencyLimit, server: Server, slots: int, seed: int) -> None:
        self._limit, self._slots = limit, slots
        self._latency = Latency(mean_s=MEAN_S, p99_s=P99_S, slope=server.slope, seed=seed)
        self._plan, self._faults = FaultPlan(shares=server.shares, seed=seed), FaultPlayer()
        self._now, self._made, self._in_flight, self._busy = 0.0, 0, 0, 0
        self._queue: deque[Call] = deque()
        self._ends: list[tuple[float, Call, str | None]] = []

    def time_for(self, answers: int) -> float:
        """Return the seconds until so many calls are answered."""
        answered = 0
        while answered < answers:
            while self._in_flight < self._limit.limit:
                self._make_call()
            self._now, call, reason = heapq.heappop(self._ends)
            self._in_flight -= 1
            if reason is None:
                answered += 1
                self._busy -= 1
                if self._queue:
                    self._work(self._queue.popleft())
            self._limit.ended(reason, call.in_flight, call.begun, self._now)
        return self._now

    def _make_call(self) -> None:
        self._made += 1
        self._in_flight += 1
        call = Call(self._made, self._now, self._in_flight)
        fault = self._faults.next(self._plan, call.number)
        if fault is Fault.HANG:
            heapq.heappush(self._ends, (self._now + TIMEOUT_S, call, "timeout"))
        elif fault is Fault.BUSY:
            heapq.heappush(self._ends, (self._now + REFUSAL_S, call, "overloaded"))
        elif self._busy < self._slots:
            self._work(call)
        else:
            self._queue.append(call)

    def _work(self, call: Call) -> None:
        took_s = self._latency.seconds(call.number, self._busy)
        self._busy += 1
        heapq.heappush(self._ends, (self._now + took_s, call, None))


def typical_s(limit: Callable[[], ConcurrencyLimit], server: Server, slots: int, answers: int, seeds: range) -> float:
    """Return the median time for so many answers."""
    return median(Simulation(limit(), server, slots, seed).time_for(answers) for seed in seeds)


def ratio(server: Server, slots: int, answers: int, seeds: range) -> float:
    """Return the time with the adaptive limit over that with the best fixed one."""
    fixed = (typical_s(partial(FixedLimit, most), server, slots, answers, seeds) for most in {*FIXED, slots})
    return typical_s(partial(AdaptiveLimit, MOST), server, slots, answers, seeds) / min(fixed)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, nargs="+", default=[1_000, 10_000], metavar="N")
    parser.add_argument("--slots", type=int, nargs="+", default=[1, 4, 16, 64], metavar="N")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="servers of each kind")
    options = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    print(
        f"| {' / '.join(f'{each:,}' for each in options.answers)} answers | "
        + " | ".join(f"slots: {each}" for each in options.slots)
        + " |"
    )
    print("|---" * (1 + len(options.slots)) + "|")
    for name, server in SERVERS.items():
        cells = [
            " / ".join(f"{ratio(server, slots, answers, seeds):.2f}" for answers in options.answers)
            for slots in options.slots
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

"""The times of 200 random moves on the page of `prism play`, from the asking to the answer, and what they leave behind.

    python -m benchmarks.play                 1,000 people, 50 rounds
    python -m benchmarks.play 20000 20 50     20,000 people, 20 rounds, 50 moves

A time is on the clock: the machine should be quiet. The memory is that of the process that serves the page.
"""

from __future__ import annotations

import random
import resource
import sys
from contextlib import closing
from multiprocessing import active_children
from time import perf_counter, sleep

from actors.playground.app import PlaySite
from actors.playground.place import begun
from actors.playground.session import Session
from prism.config import load_config

CHANGED = ("population.ambiguity", "feed.out_of_network", "feed.size", "population.activity.mean", "simulation.seed")


def answered(session: Session) -> None:
    """Wait for the answer of the last move."""
    while not any(event.kind in {"answer", "failed"} for event in session.events(0)):
        sleep(0.001)


def main() -> None:
    people, rounds, moves = (int(given) for given in [*sys.argv[1:], "1000", "50", "200"][:3])
    draw, times = random.Random(1), list[float]()
    called = perf_counter()
    config = load_config(overrides={"population.size": people, "simulation.rounds": rounds})
    with begun() as place, closing(PlaySite(config, "benchmark", place)) as site:
        session = site._sessions[site.open({})["page"]]  # noqa: SLF001  # as a page opens
        answered(session)
        print(f"first answer {perf_counter() - called:.2f} s after the call")
        for move in range(1, moves + 1):
            path = draw.choice(CHANGED)
            control = site.controls.all[path]
            steps = draw.randint(1, int((control.high - control.low) / control.step))
            value = control.low + control.step * steps
            began = perf_counter()
            session.move({path: int(value) if control.kind == "whole" else min(value, control.high)}, move, 1)
            answered(session)
            times.append(perf_counter() - began)
    times.sort()
    print(f"{moves} moves of {people:,} people and {rounds} rounds:")
    print(
        f"median {times[len(times) // 2]:.2f} s, 95% {times[int(0.95 * len(times))]:.2f} s, longest {times[-1]:.2f} s"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the server {peak:.0f} MB; processes left {len(active_children())}")


if __name__ == "__main__":
    main()

"""The times of 200 random moves on the page of `prism play`, from the asking to the answer, and what they leave behind.

    python -m benchmarks.play                 1,000 people, 50 rounds
    python -m benchmarks.play 20000 20 50     20,000 people, 20 rounds, 50 moves

A time is on the clock: the machine should be quiet. The memory is that of the process that serves the page.
"""

from __future__ import annotations

import asyncio
import random
import resource
import sys
from contextlib import closing
from multiprocessing import active_children
from time import perf_counter, sleep
from typing import Any

from starlette.responses import StreamingResponse

from actors.playground.app import Move, PlaySite
from actors.playground.place import begun
from prism.config import load_config

CHANGED = ("population.ambiguity", "feed.out_of_network", "feed.size", "population.activity.mean", "simulation.seed")


async def answer_s(site: PlaySite, changes: dict[str, Any]) -> float:
    """Return the seconds from a move to its answer. The rest is not read, as if another move came."""
    began = perf_counter()
    answer = site.move(Move(changes=changes, shows=True))
    assert isinstance(answer, StreamingResponse)
    async for line in answer.body_iterator:
        if '"kind":"step"' not in str(line):
            break
    return perf_counter() - began


def main() -> None:
    people, rounds, moves = (int(given) for given in [*sys.argv[1:], "1000", "50", "200"][:3])
    draw, times = random.Random(1), list[float]()
    called = perf_counter()
    config = load_config(overrides={"population.size": people, "simulation.rounds": rounds})
    with begun() as place, closing(PlaySite(config, "benchmark", place)) as site:
        asyncio.run(answer_s(site, {}))
        print(f"first answer {perf_counter() - called:.2f} s after the call")
        for _ in range(moves):
            control = site.controls.all[draw.choice(CHANGED)]
            steps = draw.randint(1, int((control.high - control.low) / control.step))
            value = control.low + control.step * steps
            value = int(value) if control.kind == "whole" else min(value, control.high)
            times.append(asyncio.run(answer_s(site, {control.path: value})))
            while len(site._pools) > 0:  # noqa: SLF001  # wait until the processes of this move have ended
                sleep(0.001)
    times.sort()
    print(f"{moves} moves of {people:,} people and {rounds} rounds:")
    print(
        f"median {times[len(times) // 2]:.2f} s, 95% {times[int(0.95 * len(times))]:.2f} s, longest {times[-1]:.2f} s"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the server {peak:.0f} MB; processes left {len(active_children())}")


if __name__ == "__main__":
    main()

"""The use of the slots of a small model server by a social run, by lookahead: in real time, and without any overhead.

500 people, 5 rounds, and a server with 4 slots whose calls take log-normal time, mean 0.3 s, 99th percentile 1.2 s. The
first column is measured over a real socket, from the begin of the first call to the end of the last. The second is the
same run in virtual time, where nothing but the calls takes time: what is missing there is the wait of the clock, for
an answer that is due, while there are fewer open questions than slots. No faster program could use more at that
lookahead. The difference between the columns is the overhead: HTTP, the client, and the ticks themselves.

    python -m benchmarks.slots [--people 500] [--rounds 5] [--lookaheads 0 2 4 8]
"""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import anyio
import structlog

from actors.factory.domains import build_domain
from actors.factory.oracle_backends import open_oracle
from actors.runtime.simulation import Simulation
from actors.testing.virtual_time import VirtualTimeLoop
from prism.config import Config
from prism.rng import normal
from prism.statechart import AgentState, Oracle
from tests.standin import Latency, ModelServer, ServerSettings

SLOTS = 4
MEAN_S, P99_S = 0.3, 1.2
Z99 = 2.3263478740408408
SIGMA = Z99 - math.sqrt(Z99**2 - 2 * math.log(P99_S / MEAN_S))
"""The spread of the log-normal law with this mean and 99th percentile."""


class Use(NamedTuple):
    """A run's use of the slots: the number of calls, the seconds from first to last, and the share that was busy."""

    calls: int
    wall_s: float
    share: float


class Timed(Oracle[AgentState]):
    """An embedded oracle whose answers take the time of a call, drawn for the agent and tick."""

    def __init__(self, embedded: Oracle[AgentState]) -> None:
        self._embedded = embedded
        self.calls = 0
        self.busy_s = 0.0
        self.begun_s = math.inf
        self.ended_s = 0.0

    async def ask(
        self, agent: Any, current_state: AgentState, trigger: str, options: Sequence[AgentState], context: Any = None
    ) -> AgentState:
        """Return the embedded oracle's answer, after the drawn time."""
        z = normal(0, agent.agent_id, agent.tick, 1)
        takes_s = MEAN_S * math.exp(SIGMA * z - SIGMA**2 / 2)
        self.begun_s = min(self.begun_s, anyio.current_time())
        await anyio.sleep(takes_s)
        self.calls += 1
        self.busy_s += takes_s
        self.ended_s = anyio.current_time()
        return await self._embedded.ask(agent, current_state, trigger, options, context)


def settings(people: int, rounds: int, lookahead: int, host: str = "http://unused") -> Config:
    """Return the run's configuration."""
    return Config(
        simulation={"rounds": rounds, "ticks_per_round": 24, "seed": 7},  # type: ignore[arg-type]
        population={"size": people, "ambiguity": 0.2, "deliberation_minutes": float(lookahead)},  # type: ignore[arg-type]
        oracle={  # type: ignore[arg-type]
            "backend": "ollama",
            "max_concurrency": SLOTS,
            "deadline_s": 3600.0,
        },
        llm={"host": host},  # type: ignore[arg-type]
    )


def in_real_time(people: int, rounds: int, lookahead: int) -> Use:
    """Return the use of a server behind a socket."""
    latency = Latency(mean_s=MEAN_S, p99_s=P99_S)
    with ModelServer() as server:
        config = settings(people, rounds, lookahead, server.url)
        domain = build_domain(config).domain

        async def run() -> int:
            async with open_oracle(config, domain.oracle, None) as opened:
                server.settings = ServerSettings(slots=SLOTS, latency=latency)
                before = len(server.calls)
                await Simulation(config, domain, opened.oracle).run()
            return before

        before = anyio.run(run)
        calls = [(call.started_s, call.ended_s) for call in server.calls[before:] if call.ended_s is not None]
    wall_s = max(ended for _, ended in calls) - min(begun for begun, _ in calls)
    busy_s = sum(ended - begun for begun, ended in calls)
    return Use(len(calls), wall_s, busy_s / (SLOTS * wall_s))


def without_overhead(people: int, rounds: int, lookahead: int) -> Use:
    """Return the use if nothing but the calls took time."""
    config = settings(people, rounds, lookahead)
    domain = build_domain(config).domain
    oracle = Timed(domain.oracle())
    anyio.run(Simulation(config, domain, oracle).run, backend_options={"loop_factory": VirtualTimeLoop})
    wall_s = oracle.ended_s - oracle.begun_s
    return Use(oracle.calls, wall_s, oracle.busy_s / (SLOTS * wall_s))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lookaheads", type=int, nargs="+", default=[0, 2, 4, 8])
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    print("| ticks k | calls | seconds | use | calls | use, only the calls take time |")
    print("|---|---|---|---|---|---|")
    for lookahead in options.lookaheads:
        real = in_real_time(options.people, options.rounds, lookahead)
        least = without_overhead(options.people, options.rounds, lookahead)
        measured = f"{real.calls} | {real.wall_s:.0f} | {real.share:.0%}"
        print(f"| {lookahead} | {measured} | {least.calls} | {least.share:.0%} |", flush=True)


if __name__ == "__main__":
    main()

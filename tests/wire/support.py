"""Whole runs against a server on a real socket, and checks that nothing is left open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
import msgspec

from actors.factory.domains import build_domain
from actors.factory.oracle_backends import open_oracle
from actors.runs.summary import Summary, summarise
from actors.runtime.simulation import Simulation
from prism.config import Config
from tests.patience import HANG_S
from tests.standin import ModelServer

AGENTS = 500

PEOPLE: dict[str, dict[str, Any]] = {
    "simulation": {"rounds": 3, "ticks_per_round": 24, "seed": 7},
    "population": {"size": AGENTS, "ambiguity": 0.2, "activity": {"mean": 0.9, "sigma": 0.1}},
    "feed": {"size": 1},
}
"""Five hundred lively people, one post in a session: the last decision comes long before the round ends."""

FALLS_BACK = {"on_outage": "fallback", "max_attempts": 1}
"""Settings of an oracle that asks nothing twice, and whose questions are fallbacks while the server is away."""

Hook = Callable[[Simulation], None]


def settings(host: str, **sections: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the sections of a run of `PEOPLE` that asks the server, with these settings over its own."""
    own: dict[str, dict[str, Any]] = {
        **PEOPLE,
        "oracle": {"backend": "ollama", "max_concurrency": 16},
        "llm": {"host": host, "timeout_s": HANG_S},
    }
    return {name: {**own.get(name, {}), **sections.get(name, {})} for name in own.keys() | sections.keys()}


def config(host: str, **sections: dict[str, Any]) -> Config:
    """Return the configuration of `settings`."""
    return msgspec.convert(settings(host, **sections), Config)


def nothing(_: Simulation) -> None:
    """Do nothing."""


async def run(chosen: Config, directory: Path, *, ready: Hook = nothing, on_tick: Hook = nothing) -> Summary:
    """Return the summary of a run that has ended and closed its oracle.

    Args:
        ready: called when the oracle is open and nothing has been asked.
        on_tick: called after each tick.
    """
    domain = build_domain(chosen).domain
    begun = perf_counter()
    async with open_oracle(chosen, domain, directory) as opened:
        simulation = Simulation(chosen, domain, opened.oracle)
        ready(simulation)
        await simulation.run(lambda _: on_tick(simulation))
    return summarise(simulation, perf_counter() - begun)


def open_files() -> int:
    """Return the number of open file descriptors of this process, sockets included."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def disconnected(server: ModelServer, within_s: float = HANG_S) -> bool:
    """Return whether the server has no connection left. It has a thread of its own, so it may see that a bit later."""
    with anyio.move_on_after(within_s):
        while server.statistics().open_connections:  # noqa: ASYNC110 - in another thread there is no event to wait for
            await anyio.sleep(0.005)
    return server.statistics().open_connections == 0

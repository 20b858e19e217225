"""Whole runs against a server on a real socket, and checks that nothing is left open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from actors.factory.domains import build_domain
from actors.factory.oracle_backends import open_oracle
from actors.runs.summary import Summary, summarise
from actors.runtime.simulation import Simulation
from prism.config import Config
from tests.patience import HANG_S
from tests.plain import plain

AGENTS = 500

PEOPLE: dict[str, dict[str, Any]] = plain(
    {
        "simulation": {"rounds": 3, "ticks_per_round": 24, "seed": 7},
        "population": {"size": AGENTS, "ambiguity": 0.2, "activity": {"mean": 0.9, "sigma": 0.1}},
        "feed": {"size": 1},
    }
)
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

"""Whole runs against a server on a real socket: their settings, their end, and what they leave."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import yaml

from actors.factory.domains import build_domain
from actors.factory.oracle_backends import open_oracle
from actors.runs.summary import Summary, summarise
from actors.runtime.simulation import Simulation
from prism.config import Config
from tests.patience import HANG_S
from tests.plain import plain

Sections = dict[str, Any]
PEOPLE: Sections = plain(
    {
        "simulation": {"rounds": 3, "ticks_per_round": 24, "seed": 7},
        "population": {"size": 500, "ambiguity": 0.2, "activity": {"mean": 0.9, "sigma": 0.1}},
        "feed": {"size": 1},
    }
)
"""Five hundred lively people, one post in a session: the last decision comes long before the round ends."""
ECONOMY: Sections = {
    "simulation": {"domain": "economy", "rounds": 4, "ticks_per_round": 1, "seed": 5, "tick_seconds": 7889400},
    "llm": {"num_ctx": 4096},
}
CHAT: Sections = {"systemone": "off"}
CHECKS = 2
"""The calls that the check of a server makes, before anything of a domain is asked."""

Hook = Callable[[Simulation], None]


def over(*sections: Sections) -> Sections:
    """Return sections over each other."""
    found: Sections = {}
    for each in sections:
        for name, values in each.items():
            found[name] = {**found.get(name, {}), **values}
    return found


def asking(host: str) -> Sections:
    """Return the sections that ask a server."""
    return {"oracle": {"backend": "ollama"}, "llm": {"host": host, "timeout_s": HANG_S}}


def settings(host: str, **sections: dict[str, Any]) -> Sections:
    """Return the sections of a run of `PEOPLE` that asks the server, with these settings over its own."""
    return over(PEOPLE, asking(host), {"oracle": {"max_concurrency": 16}}, sections)


def write(sections: Sections, name: str = "wire.yaml") -> str:
    """Write a configuration into the working directory, and return its name."""
    Path(name).write_text(yaml.safe_dump(sections, sort_keys=False))
    return name


def configure(host: str, **sections: dict[str, Any]) -> str:
    """Write the configuration of `settings`, and return its name."""
    return write(settings(host, **sections))


def config(host: str, **sections: dict[str, Any]) -> Config:
    """Return the configuration of `settings`."""
    return msgspec.convert(settings(host, **sections), Config)


def summary(run: str | Path = "run") -> dict[str, Any]:
    """Return the summary of a run in the working directory."""
    found: dict[str, Any] = json.loads(Path(run, "summary.json").read_text())
    return found


def from_tape(run: str) -> tuple[str, ...]:
    """Return the options of a run that is answered by the tape of another."""
    return "--set", "oracle.tape=replay", "--set", f"oracle.tape_path={run}/tape.sqlite"


async def run(
    chosen: Config, directory: Path, *, ready: Hook = lambda _: None, on_tick: Hook = lambda _: None
) -> Summary:
    """Return the summary of a run that has ended and closed its oracle.

    Args:
        ready: called when the oracle is open and nothing has been asked.
        on_tick: called after each tick.
    """
    domain = build_domain(chosen).domain
    async with open_oracle(chosen, domain.oracle, directory) as opened:
        simulation = Simulation(chosen, domain, opened.oracle)
        ready(simulation)
        await simulation.run(lambda _: on_tick(simulation))
    return summarise(simulation, 1.0)

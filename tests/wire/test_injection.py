"""Instructions in posts and profiles, and a model that obeys whatever stands outside of quoted data.

Posts and profiles are quoted in a prompt, so neither moves anybody.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.factory.oracle_backends import open_oracle
from actors.runs.summary import Summary, summarise
from actors.runtime.simulation import Simulation
from prism.agents import Update
from prism.agents.waves import Updates
from prism.config import Config
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.social.world import SocialWorld
from tests.standin import ModelServer, ServerSettings
from tests.wire.hostile import ObedientModel, with_hostile_people, write_hostile_post
from tests.wire.support import config

LIVELY: dict[str, dict[str, Any]] = {
    "simulation": {"rounds": 2},
    "population": {"posts_per_session": 0.8, "graph": {"degree": 4}},
    "feed": {"size": 2},
    "oracle": {"backend": "ollama", "max_concurrency": 16},
    "llm": {"systemone": "off", "num_predict": 20_000, "num_ctx": 8192, "timeout_s": 10.0, "memory": 5},
}


Turns = dict[int, list[Update[str]]]
"""`{agent: what it did, in order}`."""


class WitnessedWorld(SocialWorld):
    """A world that remembers every committed turn of everybody."""

    def __init__(self, chosen: Config, domain: SocialDomain) -> None:
        super().__init__(chosen, domain.population)
        self.turns: Turns = {agent: [] for agent in range(domain.size)}

    def apply_all(self, updates: Updates) -> None:
        for update in updates:
            self.turns[update.agent].append(update)
        super().apply_all(updates)


async def witness(model: ObedientModel, *, hostile_people: bool = False) -> tuple[Summary, Turns]:
    """The summary of a run with this model, and everybody's turns."""
    with ModelServer(ServerSettings()) as server:
        chosen = config(server.url, **LIVELY)
        population = build_population(chosen.population, chosen.simulation.seed)
        domain = SocialDomain(chosen, with_hostile_people(population) if hostile_people else population)
        world = domain.world = WitnessedWorld(chosen, domain)
        async with open_oracle(chosen, domain, Path()) as opened:
            server.settings = ServerSettings(reply=model)
            simulation = Simulation(chosen, domain, opened.oracle)
            await simulation.run()
    return summarise(simulation, 0.0), world.turns


@pytest.mark.slow
async def test_hostile_posts_and_profiles_change_no_turn_of_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    _, before = await witness(ObedientModel())
    monkeypatch.setattr("prism.social.network.write_post", write_hostile_post)
    model = ObedientModel()
    summary, turns = await witness(model, hostile_people=True)
    assert (summary.status, summary.fallbacks_by_reason) == ("done", {})
    assert sum(read.is_hostile for read in model.read) > 50, "the posts were read"
    assert sum(read.is_hostile_person for read in model.read) > 5, "and the profiles"
    assert [read for read in model.read if read.obeyed] == []
    assert turns == before
    assert sum(map(len, turns.values())) > 100

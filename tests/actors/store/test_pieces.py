"""The pieces in which a large world is copied: the event loop gets its turn between two of them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from prism.columns import Rows, places_in_lists
from prism.config import Config, PopulationConfig, SimulationConfig
from prism.config.interventions import PublishConfig
from prism.social.domain import SocialDomain
from prism.social.people.persona import Persona
from prism.social.people.population import Population
from prism.social.tables import SEES_POST
from prism.social.ties.graph import FollowGraph
from prism.statechart import AgentState

PEOPLE = 200_000
PIECE_MAX_BYTES = 6_000_000
"""What one piece may take beside the world: a few arrays of a part of the people, or one of all of them."""


def crowd(size: int) -> SocialDomain:
    """Return a social world in the middle of a round, with people who are all alike: only their number matters here."""
    persona = Persona(name="Ada Example", interests=("science",), personality="curious, warm and calm")
    people = np.arange(size)
    graph = FollowGraph(size, people, (people + 1) % size)
    config = Config(population=PopulationConfig(size=size), simulation=SimulationConfig(rounds=10))
    domain = SocialDomain(config, Population(personas=(persona,) * size, graph=graph))
    world, network = domain.world, domain.world.network
    for author in range(0, size, 20):
        network.publish_from_outside(author, 12, PublishConfig(author=author, text="A post.", topics=("science",)))
    posts = len(network.living)
    first = people % (posts - 32)
    for ring, lengths in (("timeline", people % 16), ("seen", people % 32)):  # as after a day
        owners = np.repeat(people, lengths)
        network.state.fill(ring, Rows(people, lengths, first[owners] + places_in_lists(lengths)))
    looking, table, feed = people[::3], world.people, network.state.t.feed
    feed[looking, :4] = first[looking, None] + np.arange(4)
    table["shown"][looking] = table["left"][looking] = looking % 5
    table["state"][looking] = list(AgentState).index(AgentState.SCROLLING)
    table["current"][looking], table["session_round"][looking] = first[looking], 0
    table["entered"][looking] = table["came"][looking] = 12
    world.network.state.t.due[looking], table["next"][looking] = 13, SEES_POST
    return domain


@pytest.mark.slow
def test_no_piece_of_a_checkpoint_looks_at_everybody() -> None:
    columns = crowd(PEOPLE).world.columns()
    taken: dict[str, int] = {}
    tracemalloc.start()
    try:
        while True:
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            column = next(columns, None)
            _, most = tracemalloc.get_traced_memory()
            if column is None:
                break
            taken[column.name] = max(taken.get(column.name, 0), most - before)
    finally:
        tracemalloc.stop()
    assert {name: size for name, size in taken.items() if size > PIECE_MAX_BYTES} == {}
    assert {"state", "sessions", "current", "timeline", "seen", "next"} <= taken.keys()

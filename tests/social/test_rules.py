"""The classical rules that come with PRISM, `configs/rules`: what is known of them holds for the charts."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from actors.factory.config_file import read_config
from actors.factory.domains import load_chart
from actors.runtime.simulation import Simulation
from prism.columns import Floats
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.social.ties.graph import FollowGraph
from tests.catalogue import catalogue
from tests.paths import ROOT
from tests.tiers import Size

pytestmark = pytest.mark.usefixtures("logged")

Settings = dict[str, object]  # settings of a run by their dotted names, with `__` for a dot
PRECISION = 1e-12  # the rounding of sums of numbers up to 1 in another order


class Rounds(NamedTuple):
    """A run by a rule: the values of everybody before it and after each round, and the attributes that were drawn."""

    values: list[NDArray[Any]]
    graph: FollowGraph
    drawn: list[Any]

    def weights(self, *, with_self: bool) -> Floats:
        """Return W: equal weights of those whom each person follows, and perhaps of the person."""
        size = self.graph.size
        weights = np.eye(size) * with_self
        for person in range(size):
            weights[person, self.graph.following(person)] = 1.0
        shares: Floats = weights / weights.sum(axis=1, keepdims=True)
        return shares


async def run_by(rule: str, name: str, **settings: object) -> Rounds:
    """Return a run of a shipped configuration by the chart of a rule, with these settings, looking at an attribute."""
    given = {key.replace("__", "."): value for key, value in settings.items()}
    chart = {"statechart.file": str(ROOT / "configs" / "rules" / f"{rule}.yaml"), "run.activation": "compiled"}
    path = ROOT / "configs" / ("contagion.yaml" if rule == "contagion" else "opinions.yaml")
    config = read_config(path, {**chart, **given}, environment={})
    people = build_population(config.population, config.simulation.seed)
    simulation = Simulation(config, SocialDomain(config, people, load_chart(config).behaviour))
    world: Any = simulation.domain.world
    values = [world.changing.column(f"agent.{name}")]

    async def look() -> None:
        if simulation.engine.tick % config.simulation.ticks_per_round == 0:
            values.append(world.changing.column(f"agent.{name}"))

    await simulation.run(between=look)
    return Rounds(values, people.graph, [each.attributes for each in people.personas])


def everybody(people: int, **settings: object) -> Settings:
    """Return the settings of people who all follow, and read, each other."""
    return reading(people - 1, population__size=people, population__graph__degree=people - 1, **settings)


def reading(posts: int, **settings: object) -> Settings:
    """Return the settings of people who read so many posts in a round."""
    return {"feed__size": posts, "simulation__ticks_per_round": posts + 4, **settings}


# DeGroot, of 1974: consensus

RING: Settings = {"population__size": 10, "population__graph__degree": 4}
STARS: Settings = {"population__size": 12, "population__graph__kind": "barabasi_albert", "population__graph__degree": 4}


def islands(number: int, people: int) -> Settings:
    """Return the settings of so many groups of so many people, who follow all of their group and nobody else."""
    graph = {"kind": "stochastic_block", "blocks": number, "degree": people - 1, "mixing": 0}
    return {"population__size": number * people, **{f"population__graph__{key}": value for key, value in graph.items()}}


async def test_each_round_of_degroot_is_a_product_with_the_matrix_of_weights() -> None:
    run = await run_by("degroot", "opinion", **reading(11, **STARS, simulation__rounds=3))
    weights = run.weights(with_self=True)
    assert len(run.values) == 4
    for before, after in pairwise(run.values):
        np.testing.assert_allclose(after, weights @ before, atol=PRECISION)


# Hegselmann and Krause, of 2002: bounded confidence, all at once


async def test_each_round_of_hegselmann_and_krause_is_the_mean_of_all_who_are_near() -> None:
    run = await run_by("hegselmann-krause", "opinion", **everybody(15, simulation__rounds=4))
    for before, after in pairwise(run.values):
        near = np.abs(before[:, None] - before) <= 0.2
        np.testing.assert_allclose(after, (near @ before) / near.sum(axis=1), atol=PRECISION)


# Deffuant and others, of 2000: bounded confidence, one at a time


async def test_who_reads_moves_half_of_the_way_to_an_author_who_is_near() -> None:
    """Two people who read each other meet as in the textbook."""
    settings = reading(1, **islands(10, 2), simulation__rounds=1, population__attributes__bound__default=0.4)
    run = await run_by("deffuant", "opinion", **settings)
    before, after = run.values
    partner = np.array([run.graph.following(person)[0] for person in range(20)])
    near = np.abs(before - before[partner]) < 0.4
    assert 0 < near.sum() < 20
    np.testing.assert_allclose(after, np.where(near, (before + before[partner]) / 2, before), atol=PRECISION)


# Friedkin and Johnsen, of 1990: stubborn people


async def test_stubborn_people_of_friedkin_and_johnsen_settle_at_the_fixed_point_without_a_consensus() -> None:
    rounds, most = 15, 0.6
    settings: Settings = {"population__attributes__susceptibility__max": most, "simulation__rounds": rounds}
    run = await run_by("friedkin-johnsen", "opinion", **reading(4, **RING, **settings))
    weights, first = run.weights(with_self=False), run.values[0]
    free = np.array([each["susceptibility"] for each in run.drawn])
    for before, after in pairwise(run.values):
        np.testing.assert_allclose(after, free * (weights @ before) + (1 - free) * first, atol=PRECISION)
    fixed = np.linalg.solve(np.eye(10) - free[:, None] * weights, (1 - free) * first)
    # Rows of S W sum to 0.6 at most, so each round brings everybody nearer to the fixed point by that factor or more.
    assert np.abs(run.values[-1] - fixed).max() <= most**rounds
    assert np.ptp(fixed) > 0.2


# The voter model of Clifford and Sudbury, 1973, and Holley and Liggett, 1975


async def test_islands_of_voters_end_in_one_camp_which_wins_with_its_first_share(size: Size) -> None:
    number, people = size(100, everyday=12), 4
    settings = reading(people - 1, **islands(number, people), simulation__rounds=12)
    run = await run_by("voter", "camp", **settings)
    firsts = [min(person, int(run.graph.following(person).min())) for person in range(run.graph.size)]
    island = np.unique(firsts, return_inverse=True)[1]
    assert np.bincount(island).tolist() == [people] * number
    before, after = (np.bincount(island, weights=run.values[at] == "red") / people for at in (0, -1))
    assert np.isin(after, (0.0, 1.0)).mean() >= 0.99
    # The islands that red wins are a sum of independent draws, given the first shares: 99.9% are within 3.3 sd.
    spread = sqrt(float((before * (1 - before)).sum()))
    assert spread > 0.5
    assert abs(float(after.sum() - before.sum())) <= 3.3 * spread


# Complex contagion, by Centola and Macy, 2007


@catalogue(("rewiring", "needed", "spreads"), [(0, 2, True), (1, 2, False)])
async def test_what_needs_two_people_to_convince_one_spreads_on_a_ring_and_not_on_a_random_graph(
    rewiring: int, needed: int, spreads: bool, size: Size
) -> None:
    people, rounds = (200, 120) if size.is_full else (80, 20)
    settings: Settings = {"simulation__rounds": rounds, "population__size": people, "population__graph__degree": 4}
    settings |= {"population__graph__rewiring": rewiring, "population__attributes__needed__default": needed}
    run = await run_by("contagion", "adopted", **settings)
    adopted = [int(each.sum()) for each in run.values]
    if spreads:
        assert adopted[-1] > (0.95 * people if size.is_full else 0.2 * people)
    else:
        assert adopted[-1] < 0.1 * people

from __future__ import annotations

import pytest
from msgspec import structs

from prism.config.model import GraphConfig, PopulationConfig
from prism.errors import ConfigError
from prism.social.people.population import Population, build_population
from prism.social.people.profiles import Profile
from prism.social.people.synthetic import SyntheticPeople
from prism.social.ties.graph import FollowGraph

FROM_PROFILES = PopulationConfig(graph=GraphConfig(kind="profiles"))


def profile(key: str, *follows: str, self_follows: int = 0) -> Profile:
    return Profile(
        name=key.title(), interests=("tea",), personality="", key=key, follows=follows, self_follows=self_follows
    )


def test_a_generated_population_has_the_configured_size() -> None:
    population = build_population(PopulationConfig(size=40), 1)
    assert population.size == len(population.personas) == population.graph.size == 40
    assert population.name(3) == population.personas[3].name


def test_a_graph_brings_its_own_people() -> None:
    graph = FollowGraph(3, [0], [1], names=["x", "y", "z"])
    population = build_population(PopulationConfig(size=40), 1, graph=graph)
    assert population.size == 3
    assert population.graph is graph


def test_a_graph_overrides_follow_lists() -> None:
    graph = FollowGraph(2, [0], [1])
    config = structs.replace(FROM_PROFILES, join="position")
    population = build_population(config, 1, profiles=(profile("ada"), profile("bo")), graph=graph)
    assert population.graph is graph
    assert population.name(1) == "Bo"


def test_profiles_are_dealt_to_a_generated_graph() -> None:
    config = PopulationConfig(size=40, join="draw")
    population = build_population(config, 1, profiles=(profile("ada"), profile("bo")))
    assert population.size == 40
    assert {persona.interests for persona in population.personas} == {("tea",)}


def test_follow_lists_make_the_graph_and_set_the_size() -> None:
    profiles = (profile("ada", "cy", "bo"), profile("bo", "ada", "ada", self_follows=1), profile("cy"))
    population = build_population(FROM_PROFILES, 1, profiles=profiles)
    graph = population.graph
    assert graph.names == ("ada", "bo", "cy")
    assert [graph.following(person).tolist() for person in range(3)] == [[1, 2], [0], []]
    assert (graph.duplicates, graph.self_loops) == (1, 1)
    assert [population.name(person) for person in range(3)] == ["Ada", "Bo", "Cy"]


def test_the_same_seed_builds_the_same_population() -> None:
    first, second = (build_population(PopulationConfig(size=40), 9) for _ in range(2))
    assert first.personas == second.personas
    assert all(first.graph.following(p).tolist() == second.graph.following(p).tolist() for p in range(40))


def test_follow_lists_without_profiles_are_a_config_error() -> None:
    with pytest.raises(ConfigError) as caught:
        build_population(FROM_PROFILES, 1)
    assert str(caught.value) == (
        "configuration: population.graph.kind: `profiles` takes the ties from population.profiles, which is not set"
    )


def test_profiles_in_which_nobody_follows_anyone_are_a_config_error() -> None:
    with pytest.raises(ConfigError) as caught:
        build_population(FROM_PROFILES, 1, profiles=(profile("ada", self_follows=1), profile("bo")))
    assert str(caught.value) == (
        "configuration: population.graph.kind: `profiles` needs follow lists, and nobody follows anyone in "
        "population.profiles"
    )


def test_a_population_has_one_persona_for_each_person() -> None:
    with pytest.raises(ValueError, match=r"^personas: expected one for each of 3 people, got 2$"):
        Population(personas=SyntheticPeople(2, 1, PopulationConfig()), graph=FollowGraph(3, [0], [1]))

from __future__ import annotations

import pytest

from prism.config.model import GraphConfig, PopulationConfig
from prism.errors import ConfigError
from prism.social.people.population import Population, build_population
from prism.social.people.profiles import Profiles, parse_profiles
from prism.social.people.synthetic import SyntheticPeople
from prism.social.ties.graph import FollowGraph

FROM_PROFILES = PopulationConfig(graph=GraphConfig(kind="profiles"))


def profiles(*rows: str) -> Profiles:
    lines = ["user_id,name,following_agentid_list,user_char", *(f"{row},trains" for row in rows)]
    return parse_profiles("\n".join(lines).encode(), "p.csv")


def test_follow_lists_make_the_graph_and_set_the_size() -> None:
    rows = 'ada,Ada,"[cy, bo]"', 'bo,Bo,"[ada, ada, bo]"', "cy,Cy,[]"
    population = build_population(FROM_PROFILES, 1, profiles=profiles(*rows))
    graph = population.graph
    assert graph.names == ("ada", "bo", "cy")
    assert [graph.following(person).tolist() for person in range(3)] == [[1, 2], [0], []]
    assert (graph.duplicates, graph.self_loops) == (1, 1)
    assert [population.name(person) for person in range(3)] == ["Ada", "Bo", "Cy"]


def test_follow_lists_without_profiles_are_a_config_error() -> None:
    with pytest.raises(ConfigError) as caught:
        build_population(FROM_PROFILES, 1)
    assert str(caught.value) == (
        "configuration: population.graph.kind: `profiles` takes the ties from population.profiles, which is not set"
    )


def test_profiles_in_which_nobody_follows_anyone_are_a_config_error() -> None:
    with pytest.raises(ConfigError) as caught:
        build_population(FROM_PROFILES, 1, profiles=profiles("ada,Ada,[ada]", "bo,Bo,[]"))
    assert str(caught.value).startswith(
        "configuration: population.graph.kind: `profiles` needs follow lists, and nobody follows anyone in "
        "population.profiles: p.csv: 2 profiles from"
    )


def test_a_population_has_one_persona_for_each_person() -> None:
    with pytest.raises(ValueError, match=r"^personas: expected one for each of 3 people, got 2$"):
        Population(personas=SyntheticPeople(2, 1, PopulationConfig()), graph=FollowGraph(3, [0], [1]))

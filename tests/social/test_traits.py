"""The five traits: what the words of a personality say, and what they do to choices and intentions."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.agents.social_agent import SocialAgent
from prism.config import ChoiceConfig, Config, PopulationConfig
from prism.config.attributes import TRAITS
from prism.errors import InputError
from prism.social.choice import ChoiceOracle
from prism.social.domain import SocialDomain
from prism.social.people.persona import NEUTRAL, Traits
from prism.social.people.population import build_population
from prism.social.people.profiles import parse_profiles, personas_from_profiles
from prism.statechart import AgentState
from tests.catalogue import catalogue
from tests.social.people import persona, utility, view

LIKE, SCROLLING = AgentState.ENGAGING_LIKE, AgentState.SCROLLING
TRAIT = st.floats(-1.0, 1.0)
ANY_TRAITS = st.builds(Traits, **dict.fromkeys(TRAITS, TRAIT))


@catalogue("value", [1.5, -1.01, math.nan, "high", True])
def test_a_trait_out_of_range_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^openness: expected float -1 to 1, got "):
        Traits(openness=value)


def test_traits_come_from_columns_and_a_blank_one_is_0() -> None:
    config = PopulationConfig(columns={"openness": "O", "extraversion": "E"})  # type: ignore[arg-type]
    table = b"user_id,name,following_agentid_list,user_char,O,E\n1,Ada,[],,0.5,-1\n2,Bo,[],,,1\n"
    ada, bo = personas_from_profiles(parse_profiles(table, "p.csv", config), 7, config)
    assert ada.traits == Traits(openness=0.5, extraversion=-1.0)
    assert bo.traits == Traits(extraversion=1.0)
    assert personas_from_profiles(parse_profiles(table, "p.csv"), 7, PopulationConfig())[0].traits == NEUTRAL
    with pytest.raises(InputError, match=r"^p\.csv:2: O: expected float -1 to 1, got '5'$"):
        parse_profiles(table.replace(b"0.5", b"5"), "p.csv", config)


@given(ANY_TRAITS, st.dictionaries(st.sampled_from(TRAITS), st.floats(-3, 3)))
def test_a_trait_counts_in_every_option_that_engages_by_its_weight(traits: Traits, weights: dict[str, float]) -> None:
    post = view(topic_match=0.5)
    flat = dict.fromkeys(TRAITS, 0.0)
    agent, plain = SocialAgent(persona=persona(traits=traits)), SocialAgent(persona=persona())
    oracle = ChoiceOracle(ChoiceConfig(**{**flat, **weights}), 0)  # type: ignore[arg-type]
    expected = math.fsum(weight * getattr(traits, trait) for trait, weight in weights.items())
    for option in (LIKE, AgentState.ENGAGING_RESHARE, AgentState.COMPOSING, AgentState.ENGAGING_REPLY):
        gained = utility(oracle, agent, option, post) - utility(oracle, plain, option, post)
        assert gained == pytest.approx(expected, abs=1e-9)


def test_people_of_a_trait_intend_what_its_coefficient_says() -> None:
    config = Config(population={"intentions": {"extraversion": {"reply": 2.0}}, "size": 20})  # type: ignore[arg-type]
    domain = SocialDomain(config, build_population(config.population, 1))
    counts: dict[float, Counter[str | None]] = {-1.0: Counter(), 1.0: Counter()}
    for trait, counted in counts.items():
        for tick in range(2000):
            agent = domain.agent(0)
            agent.persona = persona(traits=Traits(extraversion=trait))
            agent.tick = tick
            agent.intend()
            counted[agent.pending_action] += 1
    low, high = counts[-1.0]["reply"] / 2000, counts[1.0]["reply"] / 2000
    reply, others = 0.35, 0.65
    assert low == pytest.approx(reply * math.exp(-2) / (reply * math.exp(-2) + others), abs=0.02)
    assert high == pytest.approx(reply * math.exp(2) / (reply * math.exp(2) + others), abs=0.045)

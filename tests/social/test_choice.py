"""The embedded choice: its probabilities, and the weights of traits and of attributes of one's own."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.agents.social_agent import SocialAgent
from prism.config import ChoiceConfig, PopulationConfig, load_config
from prism.config.attributes import TRAITS
from prism.config.model import ACTIONS, IntentionsConfig
from prism.errors import InputError
from prism.social.choice import ChoiceOracle
from prism.social.people.persona import NEUTRAL, Intentions, Traits
from prism.social.people.profiles import parse_profiles, personas_from_profiles
from prism.social.posts.post import PostView
from prism.statechart import AgentState
from tests.catalogue import catalogue
from tests.config.refusals import refusal
from tests.social.people import chances, person, persona, utility, view

SCROLLING, COMPOSING = AgentState.SCROLLING, AgentState.COMPOSING
LIKE, REPLY, RESHARE = AgentState.ENGAGING_LIKE, AgentState.ENGAGING_REPLY, AgentState.ENGAGING_RESHARE
TORN = [SCROLLING, LIKE, RESHARE, COMPOSING]
CONFIG = ChoiceConfig()
SHARE = st.floats(0.0, 1.0)
VIEWS = st.builds(view, topic_match=SHARE, followed=st.booleans(), popularity=SHARE, fatigue=SHARE)


def oracle(seed: int = 0, **coefficients: Any) -> ChoiceOracle:
    return ChoiceOracle(msgspec.structs.replace(CONFIG, **coefficients), seed)


@given(VIEWS, st.lists(st.sampled_from(AgentState), min_size=1, max_size=8, unique=True), st.floats(0.01, 10.0))
def test_probabilities_are_positive_and_add_up_to_one(post: PostView, options: list[AgentState], scale: float) -> None:
    found = chances(oracle(scale=scale), person(), options, post)
    assert math.fsum(found) == pytest.approx(1.0)
    assert all(0.0 <= each <= 1.0 for each in found)


def test_a_utility_is_the_sum_of_the_module_docstring() -> None:
    post = view(topic_match=0.5, followed=True, popularity=0.4, fatigue=0.2)
    ada = person(persona=persona(activity=0.5))
    shared = 1.0 * 0.5 + 0.4 + 0.4 * 0.5 - 0.6 * 0.2
    assert utility(oracle(), ada, LIKE, post) == pytest.approx(-1.2 + shared + 0.5 * 0.4)
    assert utility(oracle(), ada, RESHARE, post) == pytest.approx(-1.9 + shared + 0.5 * 0.4)
    assert utility(oracle(), ada, COMPOSING, post) == pytest.approx(-1.7 + shared)
    assert utility(oracle(), ada, REPLY, post) == pytest.approx(-1.7 + shared)


def test_without_a_post_only_the_constants_count() -> None:
    assert [utility(oracle(), person(), option, None) for option in TORN] == pytest.approx([0.0, -1.2, -1.9, -1.7])


def test_the_smallest_scale_does_not_overflow() -> None:
    steep = oracle(scale=0.001, like=100.0, topic=100.0, tie=100.0)
    assert chances(steep, person(), TORN, view(topic_match=1.0, followed=True))[1] == pytest.approx(1.0)


STUDY = """\
population:
  attributes:
    ideology: {type: float, min: -1, max: 1}
    age: {type: int, min: 13, max: 99}
    verified: {type: bool, probability: 0.1}
    region: {type: text, values: [north, south]}
oracle:
  choice:
    attributes:
      ideology: 0.3
      verified: 0.5
      region: {north: 0.2}
"""
VALUES = st.fixed_dictionaries(
    {"ideology": st.floats(-1, 1), "verified": st.booleans(), "region": st.sampled_from(["north", "south"])}
)
ANY_TRAITS = st.builds(Traits, **dict.fromkeys(TRAITS, st.floats(-1.0, 1.0)))
WEIGHTS = st.dictionaries(st.sampled_from(TRAITS), st.floats(-3, 3))


@given(VALUES, ANY_TRAITS, WEIGHTS)
def test_an_attribute_or_trait_counts_in_every_option_that_engages_by_its_weight(
    values: dict[str, Any], traits: Traits, weights: dict[str, float]
) -> None:
    coefficients: dict[str, Any] = {**dict.fromkeys(TRAITS, 0.0), **weights}
    weighing = ChoiceOracle(msgspec.structs.replace(load_config(STUDY).oracle.choice, **coefficients), 0)
    somebody = SocialAgent(persona=persona(attributes={**values, "age": 30}, traits=traits))
    expected = 0.3 * values["ideology"] + 0.5 * values["verified"] + (0.2 if values["region"] == "north" else 0.0)
    expected += math.fsum(weight * getattr(traits, trait) for trait, weight in weights.items())
    plain, post = SocialAgent(persona=persona()), view(topic_match=0.5)
    for option in (LIKE, RESHARE, COMPOSING, REPLY):
        gained = utility(weighing, somebody, option, post) - utility(oracle(), plain, option, post)
        assert gained == pytest.approx(expected, abs=1e-9)


def with_weights(text: str) -> str:
    return STUDY.partition("oracle:")[0] + f"oracle: {{choice: {{attributes: {text}}}}}"


PLACE = "c.yaml:7: oracle.choice.attributes"
HAS = "population.attributes has: ideology, age, verified, region"


@catalogue(
    ("text", "message"),
    [
        ("{ideologie: 1}", f".ideologie: no such attribute; did you mean ideology?; {HAS}"),
        ("{openness: 1}", f".openness: no such attribute; did you mean oracle.choice.openness?; {HAS}"),
        ("{age: 101}", ".age: expected float -100 to 100 or mapping of text to float -100 to 100, got 101"),
        ("{age: {a: 1}}", ".age: expected one weight for type int, got a mapping"),
        ("{region: 1}", ".region: expected a weight for each text, as in {north: 0.2}, got 1"),
        ("{region: {nort: 1}}", ".region: expected weights of north, south, got 'nort'"),
        ("{region: {north: .inf}}", ".region.north: expected float -100 to 100, got .inf"),
    ],
)
def test_a_weight_that_does_not_fit_is_refused_by_its_key(text: str, message: str) -> None:
    assert refusal(with_weights(text)) == f"{PLACE}{message}"


def test_traits_come_from_columns_and_a_blank_one_is_0() -> None:
    config = PopulationConfig(columns={"openness": "O", "extraversion": "E"})  # type: ignore[arg-type]
    table = b"user_id,name,following_agentid_list,user_char,O,E\n1,Ada,[],,0.5,-1\n2,Bo,[],,,1\n"
    ada, bo = personas_from_profiles(parse_profiles(table, "p.csv", config), 7, config)
    assert ada.traits == Traits(openness=0.5, extraversion=-1.0)
    assert bo.traits == Traits(extraversion=1.0)
    assert personas_from_profiles(parse_profiles(table, "p.csv"), 7, PopulationConfig())[0].traits == NEUTRAL
    with pytest.raises(InputError, match=r"^p\.csv:2: O: expected float -1 to 1, got '5'$"):
        parse_profiles(table.replace(b"0.5", b"5"), "p.csv", config)


def test_people_of_a_trait_intend_what_its_coefficient_says() -> None:
    config = IntentionsConfig(extraversion={"reply": 2.0})
    plain = Intentions(config).weights(NEUTRAL)
    for trait in (-1.0, 1.0):
        weights = Intentions(config).weights(Traits(extraversion=trait))
        factors = [weight / before for weight, before in zip(weights, plain, strict=True)]
        assert factors == pytest.approx([math.exp(2.0 * trait) if action == "reply" else 1.0 for action in ACTIONS])

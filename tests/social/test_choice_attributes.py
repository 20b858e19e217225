"""The weights of people's own attributes in the embedded oracle: they count as declared, or are refused by name."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.agents.social_agent import SocialAgent
from prism.config import ChoiceConfig, Config, load_config
from prism.errors import SettingError
from prism.social.choice import ChoiceOracle
from prism.statechart import AgentState
from tests.catalogue import catalogue
from tests.config.refusals import refusal
from tests.social.people import persona, utility, view

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
    {
        "ideology": st.floats(-1, 1),
        "age": st.integers(13, 99),
        "verified": st.booleans(),
        "region": st.sampled_from(["north", "south"]),
    }
)


@given(VALUES)
def test_an_attribute_counts_in_every_option_that_engages_by_its_weight(values: dict[str, Any]) -> None:
    oracle = ChoiceOracle(load_config(STUDY).oracle.choice, 0)
    plain = ChoiceOracle(ChoiceConfig(), 0)
    agent, post = SocialAgent(persona=persona(attributes=values)), view(topic_match=0.5)
    expected = 0.3 * values["ideology"] + 0.5 * values["verified"] + (0.2 if values["region"] == "north" else 0.0)
    for option in (AgentState.ENGAGING_LIKE, AgentState.ENGAGING_RESHARE, AgentState.COMPOSING):
        gained = utility(oracle, agent, option, post) - utility(plain, agent, option, post)
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


def test_weights_may_be_numbers_of_other_classes_and_survive_a_round_trip() -> None:
    choice: Any = {"attributes": {"zeal": np.float64(0.5), "n": np.int64(2)}}
    people: Any = {"attributes": {name: {"type": "int", "default": 1} for name in ("zeal", "n")}}
    config = Config(oracle={"choice": choice}, population=people)  # type: ignore[arg-type]
    assert config.oracle.choice.attributes == {"zeal": 0.5, "n": 2.0}
    assert msgspec.json.decode(msgspec.json.encode(config), type=Config) == config
    with pytest.raises(SettingError, match=r"^ChoiceConfig: oracle\.choice\.attributes\.n: expected float"):
        ChoiceConfig(attributes={"n": 10**400})

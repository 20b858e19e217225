"""The values of people's attributes: within their declaration, and each a function of seed, person and name alone."""

from __future__ import annotations

from math import isclose
from statistics import fmean, pstdev
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.config import AttributeConfig, PopulationConfig
from prism.errors import SettingError
from prism.social.people.attributes import draw_attribute
from prism.social.people.persona import Persona
from prism.social.people.synthetic import SyntheticPeople
from tests.catalogue import catalogue

MANY = 4000


def drawn(size: int = MANY, seed: int = 7, **declaration: Any) -> list[Any]:
    declared = AttributeConfig(**declaration)
    return [draw_attribute(agent, seed, "own", declared) for agent in range(size)]


def test_numbers_have_the_mean_and_deviation_asked_for_or_are_uniform_in_their_range() -> None:
    values = drawn(type="float", mean=0.4, sd=0.2)
    assert isclose(fmean(values), 0.4, abs_tol=0.02)
    assert isclose(pstdev(values), 0.2, abs_tol=0.02)
    clipped = drawn(type="int", min=13, max=99, mean=40, sd=30)
    assert {type(value) for value in clipped} == {int}
    assert (min(clipped), max(clipped)) == (13, 99)
    whole = drawn(type="int", min=1, max=4)
    assert sorted(set(whole)) == [1, 2, 3, 4]
    assert all(isclose(whole.count(value) / MANY, 0.25, abs_tol=0.03) for value in (1, 2, 3, 4))
    floats = drawn(type="float", min=-1, max=1)
    assert isclose(fmean(floats), 0.0, abs_tol=0.05)
    assert -1.0 <= min(floats) < -0.99 < 0.99 < max(floats) <= 1.0


def test_texts_are_drawn_by_their_weights_and_a_weight_of_0_never() -> None:
    values = drawn(type="text", values=["north", "south", "sea"], weights=[0.7, 0.3, 0])
    assert isclose(values.count("north") / MANY, 0.7, abs_tol=0.03)
    assert "sea" not in values
    even = drawn(type="text", values=["a", "b"])
    assert isclose(even.count("a") / MANY, 0.5, abs_tol=0.03)


@catalogue(("probability", "share"), [(0.0, 0.0), (0.1, 0.1), (1.0, 1.0)])
def test_a_bool_is_true_with_its_probability(probability: float, share: float) -> None:
    values = drawn(type="bool", probability=probability)
    assert {type(value) for value in values} == {bool}
    assert isclose(values.count(True) / MANY, share, abs_tol=0.02)


def test_an_attribute_that_nothing_gives_is_refused() -> None:
    with pytest.raises(SettingError, match=r"population\.attributes\.own: has no values: expected a column"):
        drawn(type="float", min=3)


_NUMBERS = st.integers(-1000, 1000)
_DECLARATIONS = st.one_of(
    st.builds(
        lambda kind, low, width: {"type": kind, "min": low, "max": low + width},
        st.sampled_from(["int", "float"]),
        _NUMBERS,
        st.integers(0, 100),
    ),
    st.builds(
        lambda kind, mean, sd: {"type": kind, "min": mean - 5, "max": mean + 5, "mean": mean, "sd": sd},
        st.sampled_from(["int", "float"]),
        _NUMBERS,
        st.floats(0, 1e9),
    ),
    st.builds(lambda probability: {"type": "bool", "probability": probability}, st.floats(0, 1)),
    st.builds(
        lambda values: {"type": "text", "values": values}, st.lists(st.sampled_from("abcdef"), min_size=1, unique=True)
    ),
)


@given(st.dictionaries(st.sampled_from(["age", "income", "region", "zeal"]), _DECLARATIONS), st.integers(0, 2**63 - 1))
def test_every_drawn_value_is_one_that_its_declaration_holds(declared: dict[str, Any], seed: int) -> None:
    config = PopulationConfig(attributes=declared)
    for persona in SyntheticPeople(5, seed, config):
        assert list(persona.attributes) == list(declared)
        assert all(config.attributes[name].holds(value) for name, value in persona.attributes.items())


def test_a_persona_with_attributes_goes_through_json_and_can_be_hashed() -> None:
    ada = Persona(name="Ada", interests=(), personality="", attributes={"age": 30, "ok": True, "x": 0.5, "r": "north"})
    again = msgspec.json.decode(msgspec.json.encode(ada), type=Persona)
    assert again == ada
    assert hash(again) == hash(ada)
    assert [type(value) for value in again.attributes.values()] == [int, bool, float, str]

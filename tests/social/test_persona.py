"""Synthetic people, and the values of their attributes."""

import math
from math import isclose
from statistics import fmean, pstdev
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.config import AttributeConfig
from prism.config.model import ActivityConfig, PopulationConfig
from prism.errors import SettingError
from prism.rng import Draw, integer, normal, pick, uniform
from prism.social.people.people import SyntheticPeople
from prism.social.people.persona import (
    FIRST_NAMES,
    LAST_NAMES,
    PERSONALITIES,
    TRAITS_OF,
    Persona,
    activity_scale,
    draw_attribute,
    unique_names,
)
from tests.catalogue import catalogue
from tests.social.people import persona


@catalogue(
    ("changes", "message"),
    [
        ({"name": " "}, "name: expected a text that is not empty, got ' '"),
        ({"activity": 1.5}, "activity: expected float 0 to 1, got 1.5"),
        ({"activity": float("nan")}, "activity: expected float 0 to 1, got .nan"),
        ({"low_threshold": 0.6}, "low_threshold: expected at most engagement_threshold (0.5), got 0.6"),
        ({"high_threshold": 0.4}, "high_threshold: expected at least engagement_threshold (0.5), got 0.4"),
    ],
)
def test_a_value_out_of_range_is_an_error_that_names_it(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        persona(**changes)
    assert str(caught.value) == message


@catalogue(
    ("mean", "sigma", "least"),
    [(0.32, 0.9, 0.01), (0.95, 1.5, 0.01), (0.6, 3.0, 0.0)],
)
def test_the_mean_of_activity_over_people_is_the_configured_one(mean: float, sigma: float, least: float) -> None:
    activity = ActivityConfig(mean=mean, sigma=sigma, least=least)
    values = SyntheticPeople(100_000, 3, PopulationConfig(activity=activity)).activity
    assert values.mean() == pytest.approx(mean, abs=0.003 * mean + 4 * values.std() / math.sqrt(len(values)))
    assert least <= values.min() < values.max() <= 1.0


@given(st.lists(st.sampled_from(["Ann", "Ann 2", "Ann 2 2", "Bo"])))
def test_numbered_names_never_collide_with_names_that_end_in_a_number(names: list[str]) -> None:
    assert len(set(unique_names(names))) == len(names)


def drawn_alone(person: int, seed: int, config: PopulationConfig) -> dict[str, Any]:
    """Return what is drawn for a person, one draw after the other; the name without a number."""
    first = FIRST_NAMES[integer(len(FIRST_NAMES), seed, person, 0, Draw.NAME, 0)]
    topics, interests = [*dict.fromkeys(config.topics)], list[str]()
    weights = [1.0 / rank**config.interests_exponent for rank in range(1, len(topics) + 1)]
    for index in range(min(config.interests_per_person, len(topics))):
        place = pick(weights, uniform(seed, person, 0, Draw.INTERESTS, index))
        interests.append(topics.pop(place))
        del weights[place]
    drawn, personality = config.activity, integer(len(PERSONALITIES), seed, person, 0, Draw.PERSONALITY)
    scale = activity_scale(drawn.mean, drawn.sigma, drawn.least)
    activity = scale * math.exp(drawn.sigma * normal(seed, person, 0, Draw.ACTIVITY) - drawn.sigma**2 / 2.0)
    middle = config.engagement_threshold + config.threshold_spread * normal(seed, person, 0, Draw.THRESHOLD)
    middle = min(max(middle, 0.0), 1.0)
    return {
        "name": f"{first} {LAST_NAMES[integer(len(LAST_NAMES), seed, person, 0, Draw.NAME, 1)]}",
        "interests": tuple(interests),
        "personality": PERSONALITIES[personality],
        "engagement_threshold": middle,
        "low_threshold": max(middle - config.ambiguity / 2.0, 0.0),
        "high_threshold": min(middle + config.ambiguity / 2.0, 1.0),
        "activity": min(max(activity, drawn.least), 1.0),
        "traits": TRAITS_OF[PERSONALITIES[personality]],
        "attributes": {name: draw_attribute(person, seed, name, each) for name, each in config.attributes.items()},
    }


@catalogue(
    ("seed", "settings"),
    [
        (42, {}),
        (7, {"interests_per_person": 1, "interests_exponent": 0.0}),
        (9, {"interests_per_person": 30, "threshold_spread": 0.9, "ambiguity": 0.7}),
        (3, {"topics": ["a", "b", "c"], "attributes": {"calm": {"type": "float", "min": 0, "max": 1}}}),
    ],
)
def test_people_who_are_drawn_at_once_are_those_who_are_drawn_one_by_one(seed: int, settings: dict[str, Any]) -> None:
    config, size = msgspec.convert(settings, PopulationConfig), 400
    people, drawn = SyntheticPeople(size, seed, config), [drawn_alone(person, seed, config) for person in range(size)]
    for person, name in enumerate(unique_names(each["name"] for each in drawn)):
        expected = Persona(**{**drawn[person], "name": name})
        assert people[person] == expected
        assert (people.name(person), people.interests(person)) == (expected.name, expected.interests)
        for column in ("low_threshold", "high_threshold", "activity"):
            assert getattr(people, column)[person] == getattr(expected, column)
        assert people.trait("openness")[person] == expected.traits.openness
    with pytest.raises(IndexError):
        people[size]


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


def test_an_attribute_that_nothing_gives_is_refused() -> None:
    with pytest.raises(SettingError, match=r"population\.attributes\.own: has no values: expected a column"):
        drawn(type="float", min=3)


def test_a_persona_with_attributes_goes_through_json() -> None:
    ada = Persona(name="Ada", interests=(), personality="", attributes={"age": 30, "ok": True, "x": 0.5, "r": "north"})
    again = msgspec.json.decode(msgspec.json.encode(ada), type=Persona)
    assert again == ada
    assert [type(value) for value in again.attributes.values()] == [int, bool, float, str]

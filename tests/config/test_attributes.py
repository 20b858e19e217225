"""The declarations of people's attributes: what is taken, what is refused, and the place that a refusal names."""

import pickle
from typing import Any

import msgspec
import pytest
import yaml

from prism.agents.social_agent import SocialAgent
from prism.checked import field_types
from prism.config import AttributeConfig, Config, PopulationConfig, load_config
from prism.config.attributes import TAKEN_NAMES, TRAITS
from prism.errors import SettingError
from prism.social.people.persona import Persona
from tests.catalogue import catalogue
from tests.config.refusals import refusal

STUDY = """\
population:
  attributes:
    ideology: {type: float, min: -1, max: 1}
    age:
      type: int
      min: 13
      max: 99
    anxiety: {type: float, min: 0, max: 1, mean: 0.4, sd: 0.2}
    region: {type: text, values: [north, south], weights: [0.7, 0.3]}
    verified: {type: bool, probability: 0.1}
"""
NAME = "expected a name of letters, digits and underscores that begins with a letter and is no Python word"
TAKEN = "is a name that people already have for something else: expected another name"

HOSTILE: list[tuple[str, str]] = [
    ("{age: int}", "age: expected {type, min, max, mean, ...}, got 'int'"),
    ("{age: {min: 3}}", "age.type: is missing; expected one of: bool, float, int, text"),
    ("{age: {type: integer}}", "age.type: expected one of: bool, float, int, text, got 'integer'; did you mean int?"),
    ("{age: {type: int, minimum: 3}}", "age.minimum: unknown key; did you mean min?"),
    *(
        (f'{{"{name}": {{type: int}}}}', f"{name or repr('')}: {NAME}")
        for name in ("my age", "1st", "_age", "", "a\\nb", "аge", "class")  # noqa: RUF001  # it looks like another
    ),
    (f"{{{'a' * 61}: {{type: int}}}}", f"{'a' * 61}: expected a name of at most 60 characters, got 61"),
    ("{tick: {type: int}}", f"tick: {TAKEN}"),
    ("{openness: {type: float}}", "openness: is a trait that every person has: expected another name"),
    # Of one declaration
    ("{a: {type: int, min: 13.5}}", "a.min: expected int, got 13.5"),
    ("{a: {type: int, min: 99, max: 13}}", "a.min: expected min <= max, got 99 and 13"),
    (
        "{a: {type: float, min: 0, max: 1, mean: 2, sd: 0.1}}",
        "a.mean: expected a mean from min to max, float 0 to 1, got 2",
    ),
    ("{a: {type: float, mean: 2}}", "a.mean: expected both mean and sd, or neither: sd is missing"),
    ("{a: {type: int, values: ['1', '2']}}", "a.values: belongs to type text: expected none for type int"),
    (
        "{a: {type: text, values: [n, s], weights: [1]}}",
        "a.weights: expected a weight for each of the values, got 1 for 2 values",
    ),
    ("{a: {type: text, values: [n, s], weights: [0, 0]}}", "a.weights: expected at least one weight above 0"),
    ("{a: {type: text, values: [n, n]}}", "a.values: expected values that differ, got 'n' more than once"),
    (
        '{a: {type: text, values: ["n\\nIgnore"]}}',
        "a.values[0]: expected a text on one line without spaces around it, got 'n\\nIgnore'",
    ),
    ("{a: {type: int, min: 13, max: 99, default: 3}}", "a.default: expected int 13 to 99, got 3"),
    (
        "{a: {type: bool, probability: 0.5, column: a}}",
        "a.column: expected either column or probability: a value is read or drawn, not both",
    ),
    ('{a: {type: int, description: "x\\nYou are"}}', "a.description: expected a text on one line, got 'x\\nYou are'"),
]


@catalogue(("text", "message"), HOSTILE)
def test_a_declaration_that_cannot_be_is_refused_by_its_key(text: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        PopulationConfig(attributes=yaml.safe_load(text))
    assert str(caught.value) == f"PopulationConfig: population.attributes.{message}"


@catalogue(
    ("declaration", "message"),
    [
        ({"type": "int", "min": 0}, "a: has no values: {}: min and max, mean and sd, or default"),
        ({"type": "bool"}, "a: has no values: {}: probability or default"),
        ({"type": "text"}, "a: has no values: {}: values or default"),
        ({"type": "int", "column": "a"}, "a.column: a column needs a profile file in population.profiles, got null"),
    ],
)
def test_an_attribute_that_nothing_gives_needs_profiles(declaration: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        Config(population={"attributes": {"a": declaration}})  # type: ignore[arg-type]
    way = "expected a profile file in population.profiles, or a way to draw them"
    assert str(caught.value) == f"Config: population.attributes.{message.format(way)}"
    Config(population={"attributes": {"a": declaration}, "profiles": "people.csv"})  # type: ignore[arg-type]


def test_python_yaml_and_structs_mean_the_same() -> None:
    mapping = yaml.safe_load(STUDY)["population"]["attributes"]
    structs = {name: AttributeConfig(**declaration) for name, declaration in mapping.items()}
    config = load_config(STUDY)
    assert config == Config(population={"attributes": mapping}) == Config(population={"attributes": structs})  # type: ignore[arg-type]
    assert list(config.population.attributes) == ["ideology", "age", "anxiety", "region", "verified"]
    assert load_config(msgspec.yaml.encode(config).decode()) == config
    assert pickle.loads(pickle.dumps(config)) == config
    # A run keeps only what a declaration says.
    kept = msgspec.to_builtins(config.population)["attributes"]
    assert kept["verified"] == {"type": "bool", "probability": 0.1}


@catalogue(
    ("text", "message"),
    [
        (STUDY.replace("13", "100"), "c.yaml:7: population.attributes.age.max: expected min <= max, got 100 and 99"),
        (STUDY.replace("      type: int\n", ""), "c.yaml:4: population.attributes.age.type: is missing"),
        (STUDY.replace("max: 99", "column: age"), "c.yaml:7: population.attributes.age.column: a column needs"),
    ],
)
def test_a_refusal_names_the_line_of_the_key(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


def test_one_attribute_can_be_set_alone_and_the_others_stay() -> None:
    override = "population.attributes.age={type: int, min: 13, max: 20}"
    changed = load_config(STUDY, overrides=[override]).population.attributes
    assert changed["age"].max == 20
    assert list(changed) == ["ideology", "age", "anxiety", "region", "verified"]
    assert load_config(STUDY, overrides=["population.attributes.age.max=20"]).population.attributes == changed
    assert load_config(STUDY, overrides={"population.attributes.age.max": 20}).population.attributes == changed
    environment = {"PRISM_POPULATION__ATTRIBUTES__AGE__MAX": "20"}
    assert load_config(STUDY, environment=environment).population.attributes == changed


def test_the_names_of_people_and_agents_are_taken() -> None:
    public = {name for name in dir(SocialAgent) if not name.startswith("_")}
    free = (public | set(field_types(Persona))) - TAKEN_NAMES
    assert not free, "add them to TAKEN_NAMES: an attribute of that name could not be told from them"
    for name in TAKEN_NAMES - set(TRAITS):
        assert name.isidentifier()
        with pytest.raises(SettingError, match="already have"):
            PopulationConfig(attributes={name: {"type": "int"}})  # type: ignore[dict-item]

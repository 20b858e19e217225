"""The declarations of people's attributes: what is taken, what is refused, and the place that a refusal names."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from prism.agents.social_agent import SocialAgent
from prism.checked import field_types
from prism.config import AttributeConfig, Config, PopulationConfig, load_config
from prism.config.attributes import NUMBER_MAX, TAKEN_NAMES, TRAITS
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
KEYS = ", ".join(field_types(AttributeConfig))
NAME = "expected a name of letters, digits and underscores that begins with a letter and is no Python word"
NUMBER = "expected float -1e+15 to 1e+15 or none"
TAKEN = "is a name that people already have for something else: expected another one"

HOSTILE: dict[str, tuple[Any, str]] = {
    "a number": (3, "attributes: expected a mapping of names to declarations, got 3"),
    "a list": ([1], "attributes: expected a mapping of names to declarations, got [1]"),
    "none": (None, "attributes: expected a mapping of names to declarations, got null"),
    "a name that is no text": ({3: {"type": "int"}}, "attributes: expected a name as key, got 3"),
    "a name with a space": ({"my age": {"type": "int"}}, f"attributes.my age: {NAME}"),
    "a name with a dash": ({"my-age": {"type": "int"}}, f"attributes.my-age: {NAME}"),
    "a name that begins with a digit": ({"1st": {"type": "int"}}, f"attributes.1st: {NAME}"),
    "a name that begins with an underscore": ({"_age": {"type": "int"}}, f"attributes._age: {NAME}"),
    "an empty name": ({"": {"type": "int"}}, f"attributes.'': {NAME}"),
    "a name with a line end": ({"a\nb": {"type": "int"}}, f"attributes.a\\nb: {NAME}"),
    "a name that looks like another": ({"аge": {"type": "int"}}, f"attributes.аge: {NAME}"),  # noqa: RUF001  # it is
    "a word of Python": ({"class": {"type": "int"}}, f"attributes.class: {NAME}"),
    "a long name": (
        {"a" * 61: {"type": "int"}},
        f"attributes.{'a' * 61}: expected a name of at most 60 characters, got 61",
    ),
    "a field of people": ({"name": {"type": "text"}}, f"attributes.name: {TAKEN}"),
    "a threshold": ({"engagement_threshold": {"type": "float"}}, f"attributes.engagement_threshold: {TAKEN}"),
    "a part of the state": ({"tick": {"type": "int"}}, f"attributes.tick: {TAKEN}"),
    "a trait": (
        {"openness": {"type": "float"}},
        "attributes.openness: is a trait that every person has: expected another name",
    ),
    "no declaration": (
        {"age": "int"},
        f"attributes.age: expected a declaration with keys ({KEYS}), such as {{type: int}}, got 'int'",
    ),
    "no type": ({"age": {"min": 3}}, "attributes.age.type: is missing: expected one of: float, int, bool, text"),
    "an unknown type": (
        {"age": {"type": "integer"}},
        "attributes.age.type: expected one of: bool, float, int, text, got 'integer'; did you mean int?",
    ),
    "a key that is nearly one": (
        {"age": {"type": "int", "minimum": 3}},
        "attributes.age.minimum: unknown key; did you mean population.attributes.age.min?",
    ),
    "a key like no other": ({"age": {"type": "int", "qqq": 3}}, f"attributes.age.qqq: unknown key; age has: {KEYS}"),
    "a text for a number": ({"age": {"type": "int", "min": "13"}}, f"attributes.age.min: {NUMBER}, got '13'"),
    "a bool for a number": ({"age": {"type": "int", "max": True}}, f"attributes.age.max: {NUMBER}, got true"),
    "infinity": ({"a": {"type": "float", "max": float("inf")}}, f"attributes.a.max: {NUMBER}, got .inf"),
    "not a number": ({"a": {"type": "float", "mean": float("nan")}}, f"attributes.a.mean: {NUMBER}, got .nan"),
    "a number too large to draw": ({"a": {"type": "float", "min": -1e300}}, f"attributes.a.min: {NUMBER}, got -1e+300"),
    "a float for an int": ({"age": {"type": "int", "min": 13.5}}, "attributes.age.min: expected int, got 13.5"),
    "min above max": (
        {"age": {"type": "int", "min": 99, "max": 13}},
        "attributes.age.min: expected min <= max, got 99 and 13",
    ),
    "a mean outside": (
        {"a": {"type": "float", "min": 0, "max": 1, "mean": 2, "sd": 0.1}},
        "attributes.a.mean: expected a mean from min to max, float 0 to 1, got 2",
    ),
    "a mean alone": (
        {"a": {"type": "float", "mean": 2}},
        "attributes.a.mean: expected both mean and sd, or neither: sd is missing",
    ),
    "a deviation alone": (
        {"a": {"type": "float", "sd": 2}},
        "attributes.a.sd: expected both mean and sd, or neither: mean is missing",
    ),
    "a negative deviation": (
        {"a": {"type": "float", "mean": 2, "sd": -1}},
        "attributes.a.sd: expected float 0 to 1e+15 or none, got -1",
    ),
    "values of a number": (
        {"a": {"type": "int", "values": ["1", "2"]}},
        "attributes.a.values: belongs to type text: expected none for type int",
    ),
    "a range of texts": (
        {"a": {"type": "text", "min": 0}},
        "attributes.a.min: belongs to type float or int: expected none for type text",
    ),
    "a probability of a text": (
        {"a": {"type": "text", "probability": 0.5}},
        "attributes.a.probability: belongs to type bool: expected none for type text",
    ),
    "a probability above 1": (
        {"a": {"type": "bool", "probability": 1.5}},
        "attributes.a.probability: expected float 0 to 1 or none, got 1.5",
    ),
    "weights of another length": (
        {"a": {"type": "text", "values": ["n", "s"], "weights": [1]}},
        "attributes.a.weights: expected a weight for each of the values, got 1 for 2 values",
    ),
    "weights of nothing": (
        {"a": {"type": "text", "weights": [1]}},
        "attributes.a.weights: expected a weight for each of the values, got 1 for 0 values",
    ),
    "weights that are all 0": (
        {"a": {"type": "text", "values": ["n", "s"], "weights": [0, 0]}},
        "attributes.a.weights: expected at least one weight above 0",
    ),
    "a negative weight": (
        {"a": {"type": "text", "values": ["n", "s"], "weights": [1, -1]}},
        "attributes.a.weights[1]: expected float 0 to 1e+09, got -1",
    ),
    "values that repeat": (
        {"a": {"type": "text", "values": ["n", "n"]}},
        "attributes.a.values: expected values that differ, got 'n' more than once",
    ),
    "a value that is a number": (
        {"a": {"type": "text", "values": ["n", 3]}},
        "attributes.a.values[1]: expected non-empty text, got 3",
    ),
    "a value with a line end": (
        {"a": {"type": "text", "values": ["n\nIgnore"]}},
        "attributes.a.values[0]: expected a text on one line without spaces around it, got 'n\\nIgnore'",
    ),
    "a default of another type": (
        {"a": {"type": "bool", "default": 1}},
        "attributes.a.default: expected true or false, got 1",
    ),
    "a default outside": (
        {"a": {"type": "int", "min": 13, "max": 99, "default": 3}},
        "attributes.a.default: expected int 13 to 99, got 3",
    ),
    "a default that is no value": (
        {"a": {"type": "text", "values": ["n", "s"], "default": "w"}},
        "attributes.a.default: expected one of: n, s, got 'w'",
    ),
    "a list as default": (
        {"a": {"type": "text", "default": ["n"]}},
        "attributes.a.default: expected float or int or true or false or text or none, got ['n']",
    ),
    "a column and a distribution": (
        {"a": {"type": "bool", "probability": 0.5, "column": "a"}},
        "attributes.a.column: expected either column or probability: a value is read or drawn, not both",
    ),
    "a default and a distribution": (
        {"a": {"type": "float", "mean": 0, "sd": 1, "default": 0.5}},
        "attributes.a.default: expected either default or mean: a value is read or drawn, not both",
    ),
    "a column without a name": (
        {"a": {"type": "int", "column": ""}},
        "attributes.a.column: expected non-empty text or none, got ''",
    ),
    "a description of two lines": (
        {"a": {"type": "int", "description": "x\nYou are"}},
        "attributes.a.description: expected a text on one line, got 'x\\nYou are'",
    ),
    "a switch that is no bool": (
        {"a": {"type": "int", "prompt": "no"}},
        "attributes.a.prompt: expected true or false, got 'no'",
    ),
}


@pytest.mark.parametrize(("given_value", "message"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_declaration_that_cannot_be_is_refused_by_its_key(given_value: Any, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        PopulationConfig(attributes=given_value)
    assert str(caught.value) == f"PopulationConfig: population.{message}"
    assert len(str(caught.value).splitlines()) == 1


@catalogue(
    ("declaration", "message"),
    [
        ({"type": "float"}, "a: has no values: {}: min and max, mean and sd, or default"),
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


@catalogue(
    ("columns", "profiles", "message"),
    [
        (
            {"activity": "a"},
            None,
            "population.columns.activity: a column needs a profile file in population.profiles, got null",
        ),
        (
            {"low_threshold": "a"},
            "people.csv",
            "population.columns.low_threshold: a column for low_threshold needs one for engagement_threshold, got null",
        ),
        (
            {"activty": "a"},
            "people.csv",
            "population.columns.activty: unknown key; did you mean population.columns.activity?",
        ),
        ({"activity": ""}, "people.csv", "population.columns.activity: expected non-empty text or none, got ''"),
    ],
)
def test_columns_that_cannot_be_read_are_refused(columns: dict[str, str], profiles: str | None, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        Config(population={"columns": columns, "profiles": profiles})  # type: ignore[arg-type]
    assert str(caught.value).partition(": ")[2] == message


def test_python_yaml_and_structs_mean_the_same() -> None:
    mapping = yaml.safe_load(STUDY)["population"]["attributes"]
    structs = {name: AttributeConfig(**declaration) for name, declaration in mapping.items()}
    config = load_config(STUDY)
    assert config == Config(population={"attributes": mapping}) == Config(population={"attributes": structs})  # type: ignore[arg-type]
    assert list(config.population.attributes) == ["ideology", "age", "anxiety", "region", "verified"]
    assert load_config(msgspec.yaml.encode(config).decode()) == config
    assert msgspec.json.decode(msgspec.json.encode(config), type=Config) == config
    assert pickle.loads(pickle.dumps(config)) == config


@catalogue(
    ("text", "message"),
    [
        (STUDY.replace("13", "x"), "c.yaml:6: population.attributes.age.min: expected float"),
        (STUDY.replace("13", "100"), "c.yaml:6: population.attributes.age.min: expected min <= max, got 100 and 99"),
        (STUDY.replace("    age:", "    ag-e:"), "c.yaml:4: population.attributes.ag-e: expected a name"),
        (STUDY.replace("      max: 99", "      mx: 99"), "c.yaml:7: population.attributes.age.mx: unknown key"),
        (STUDY.replace("      type: int\n", ""), "c.yaml:4: population.attributes.age.type: is missing"),
        (STUDY.replace("0.3]", "-1]"), "c.yaml:9: population.attributes.region.weights[1]: expected float 0 to 1e+09"),
        (STUDY.replace("max: 99", "column: age"), "c.yaml:7: population.attributes.age.column: a column needs"),
        (f"{STUDY}    age: {{type: int}}\n", "c.yaml:11: population.attributes.age: stands twice, first in line 4"),
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


def test_a_run_keeps_only_what_a_declaration_says() -> None:
    config = load_config(STUDY)
    kept = msgspec.to_builtins(config.population)["attributes"]
    assert kept["verified"] == {"type": "bool", "probability": 0.1}
    assert kept["age"] == {"type": "int", "min": 13, "max": 99}


def test_the_names_of_people_and_agents_are_taken() -> None:
    public = {name for name in dir(SocialAgent) if not name.startswith("_")}
    free = (public | set(field_types(Persona))) - TAKEN_NAMES
    assert not free, "add them to TAKEN_NAMES: an attribute of that name could not be told from them"
    for name in TAKEN_NAMES - set(TRAITS):
        assert name.isidentifier()
        with pytest.raises(SettingError, match="already have"):
            PopulationConfig(attributes={name: {"type": "int"}})  # type: ignore[dict-item]


@given(st.floats(allow_nan=True) | st.integers() | st.booleans() | st.text(max_size=3))
def test_a_declaration_holds_only_values_of_its_type_and_range(value: float | str) -> None:
    number, whole = AttributeConfig(type="float", min=-1, max=1), AttributeConfig(type="int", min=13)
    text, switch = AttributeConfig(type="text", values=("a", "b")), AttributeConfig(type="bool")
    assert number.holds(value) == (type(value) is float and -1.0 <= value <= 1.0)
    assert whole.holds(value) == (type(value) is int and 13 <= value <= NUMBER_MAX)
    assert text.holds(value) == (value in ("a", "b"))
    assert switch.holds(value) == (type(value) is bool)

"""Refusals of several mistakes at once: their order, their number, and the fields of the error."""

from __future__ import annotations

import pickle

import pytest

from prism.config import Config, load_config
from prism.errors import TOLD_MAX, ConfigError, SettingError
from tests.config.refusals import FEED, refusal

SEVERAL_VALUES = """\
population:
  sise: 3
  ambiguity: 2
oracle: {rate_per_s: 0}
feed: 4
"""
CONTRADICTIONS = """\
feed: {exposure: simple}
population:
  relevance: {exposure: 1}
  interests_per_person: 50
  topics: [art]
oracle:
  tape: replay
"""


def test_all_unknown_keys_and_wrong_values_are_told_at_once() -> None:
    told = refusal(SEVERAL_VALUES, {"PRISM_SIMULATION__SEED": "x"}, "feed.sise=4", "nothing").split("\n")
    assert told == [
        "c.yaml:2: population.sise: unknown key; did you mean population.size?",
        f"c.yaml:5: feed: expected a section with keys ({FEED}), got 4",
        "--set: feed.sise: unknown key; did you mean feed.size?",
        "--set: expected key=value, got 'nothing'",
        "c.yaml:3: population.ambiguity: expected float 0 to 1, got 2",
        "c.yaml:4: oracle.rate_per_s: expected float 0.001 to 100000 or none, got 0",
        "PRISM_SIMULATION__SEED: simulation.seed: expected int 0 to 9223372036854775807, got 'x'",
    ]


def test_all_contradictions_are_told_at_once_each_with_the_setting_that_was_set_last() -> None:
    assert refusal(CONTRADICTIONS, None, "population.interests_per_person=40").split("\n") == [
        "--set: population.interests_per_person: expected interests_per_person <= the number of topics, got 40 and 1",
        (
            "c.yaml:3: population.relevance.exposure: population.relevance.exposure needs feed.exposure: complex, "
            "which shows a cascade again, got simple"
        ),
        "c.yaml:7: oracle.tape: replay needs a backend that asks a model: ollama or openai, got choice",
        "c.yaml:7: oracle.tape: replay needs the tape's file in oracle.tape_path, got null",
    ]


def test_of_very_many_mistakes_a_screenful_is_told() -> None:
    told = refusal("".join(f"nothing{number}: 1\n" for number in range(130))).split("\n")
    assert len(told) == TOLD_MAX + 1
    assert told[-1] == "and 110 more"


def test_the_fields_of_an_error_are_those_of_the_first_mistake_and_it_survives_pickling() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(CONTRADICTIONS, "c.yaml")
    error = caught.value
    assert (error.key, error.line, len(error.others)) == ("population.topics", 5, 3)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    with pytest.raises(SettingError) as constructed:
        Config(oracle={"tape": "replay"})  # type: ignore[arg-type]
    assert str(constructed.value).count("\n") == 1

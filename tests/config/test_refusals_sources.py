"""A refusal names its source: an option, a variable, a line, or the setting that came last."""

from __future__ import annotations

import pytest

from prism.config import load_config
from prism.errors import ConfigError
from tests.config.refusals import FEED, GRAPH, TOP, refusal

UNCLOSED = "while parsing a flow sequence, expected ',' or ']', but got '<stream end>'"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("feed.size", "expected key=value, got 'feed.size'"),
        ("=3", f"'': unknown key; the top has: {TOP}"),
        ("feed.size=0", "feed.size: expected int 1 to 1000, got 0"),
        ("feed.size=", "feed.size: expected int 1 to 1000, got null"),
        ("feed.size=\n\n0", "feed.size: expected int 1 to 1000, got 0"),
        ("seed=7", "seed: unknown key; did you mean simulation.seed or llm.seed?"),
        ("feed..size=1", "feed.''.size: unknown key; feed has: " + FEED),
        ("FEED.size=1", f"FEED.size: unknown key; the top has: {TOP}"),
        ("population.graph=x", f"population.graph: expected one key of this section: {GRAPH}"),
        ("feed.size.x=1", "feed.size.x: unknown key; feed.size is a setting and has no keys of its own"),
        ("feed.size=*x", "feed.size: *x: YAML aliases are not supported"),
        (
            "population.topics=[a",
            f"population.topics: not valid YAML: {UNCLOSED}",
        ),
    ],
)
def test_a_bad_override_is_refused_in_the_name_of_set(override: str, message: str) -> None:
    assert refusal("feed: {size: 7}", {"PRISM_FEED__SIZE": "8"}, override) == f"--set: {message}"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("PRISM_FEED__SIZE", "five", "feed.size: expected int 1 to 1000, got 'five'"),
        ("PRISM_FEED__SISE", "5", "feed.sise: unknown key; did you mean feed.size?"),
        ("PRISM_FEED", "5", f"feed: expected one key of this section: {FEED}"),
        ("PRISM_POPULATION__GRAPH", "5", f"population.graph: expected one key of this section: {GRAPH}"),
        ("PRISM_A__B", "5", f"a.b: unknown key; the top has: {TOP}"),
        ("PRISM___X", "5", f"''.x: unknown key; the top has: {TOP}"),
    ],
)
def test_a_bad_variable_is_refused_in_its_own_name(variable: str, value: str, message: str) -> None:
    assert refusal("feed: {size: 7}", {variable: value}) == f"{variable}: {message}"


def test_a_conflict_is_blamed_on_the_setting_that_was_set_last() -> None:
    text = "population: {interests_per_person: 2, topics: [a, b]}"
    problem = "expected interests_per_person <= the number of topics, got"
    assert refusal(text, {"PRISM_POPULATION__TOPICS": "[a]"}) == (
        f"PRISM_POPULATION__TOPICS: population.topics: {problem} 2 and 1"
    )
    assert refusal(text, {}, "population.interests_per_person=3") == (
        f"--set: population.interests_per_person: {problem} 3 and 2"
    )


def test_an_error_keeps_the_facts_apart() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("\nfeed:\n  size: 0", "a/b.yaml", environment={}, overrides=())
    error = caught.value
    assert (error.source, error.line, error.key) == ("a/b.yaml", 3, "feed.size")
    assert error.problem == "expected int 1 to 1000, got 0"

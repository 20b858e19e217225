"""Refusals: values and keys, texts of the wrong shape, and the source that a refusal names."""

from __future__ import annotations

import pickle

import pytest

from prism.config import Config, load_config
from prism.errors import TOLD_MAX, ConfigError, SettingError
from tests.catalogue import catalogue
from tests.config.refusals import FEED, GRAPH, TOP, refusal

EPOCH = "expected date and time with UTC offset"

VALUES = [
    ("population:\n  size: 0", "2: population.size: expected int 1 to 10000000, got 0"),
    ("population: {size: 3.0}", "1: population.size: expected int 1 to 10000000, got 3.0"),
    ("population: {size: true}", "1: population.size: expected int 1 to 10000000, got true"),
    ("population: {size: 0042}", "1: population.size: expected int 1 to 10000000, got '0042'"),
    ("population:\n  size:", "2: population.size: expected int 1 to 10000000, got null"),
    ("population: {size: {a: 1}}", "1: population.size: expected int 1 to 10000000, got a mapping"),
    ("population: {profiles: [a]}", "1: population.profiles: expected text or none, got ['a']"),
    (
        "population: {activity: {mean: 0}}",
        "1: population.activity.mean: expected float > 0 and <= 1, got 0",
    ),
    ("oracle: {rate_per_s: 0}", "1: oracle.rate_per_s: expected float 0.001 to 100000 or none, got 0"),
    (
        "statechart: {oracle_enabled: off}",
        "1: statechart.oracle_enabled: expected true or false, got 'off'",
    ),
    (
        "feed: {algorithm: hottest}",
        (
            "1: feed.algorithm: expected one of: chronological, hot, interest, random, bridging, "
            "or an expression, got 'hottest'; did you mean hot?"
        ),
    ),
    (
        "simulation: {domain: economy}\n\nllm: {method: probabilities}",
        "3: llm.method: the policies of an economy are numbers, not options: expected auto or json, got probabilities",
    ),
    (
        "simulation: {tick_seconds: .inf}",
        "1: simulation.tick_seconds: expected float > 0 and <= 10000000, got .inf",
    ),
    ("oracle: {choice: {like: .nan}}", "1: oracle.choice.like: expected float -100 to 100, got .nan"),
    (
        "population: {topics: a}",
        "1: population.topics: expected list of non-empty text, at least 1, got 'a'",
    ),
    (
        "economy: {macro: {gap_lags: [1.0]}}",
        "1: economy.macro.gap_lags: expected list of float -2 to 2, exactly 2, got [1.0]",
    ),
    (
        "population:\n  topics:\n    - a\n    - 3",
        "2: population.topics[1]: expected non-empty text, got 3",
    ),
    (
        "simulation: {epoch: 2026-02-03 10:00:00}",
        f"1: simulation.epoch: {EPOCH}, got 2026-02-03 10:00:00",
    ),
    (
        "simulation: {epoch: 2026-02-30}",
        "1: simulation.epoch: expected a valid timestamp, got '2026-02-30'",
    ),
    (
        f"simulation: {{seed: {'9' * 5000}}}",
        f"1: simulation.seed: expected a valid int, got '{'9' * 56}...",
    ),
    (f"feed: {{size: {'x' * 99}}}", f"1: feed.size: expected int 1 to 1000, got '{'x' * 56}..."),
]

TOGETHER = [
    (
        "population:\n  topics: [a]\n  interests_per_person: 2",
        "3: population.interests_per_person: expected interests_per_person <= the number of topics, got 2 and 1",
    ),
    (
        "population: {topics: [a, b, c, b]}",
        "1: population.topics: expected topics that differ, got 'b' more than once",
    ),
    (
        "population:\n  graph:\n    kind: profiles",
        "3: population.graph.kind: graph.kind is profiles, which needs a profile file in population.profiles, got null",
    ),
    (
        'simulation: {epoch: "9999-12-31T23:00:00Z"}',
        (
            "1: simulation.epoch: expected all of the run between the years 1 and 9999, got 1200 ticks of 60 s from "
            "9999-12-31T23:00:00+00:00"
        ),
    ),
    (
        "oracle: {mode: realtime}",
        (
            "1: oracle.mode: realtime needs run.tick_s and population.deliberation_minutes above 0, or every answer "
            "would be too late"
        ),
    ),
    (
        "oracle: {tape: record}",
        "1: oracle.tape: record needs a backend that asks a model: ollama or openai, got choice",
    ),
    (
        "oracle: {backend: ollama, tape: replay}",
        "1: oracle.tape: replay needs the tape's file in oracle.tape_path, got null",
    ),
    (
        "{oracle: {backend: ollama, tape: record, mode: realtime}, run: {tick_s: 1}}",
        (
            "1: oracle.mode: a tape does not know which answers came too late for realtime: expected mode pace, got "
            "realtime"
        ),
    ),
    (
        "feed: {reshare_credit: newest}\nrun: {shards: 2}",
        (
            "2: run.shards: with run.shards, feed.reshare_credit must be seen or root, as the newest post that came to "
            "somebody is known to their shard only"
        ),
    ),
]


POPULATION = (
    "size, profiles, encoding, follow_lists, join, unmatched, topics, interests_per_person, interests_exponent, "
    "engagement_threshold, threshold_spread, ambiguity, posts_per_session, deliberation_minutes, posts_by_followers, "
    "participation_sigma, quality_sigma, "
    "attributes, margins, measures, columns, posts, relevance, intentions, activity, dwell, response, graph"
)

KEYS = [
    ("population:\n  sise: 3", "2: population.sise: unknown key; did you mean population.size?"),
    (
        "population:\n  graph:\n    kinds: x",
        "3: population.graph.kinds: unknown key; did you mean population.graph.kind?",
    ),
    ("seed: 3", "1: seed: unknown key; did you mean simulation.seed or llm.seed?"),
    (
        "population: {graph_degree: 3}",
        "1: population.graph_degree: unknown key; did you mean population.graph.degree?",
    ),
    (
        "population: {graph.path: x}",
        "1: population.graph.path: unknown key; did you mean population.graph?",
    ),
    ("zzz: 1", f"1: zzz: unknown key; the top has: {TOP}"),
    ("feed: {zzz: 1}", f"1: feed.zzz: unknown key; feed has: {FEED}"),
    ('"": 1', f"1: '': unknown key; the top has: {TOP}"),
    ("population:\n  size: 1\n  size: 2", "3: population.size: stands twice, first in line 2"),
    ("population: {1: 2}", "1: population: expected a name as key, got 1"),
    ("? [a]\n: b", "1: expected a name as key, got ['a']"),
]

SHAPES = [
    ("population: 3", f"1: population: expected a section with keys ({POPULATION}), got 3"),
    ("- a", "1: expected sections at the top, got ['a']"),
    (
        "feed: {}\n---\nrun: {}",
        "2: not valid YAML: expected a single document in the stream, but found another document",
    ),
    ("feed: {}\n\x07", "2: not valid YAML: the character '\\x07' is not allowed"),
    ("feed: !!python/object:os.system x", "1: !!python/object:os.system: YAML tags are not supported"),
    ("feed: &x {}\nrun: *x", "2: *x: YAML aliases are not supported"),
]


@catalogue(("text", "message"), [*VALUES, *TOGETHER, *KEYS, *SHAPES])
def test_what_cannot_be_is_refused_with_its_line_and_what_was_expected(text: str, message: str) -> None:
    assert refusal(text) == f"c.yaml:{message}"


ALGORITHM = "expected one of: chronological, hot, interest, random, bridging, or an expression"


@catalogue(
    ("override", "message"),
    [
        ("feed.size", "expected key=value, got 'feed.size'"),
        ("=3", f"'': unknown key; the top has: {TOP}"),
        ("feed.size=0", "feed.size: expected int 1 to 1000, got 0"),
        ("feed..size=1", "feed.''.size: unknown key; feed has: " + FEED),
        ("FEED.size=1", f"FEED.size: unknown key; the top has: {TOP}"),
        ("population.graph=x", f"population.graph: expected one key of this section: {GRAPH}"),
        ("feed.size.x=1", "feed.size.x: unknown key; feed.size is set as a whole: feed.size=..."),
        ("feed.size=*x", "feed.size: *x: YAML aliases are not supported"),
        ("population.topics=[a", "population.topics: not valid YAML: a bracket is not closed"),
        ("feed.algorithm=chronologic", f"feed.algorithm: {ALGORITHM}, got 'chronologic'; did you mean chronological?"),
    ],
)
def test_a_bad_override_is_refused_in_the_name_of_set(override: str, message: str) -> None:
    assert refusal("feed: {size: 7}", {"PRISM_FEED__SIZE": "8"}, override) == f"--set: {message}"


@catalogue(
    ("variable", "value", "message"),
    [
        ("PRISM_FEED__SIZE", "five", "feed.size: expected int 1 to 1000, got 'five'"),
        ("PRISM_FEED__SISE", "5", "feed.sise: unknown key; did you mean feed.size?"),
        ("PRISM_FEED", "5", f"feed: expected one key of this section: {FEED}"),
        ("PRISM_A__B", "5", f"a.b: unknown key; the top has: {TOP}"),
    ],
)
def test_a_bad_variable_is_refused_in_its_own_name(variable: str, value: str, message: str) -> None:
    assert refusal("feed: {size: 7}", {variable: value}) == f"{variable}: {message}"


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

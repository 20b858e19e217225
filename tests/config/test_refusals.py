"""Values that are refused, each by itself and together."""

from __future__ import annotations

import pytest

from tests.config.refusals import refusal

EPOCH = "expected date and time with UTC offset"

VALUES = {
    "int too small": ("population:\n  size: 0", "2: population.size: expected int 1 to 10000000, got 0"),
    "int too large": ("feed:\n\n  size: 1001", "3: feed.size: expected int 1 to 1000, got 1001"),
    "negative": ("simulation: {seed: -1}", "1: simulation.seed: expected int 0 to 9223372036854775807, got -1"),
    "float for int": ("population: {size: 3.0}", "1: population.size: expected int 1 to 10000000, got 3.0"),
    "bool for int": ("population: {size: true}", "1: population.size: expected int 1 to 10000000, got true"),
    "text for int": ('population: {size: "5"}', "1: population.size: expected int 1 to 10000000, got '5'"),
    "octal for int": ("population: {size: 0042}", "1: population.size: expected int 1 to 10000000, got '0042'"),
    "null for int": ("population:\n  size:", "2: population.size: expected int 1 to 10000000, got null"),
    "mapping for int": ("population: {size: {a: 1}}", "1: population.size: expected int 1 to 10000000, got a mapping"),
    "int for text": ("population: {profiles: 3}", "1: population.profiles: expected text or none, got 3"),
    "list for text": ("population: {profiles: [a]}", "1: population.profiles: expected text or none, got ['a']"),
    "share above 1": ("population: {ambiguity: 1.5}", "1: population.ambiguity: expected float 0 to 1, got 1.5"),
    "open bound": (
        "population: {activity: {mean: 0}}",
        "1: population.activity.mean: expected float > 0 and <= 1, got 0",
    ),
    "optional": ("oracle: {rate_per_s: 0}", "1: oracle.rate_per_s: expected float 0.001 to 100000 or none, got 0"),
    "bool as word": (
        "statechart: {oracle_enabled: off}",
        "1: statechart.oracle_enabled: expected true or false, got 'off'",
    ),
    "unknown choice": (
        "feed: {algorithm: hottest}",
        "1: feed.algorithm: expected one of: chronological, hot, interest, random, got 'hottest'",
    ),
    "infinite": (
        "simulation: {tick_seconds: .inf}",
        "1: simulation.tick_seconds: expected float > 0 and <= 10000000, got .inf",
    ),
    "overflow": (
        "simulation: {tick_seconds: 1e999}",
        "1: simulation.tick_seconds: expected float > 0 and <= 10000000, got .inf",
    ),
    "minus infinity": (
        "oracle: {choice: {like: -.inf}}",
        "1: oracle.choice.like: expected float -100 to 100, got -.inf",
    ),
    "not a number": ("oracle: {choice: {like: .nan}}", "1: oracle.choice.like: expected float -100 to 100, got .nan"),
    "not a number, listed": (
        "population: {topics: [a, .nan]}",
        "1: population.topics[1]: expected non-empty text, got .nan",
    ),
    "text for list": (
        "population: {topics: a}",
        "1: population.topics: expected list of non-empty text, at least 1, got 'a'",
    ),
    "empty list": (
        "population: {topics: []}",
        "1: population.topics: expected list of non-empty text, at least 1, got []",
    ),
    "item": (
        "population:\n  topics:\n    - a\n    - 3",
        "2: population.topics[1]: expected non-empty text, got 3",
    ),
    "empty item": ("population: {topics: ['']}", "1: population.topics[0]: expected non-empty text, got ''"),
    "date without time": ("simulation: {epoch: 2026-02-03}", f"1: simulation.epoch: {EPOCH}, got 2026-02-03"),
    "date without offset": (
        "simulation: {epoch: 2026-02-03 10:00:00}",
        f"1: simulation.epoch: {EPOCH}, got 2026-02-03 10:00:00",
    ),
    "no such day": (
        "simulation: {epoch: 2026-02-30}",
        "1: simulation.epoch: expected a valid timestamp, got '2026-02-30'",
    ),
    "endless int": (
        f"simulation: {{seed: {'9' * 5000}}}",
        f"1: simulation.seed: expected a valid int, got '{'9' * 56}...",
    ),
    "long text": (f"feed: {{size: {'x' * 99}}}", f"1: feed.size: expected int 1 to 1000, got '{'x' * 56}..."),
}

TOGETHER = {
    "too many interests": (
        "population:\n  topics: [a]\n  interests_per_person: 2",
        "3: population.interests_per_person: expected interests_per_person <= the number of topics, got 2 and 1",
    ),
    "too few topics": (
        "population: {topics: [a, b]}",
        "1: population.topics: expected interests_per_person <= the number of topics, got 3 and 2",
    ),
    "same topic twice": (
        "population: {topics: [a, b, c, b]}",
        "1: population.topics: expected topics that differ, got 'b' more than once",
    ),
    "no profiles to follow": (
        "population:\n  graph:\n    kind: profiles",
        "3: population.graph.kind: graph.kind is profiles, which needs a profile file in population.profiles, got null",
    ),
    "epoch too late": (
        'simulation: {epoch: "9999-12-31T23:00:00Z"}',
        (
            "1: simulation.epoch: expected all of the run between the years 1 and 9999, got 1200 ticks of 60 s from "
            "9999-12-31T23:00:00+00:00"
        ),
    ),
    "ticks too many": (
        "simulation: {rounds: 1, ticks: 30000, tick_seconds: 10000000}",
        (
            "1: simulation.tick_seconds: expected all of the run between the years 1 and 9999, got 30000 ticks of "
            "1e+07 s from 2026-01-01T00:00:00+00:00"
        ),
    ),
    "real time at no pace": (
        "oracle: {mode: realtime}",
        (
            "1: oracle.mode: realtime needs run.tick_s and oracle.lookahead_ticks above 0, or every answer would be "
            "too late"
        ),
    ),
    "tape without a model": (
        "oracle: {tape: record}",
        "1: oracle.tape: record needs a backend that asks a model: ollama or openai, got choice",
    ),
    "replay without a tape": (
        "oracle: {backend: ollama, tape: replay}",
        "1: oracle.tape: replay needs the tape's file in oracle.tape_path, got null",
    ),
    "tape in real time": (
        "{oracle: {backend: ollama, tape: record, mode: realtime}, run: {tick_s: 1}}",
        (
            "1: oracle.mode: a tape does not know which answers came too late for realtime: expected mode pace, got "
            "realtime"
        ),
    ),
}


@pytest.mark.parametrize(("text", "message"), VALUES.values(), ids=VALUES.keys())
def test_a_bad_value_is_refused_with_its_place_and_what_was_expected(text: str, message: str) -> None:
    assert refusal(text) == f"c.yaml:{message}"


@pytest.mark.parametrize(("text", "message"), TOGETHER.values(), ids=TOGETHER.keys())
def test_settings_that_cannot_hold_together_are_refused(text: str, message: str) -> None:
    assert refusal(text) == f"c.yaml:{message}"

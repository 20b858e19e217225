"""Keys that are unknown or stand twice, and texts that are no configuration."""

from __future__ import annotations

import pytest

from tests.config.refusals import FEED, GRAPH, TOP, refusal

POPULATION = (
    "size, profiles, topics, interests_per_person, engagement_threshold, threshold_spread, ambiguity, "
    "posts_per_session, activity, graph"
)

KEYS = {
    "misspelt section": ("popluation: {}", "1: popluation: unknown key; did you mean population?"),
    "misspelt key": ("population:\n  sise: 3", "2: population.sise: unknown key; did you mean population.size?"),
    "misspelt inner key": (
        "population:\n  graph:\n    kinds: x",
        "3: population.graph.kinds: unknown key; did you mean population.graph.kind?",
    ),
    "key of a section at the top": ("seed: 3", "1: seed: unknown key; did you mean simulation.seed or llm.seed?"),
    "key of two sections": ("size: 3", "1: size: unknown key; did you mean population.size or feed.size?"),
    "dotted key": (
        "population: {graph.path: x}",
        "1: population.graph.path: unknown key; did you mean population.graph?",
    ),
    "unknown section": ("zzz: 1", f"1: zzz: unknown key; the top has: {TOP}"),
    "unknown key": ("feed: {zzz: 1}", f"1: feed.zzz: unknown key; feed has: {FEED}"),
    "empty key": ('"": 1', f"1: '': unknown key; the top has: {TOP}"),
    "key of two lines": ('"a\\nb": 1', f"1: a\\nb: unknown key; the top has: {TOP}"),
    "merge key": ("<<: {a: 1}", f"1: <<: unknown key; the top has: {TOP}"),
    "twice": ("population:\n  size: 1\n  size: 2", "3: population.size: stands twice, first in line 2"),
    "section twice": ("feed: {}\nrun: {}\nfeed: {}", "3: feed: stands twice, first in line 1"),
    "int as key": ("population: {1: 2}", "1: population: expected a name as key, got 1"),
    "null as key": ("null: 2", "1: expected a name as key, got null"),
    "list as key": ("? [a]\n: b", "1: expected a name as key, got ['a']"),
}

SHAPES = {
    "number for section": ("population: 3", f"1: population: expected a section with keys ({POPULATION}), got 3"),
    "list for inner section": (
        "population:\n  graph: [a]",
        f"2: population.graph: expected a section with keys ({GRAPH}), got ['a']",
    ),
    "list at the top": ("- a", "1: expected sections at the top, got ['a']"),
    "text at the top": ("# x\nhello", "2: expected sections at the top, got 'hello'"),
    "two documents": (
        "feed: {}\n---\nrun: {}",
        "2: not valid YAML: expected a single document in the stream, but found another document",
    ),
    "lost colon": (
        "feed:\n  size: 3\n  pool\n",
        "4: not valid YAML: while scanning a simple key, could not find expected ':'",
    ),
    "tab": (
        "feed:\n\tsize: 3",
        "2: not valid YAML: while scanning for the next token, found character '\\t' that cannot start any token",
    ),
    "control character": ("feed: {}\n\x07", "2: not valid YAML: the character '\\x07' is not allowed"),
    "tag": ("feed: !!python/object:os.system x", "1: !!python/object:os.system: YAML tags are not supported"),
    "alias": ("feed: &x {}\nrun: *x", "2: *x: YAML aliases are not supported"),
}


@pytest.mark.parametrize(("text", "message"), KEYS.values(), ids=KEYS.keys())
def test_a_bad_key_is_refused_with_a_hint(text: str, message: str) -> None:
    assert refusal(text) == f"c.yaml:{message}"


@pytest.mark.parametrize(("text", "message"), SHAPES.values(), ids=SHAPES.keys())
def test_a_text_of_the_wrong_shape_is_refused_with_its_line(text: str, message: str) -> None:
    assert refusal(text) == f"c.yaml:{message}"

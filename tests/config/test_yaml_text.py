"""YAML as a configuration reads it: how deep and how long it may be, and that the limits change nothing else."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from prism.config import load_config, yaml_text
from prism.config.yaml_text import DEPTH_MAX, LENGTH_MAX, read_document
from prism.errors import ConfigError
from tests.catalogue import catalogue
from tests.config.refusals import refusal

TOO_DEEP = f"is nested more than {DEPTH_MAX} levels deep; no setting needs more than 4"
FRAGMENTS = st.sampled_from([*"[]{}a,#\"'\n", "- ", "? ", ": ", "a: ", "  ", " # [", "|\n  [[", ">\n", "&a ", "*a"])


def outcome(text: str) -> object:
    """What a text means, or what is wrong with it."""
    try:
        return read_document(text, "c.yaml").value
    except ConfigError as error:
        return str(error)


def outcome_without_limit(text: str) -> object:
    with patch.object(yaml_text, "DEPTH_MAX", 10**9):
        return outcome(text)


def depth_of(value: object) -> int:
    inner = list(value.values()) if isinstance(value, dict) else value
    return 1 + max(map(depth_of, inner), default=0) if isinstance(inner, list) else 0


def is_too_deep(found: object) -> bool:
    return isinstance(found, str) and found.endswith(TOO_DEEP)


@given(fragments=st.lists(FRAGMENTS, max_size=60))
def test_any_text_means_the_same_with_the_limit_or_is_deeper_than_it(fragments: list[str]) -> None:
    text = "".join(fragments)
    found, unlimited = outcome(text), outcome_without_limit(text)
    if is_too_deep(found):
        assert isinstance(unlimited, str) or depth_of(unlimited) > DEPTH_MAX
    else:
        assert found == unlimited


@catalogue(("unit", "end"), [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", ""), ("[a: ", "]")])
def test_a_deep_text_is_refused_with_its_line_whatever_it_is_nested_by(unit: str, end: str) -> None:
    assert outcome(f"\n{unit * 100}x{end * 100}") == f"c.yaml:2: {TOO_DEEP}"
    assert not is_too_deep(outcome(f"{unit * 15}x{end * 15}"))
    assert refusal(None, {"PRISM_FEED__SIZE": unit * 400}) == f"PRISM_FEED__SIZE: feed.size: {TOO_DEEP}"


def test_a_text_that_is_too_long_is_refused_by_name() -> None:
    told = "is longer than the 65,536 characters that a configuration may have"
    assert outcome("#" * LENGTH_MAX) == {}
    assert outcome("#" * (LENGTH_MAX + 1)) == f"c.yaml: {told}"
    assert refusal(None, None, f"population.topics={'x' * (LENGTH_MAX + 1)}") == f"--set: population.topics: {told}"
    text = "#" * (2 * LENGTH_MAX)  # a resolved configuration may be longer
    assert load_config(text, "config.yaml", length_max=len(text)) == load_config()


TEXT = """\
set:
  feed.size: 3
  feed: {memory: 4}
design:
  conditions:
    a.b: {feed.size: 3}
hypotheses:
  - {measure: likes}
  - measure: posts
    contrast: [a, b]
"""


@catalogue(
    ("key", "line"),
    [
        ("set.feed.size", 2),
        ("set.feed.algorithm", 3),
        ("design.conditions.a.b.feed.size", 6),
        ("design.factors", 4),
        ("hypotheses[0].measure", 8),
        ("hypotheses[1].contrast", 10),
        ("hypotheses[1].test", 9),
        ("hypotheses[7].test", 7),
        ("hypotheses[1].contrast[1]", 10),
        ("thresholds", None),
    ],
)
def test_keys_may_have_dots_and_lists_have_items(key: str, line: int | None) -> None:
    assert read_document(TEXT, "e.yaml").refused("is wrong", key).line == line

"""Sampled designs and tables: their points have the structure of the method, and are the same everywhere."""

import math
from typing import Any

import pytest

from prism.errors import ConfigError
from prism.experiment.design import Condition
from prism.experiment.experiment_file import read_experiment
from tests.catalogue import catalogue

HEAD = "question: Does it matter?\nbase: base.yaml\nseeds: 3\nmeasures: {likes: likes}\n"
SIZE = "feed.size: {low: 1, high: 8, whole: true}"
ATTENTION = "feed.attention: {low: 0.01, high: 1, scale: log}"
THRESHOLD = "population.ambiguity: {low: 0, high: 0.5}"
ALGORITHM = "feed.algorithm: [hot, random]"


def conditions(design: str) -> tuple[Condition, ...]:
    return read_experiment(f"{HEAD}design: {{{design}}}\n", "e.yaml").conditions


def column(found: tuple[Condition, ...], name: str) -> list[Any]:
    return [each.settings[name] for each in found]


def test_points_fill_ranges_of_numbers_and_lists_of_levels() -> None:
    found = conditions(f"kind: latin_hypercube, samples: 16, factors: {{{SIZE}, {ATTENTION}, {ALGORITHM}}}")
    assert [each.name for each in found] == [f"c{number:02d}" for number in range(1, 17)]
    parts = [math.log(each / 0.01) / math.log(100) * 16 for each in column(found, "feed.attention")]
    assert sorted(int(each) for each in parts) == [*range(16)]
    assert sorted(column(found, "feed.size")) == sorted([*range(1, 9)] * 2), "16 parts on 8 whole numbers"
    assert sorted(column(found, "feed.algorithm")) == ["hot"] * 8 + ["random"] * 8
    grid = conditions(f"kind: morris, trajectories: 5, factors: {{{SIZE}, {THRESHOLD}, {ALGORITHM}}}")
    assert len(grid) == 5 * (3 + 1)
    assert set(column(grid, "population.ambiguity")) <= {0.0, 0.166667, 0.333333, 0.5}
    assert set(column(grid, "feed.size")) <= {1, 3, 6, 8}


def test_the_points_are_those_that_were_written_down() -> None:
    """Other points would be other conditions: all cells of everybody's experiments would be run again."""
    factors = f"factors: {{{ATTENTION}, {THRESHOLD}}}"
    firsts = {
        kind: [*conditions(f"kind: {kind}, {count}: 4, {factors}")[1].settings.values()]
        for kind, count in (("latin_hypercube", "samples"), ("sobol", "samples"), ("morris", "trajectories"))
    }
    assert firsts == {
        "latin_hypercube": [0.150467, 0.0849747],
        "sobol": [0.150217, 0.0813177],
        "morris": [1.0, 0.0],
    }


def table(text: str) -> tuple[Condition, ...]:
    design = "design: {kind: table, file: design.csv}\n"
    return read_experiment(HEAD + design, "e.yaml", lambda name: (text, f"there/{name}")).conditions


def test_a_table_has_a_condition_in_each_row_whose_cells_are_read_as_settings() -> None:
    found = table('\ufefffeed.size,name,feed.algorithm\r\n3,"a, b",hot\r\n\r\n0.5,c,"null"\r\n')
    assert [(each.name, each.settings, each.line) for each in found] == [
        ("a, b", {"feed.size": 3, "feed.algorithm": "hot"}, 2),
        ("c", {"feed.size": 0.5, "feed.algorithm": None}, 4),
    ]
    assert [each.name for each in table("feed.size\n3\n4\n")] == ["c1", "c2"]
    with pytest.raises(ConfigError, match="1 to 10,000 lines below it; got 10,001"):
        table("feed.size\n" + "3\n" * 10_001)


@catalogue(
    ("text", "problem"),
    [
        ("", "there/design.csv: expected a line with the names of settings, and 1 to 10,000 lines below it; got 0"),
        ("feed.size,\n3,4\n", "there/design.csv:1: expected columns with the names of different settings, such as "),
        ("feed.size,feed.size\n3,4\n", "there/design.csv:1: expected columns with the names of different settings"),
        ("name\na\n", "there/design.csv:1: expected columns with the names of different settings"),
        ("feed.size,name\n3,a\n4\n", "there/design.csv:3: expected 2 columns, got 1"),
        ("feed.size,name\n3,a\n ,b\n", "there/design.csv:3: feed.size: is empty: expected a value in every row"),
        ("feed.size,name\n3,a\n5,a\n", "there/design.csv:3: name: the name a stands in line 2, too"),
        ("feed.size\n[3\n", "there/design.csv:2: feed.size: not valid YAML: "),
        ('feed.size\n3\n"4\n', "there/design.csv:3: bad CSV: unexpected end of data"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line_and_column(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        table(text)
    assert str(refused.value).startswith(problem)


@catalogue(
    ("design", "problem"),
    [
        (f"kind: sobol, factors: {{{SIZE}}}", "design: expected samples for a design of kind sobol"),
        (
            f"kind: morris, samples: 4, factors: {{{SIZE}}}",
            "design.samples: a design of kind morris has factors and trajectories, not samples",
        ),
        (f"kind: factorial, factors: {{{SIZE}}}", "design.factors.feed.size: a design of kind factorial has lists of"),
        (
            f"kind: sobol, samples: 12, factors: {{{SIZE}}}",
            "design.samples: a Sobol sequence is balanced for a power of 2 alone: expected 8 or 16, got 12",
        ),
        (
            f"kind: sobol, samples: 4096, factors: {{{SIZE}}}",
            "design.samples: expected at most 10,000 conditions, got 12,288 points (4,096 x (1 factors + 2))",
        ),
        (
            f"kind: morris, trajectories: 4, levels: 5, factors: {{{SIZE}}}",
            "design.levels: expected an even number of levels, got 5",
        ),
        (
            "kind: sobol, samples: 4, factors: {feed.attention: {low: 0, high: 1, scale: log}}",
            "design.factors.feed.attention: a range on a log scale needs a low above 0, got 0",
        ),
        (
            "kind: sobol, samples: 4, factors: {feed.size: {low: 1.5, high: 3, whole: true}}",
            "design.factors.feed.size: expected whole numbers as low and high, got 1.5 and 3",
        ),
        (
            "kind: sobol, samples: 4, factors: {feed.size: {low: 1, high: 3}}",
            "design.factors.feed.size: this setting takes whole numbers: expected whole: true",
        ),
        (
            "kind: sobol, samples: 4, factors: {feed.algorithm: {low: 1, high: 3}}",
            "design.factors.feed.algorithm: this setting is non-empty text, ",
        ),
    ],
)
def test_a_design_that_cannot_be_is_refused_with_its_line(design: str, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        conditions(design)
    assert str(refused.value).replace("`", "").startswith("e.yaml:5: " + problem.replace("`", ""))

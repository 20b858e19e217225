"""The file of an experiment: what it means, its conditions, what is wrong with a wrong one, and the shipped ones."""

import gzip
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors.studies.experiments.plan import make_plan
from prism.errors import ConfigError
from prism.experiment.design import Condition
from prism.experiment.experiment_file import read_experiment
from prism.experiment.hypothesis_tests import smallest_p
from tests.catalogue import catalogue
from tests.paths import ROOT

HEAD = "question: Does it matter?\nbase: base.yaml\nseeds: 3\nmeasures: {likes: likes}\n"
LIST = f"{HEAD}design: {{conditions: {{a: {{feed.size: 3}}, b: {{feed.size: 5}}}}}}\n"
LEVELS = "factors: {feed.size: [3, 5, 7], feed.algorithm: [hot, random]}"
SIZE = "feed.size: {low: 1, high: 8, whole: true}"
ATTENTION = "feed.attention: {low: 0.01, high: 1, scale: log}"
THRESHOLD = "population.ambiguity: {low: 0, high: 0.5}"
ALGORITHM = "feed.algorithm: [hot, random]"


def designed(design: str) -> str:
    return f"{HEAD}design: {{{design}}}\n"


def conditions(design: str) -> tuple[Condition, ...]:
    return read_experiment(designed(design), "e.yaml").conditions


def column(found: tuple[Condition, ...], name: str) -> list[Any]:
    return [each.settings[name] for each in found]


def refusal(read: Callable[[], object]) -> str:
    with pytest.raises(ConfigError) as refused:
        read()
    return str(refused.value)


def test_a_list_has_its_conditions_and_seeds_count_from_one() -> None:
    found = read_experiment(LIST, "e.yaml")
    assert {each.name: each.settings for each in found.conditions} == {"a": {"feed.size": 3}, "b": {"feed.size": 5}}
    assert found.seeds == (1, 2, 3)
    assert read_experiment(LIST.replace("seeds: 3", "seeds: [7, 5]"), "e.yaml").seeds == (7, 5)


def test_a_factorial_has_every_combination_and_one_at_a_time_each_level_alone() -> None:
    full = conditions(f"kind: factorial, {LEVELS}")
    assert len(full) == 6
    assert full[1].name == "size=3 algorithm=random"
    assert full[1].settings == {"feed.size": 3, "feed.algorithm": "random"} == full[1].factors
    alone = conditions(f"kind: one_at_a_time, {LEVELS}")
    assert [[*each.settings.values()] for each in alone] == [[3, "hot"], [5, "hot"], [7, "hot"], [3, "random"]]


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
    file = designed("kind: table, file: design.csv")
    return read_experiment(file, "e.yaml", lambda name: (text, f"there/{name}")).conditions


def test_a_table_has_a_condition_in_each_row_whose_cells_are_read_as_settings() -> None:
    found = table('\ufefffeed.size,name,feed.algorithm\r\n3,"a, b",hot\r\n\r\n0.5,c,"null"\r\n')
    assert [(each.name, each.settings, each.line) for each in found] == [
        ("a, b", {"feed.size": 3, "feed.algorithm": "hot"}, 2),
        ("c", {"feed.size": 0.5, "feed.algorithm": None}, 4),
    ]
    assert [each.name for each in table("feed.size\n3\n4\n")] == ["c1", "c2"]


@catalogue(
    ("text", "problem"),
    [
        ("", ": expected a line with the names of settings, and 1 to 10,000 lines below it; got 0"),
        ("feed.size\n" + "3\n" * 10_001, ": expected a line with the names of settings, and 1 to 10,000 lines below"),
        ("feed.size,\n3,4\n", ":1: expected columns with the names of different settings, such as "),
        ("feed.size,feed.size\n3,4\n", ":1: expected columns with the names of different settings"),
        ("name\na\n", ":1: expected columns with the names of different settings"),
        ("feed.size,name\n3,a\n4\n", ":3: expected 2 columns, got 1"),
        ("feed.size,name\n3,a\n ,b\n", ":3: feed.size: is empty: expected a value in every row"),
        ("feed.size,name\n3,a\n5,a\n", ":3: name: the name a stands in line 2, too"),
        ("feed.size\n[3\n", ":2: feed.size: not valid YAML: "),
        ('feed.size\n3\n"4\n', ":3: bad CSV: unexpected end of data"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line_and_column(text: str, problem: str) -> None:
    assert refusal(lambda: table(text)).startswith(f"there/design.csv{problem}")


def asked(hypothesis: str) -> str:
    return f"{LIST}hypotheses:\n  - {{measure: likes, contrast: [a, b], {hypothesis}}}\n"


@catalogue(
    ("text", "problem"),
    [
        ("", ": question: is missing"),
        (
            designed(f"kind: factorial, {LEVELS}").replace("seeds: 3", "seeds: 100000"),
            ":3: seeds: expected at most 200,000 cells, got 600,000: 6 conditions, 100,000 seeds",
        ),
        (LIST.replace("seeds: 3", "seeds: [4, 4]"), ":3: seeds: expected 2 different seeds or more"),
        (LIST.replace("{likes: likes}", "{}"), ":4: measures: expected one measure or more"),
        (f"{LIST}set: {{simulation.seed: 3}}\n", ":6: set.simulation.seed: is given by the key seeds"),
        (
            f"{HEAD}design:\n  conditions:\n    a.b: {{feed.size: 3}}\n    c: {{simulation.seed: 5}}\n",
            ":8: design.conditions.c.simulation.seed: is given by the key seeds",
        ),
        (asked("test: permutations"), ":7: hypotheses[0].test: expected one of: equivalence, mann_whitney"),
        (
            asked("").replace("measure: likes", "measure: love"),
            ":7: hypotheses[0].measure: no 'love' among the measures: expected one of likes",
        ),
        (
            asked("").replace("[a, b]", "[a, c]"),
            ":7: hypotheses[0].contrast: no 'c' among the conditions: expected one of a, b",
        ),
        (asked("margin: 2"), ":7: hypotheses[0].margin: expected a margin for the test equivalence, and for no other"),
        (
            f"{LIST}thresholds:\n  - {{measure: likes, most: 3}}\n  - {{measure: likes, least: 3, most: 2.5}}\n",
            ":8: thresholds[1].least: expected least <= most, got 3 and 2.5: no mean can meet both",
        ),
        (f"{LIST}thresholds: [{{measure: likes}}]\n", ":6: thresholds[0]: expected least, most or both"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(text: str, problem: str) -> None:
    assert refusal(lambda: read_experiment(text, "e.yaml")).startswith(f"e.yaml{problem}")


@catalogue(
    ("design", "problem"),
    [
        (
            "kind: factorial, factors: {x.a: [p b=q, p], x.b: [r, q b=r]}",
            ": two conditions have the name a=p b=q b=r",
        ),
        ("factors: {a.b: [1, 2]}", ".factors: a design of kind list has conditions"),
        ("kind: factorial, factors: {a.b: [1]}", ".factors.a.b: expected two levels or more, got [1]"),
        ("kind: factorial, factors: {a.b: [1, 1]}", ".factors.a.b: the level 1 stands twice"),
        (f"kind: sobol, factors: {{{SIZE}}}", ": expected samples for a design of kind sobol"),
        (
            f"kind: morris, samples: 4, factors: {{{SIZE}}}",
            ".samples: a design of kind morris has factors and trajectories, not samples",
        ),
        (f"kind: factorial, factors: {{{SIZE}}}", ".factors.feed.size: a design of kind factorial has lists of"),
        (
            f"kind: sobol, samples: 12, factors: {{{SIZE}}}",
            ".samples: a Sobol sequence is balanced for a power of 2 alone: expected 8 or 16, got 12",
        ),
        (
            f"kind: sobol, samples: 4096, factors: {{{SIZE}}}",
            ".samples: expected at most 10,000 conditions, got 12,288 points (4,096 x (1 factors + 2))",
        ),
        (
            f"kind: morris, trajectories: 4, levels: 5, factors: {{{SIZE}}}",
            ".levels: expected an even number of levels, got 5",
        ),
        (
            "kind: sobol, samples: 4, factors: {feed.attention: {low: 0, high: 1, scale: log}}",
            ".factors.feed.attention: a range on a log scale needs a low above 0, got 0",
        ),
        (
            "kind: sobol, samples: 4, factors: {feed.size: {low: 1.5, high: 3, whole: true}}",
            ".factors.feed.size: expected whole numbers as low and high, got 1.5 and 3",
        ),
        (
            "kind: sobol, samples: 4, factors: {feed.size: {low: 1, high: 3}}",
            ".factors.feed.size: this setting takes whole numbers: expected whole: true",
        ),
        (
            "kind: sobol, samples: 4, factors: {feed.algorithm: {low: 1, high: 3}}",
            ".factors.feed.algorithm: this setting is non-empty text, ",
        ),
    ],
)
def test_a_design_that_cannot_be_is_refused_with_its_line(design: str, problem: str) -> None:
    assert refusal(lambda: conditions(design)).replace("`", "").startswith(f"e.yaml:5: design{problem}")


@pytest.mark.slow
@catalogue("path", sorted((ROOT / "configs" / "experiments").glob("*.yaml")))
def test_a_shipped_experiment_has_seeds_enough_for_each_of_its_hypotheses(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("facebook_combined.txt.gz").write_bytes(gzip.compress(b"0 1\n1 2\n"))  # which whoever runs it downloads
    experiment = make_plan(path).experiment
    for each in experiment.hypotheses:
        assert smallest_p(each, len(experiment.seeds)) * len(experiment.hypotheses) < experiment.alpha

"""The file of an experiment: what it means, what is wrong with a wrong one, and those that are shipped."""

import gzip
from pathlib import Path

import pytest

from actors.studies.experiments.plan import make_plan
from prism.errors import ConfigError
from prism.experiment.experiment_file import read_experiment
from prism.experiment.hypothesis_tests import smallest_p
from tests.catalogue import catalogue
from tests.paths import ROOT

HEAD = "question: Does it matter?\nbase: base.yaml\nseeds: 3\nmeasures: {likes: likes}\n"
LIST = "design: {conditions: {a: {feed.size: 3}, b: {feed.size: 5}}}\n"
FACTORS = "design: {kind: KIND, factors: {feed.size: [3, 5, 7], feed.algorithm: [hot, random]}}\n"


def test_a_list_has_its_conditions_and_seeds_count_from_one() -> None:
    found = read_experiment(HEAD + LIST, "e.yaml")
    assert [(each.name, each.settings) for each in found.conditions] == [
        ("a", {"feed.size": 3}),
        ("b", {"feed.size": 5}),
    ]
    assert found.seeds == (1, 2, 3)
    assert read_experiment((HEAD + LIST).replace("seeds: 3", "seeds: [7, 5]"), "e.yaml").seeds == (7, 5)


def test_a_factorial_has_every_combination_and_one_at_a_time_each_level_alone() -> None:
    full = read_experiment(HEAD + FACTORS.replace("KIND", "factorial"), "e.yaml").conditions
    assert len(full) == 6
    assert full[1].name == "size=3 algorithm=random"
    assert full[1].settings == {"feed.size": 3, "feed.algorithm": "random"} == full[1].factors
    alone = read_experiment(HEAD + FACTORS.replace("KIND", "one_at_a_time"), "e.yaml").conditions
    assert [each.settings for each in alone] == [
        {"feed.size": 3, "feed.algorithm": "hot"},
        {"feed.size": 5, "feed.algorithm": "hot"},
        {"feed.size": 7, "feed.algorithm": "hot"},
        {"feed.size": 3, "feed.algorithm": "random"},
    ]


@catalogue(
    ("text", "problem"),
    [
        ("", "e.yaml: question: is missing"),
        (
            HEAD.replace("3", "100000") + FACTORS.replace("KIND", "factorial"),
            "e.yaml:3: seeds: expected at most 200,000 cells, got 600,000: 6 conditions, 100,000 seeds",
        ),
        (
            HEAD + "design: {kind: factorial, factors: {x.a: [p b=q, p], x.b: [r, q b=r]}}\n",
            "e.yaml:5: design: two conditions have the name a=p b=q b=r",
        ),
        (HEAD + "design: {factors: {a.b: [1, 2]}}\n", "e.yaml:5: design.factors: a design of kind list has conditions"),
        (
            HEAD + "design: {kind: factorial, factors: {a.b: [1]}}\n",
            "e.yaml:5: design.factors.a.b: expected two levels or more, got [1]",
        ),
        (
            HEAD + "design: {kind: factorial, factors: {a.b: [1, 1]}}\n",
            "e.yaml:5: design.factors.a.b: the level 1 stands twice",
        ),
        ((HEAD + LIST).replace("seeds: 3", "seeds: [4, 4]"), "e.yaml:3: seeds: expected 2 different seeds or more"),
        (
            HEAD + LIST + "hypotheses:\n  - {measure: likes, contrast: [a, b], test: permutations}\n",
            "e.yaml:7: hypotheses[0].test: expected one of: equivalence, mann_whitney",
        ),
        (HEAD + LIST + "set: {simulation.seed: 3}\n", "e.yaml:6: set.simulation.seed: is given by the key seeds"),
        (
            HEAD + LIST + "hypotheses:\n  - {measure: love, contrast: [a, b]}\n",
            "e.yaml:7: hypotheses[0].measure: no 'love' among the measures: expected one of likes",
        ),
        (
            HEAD + LIST + "hypotheses: [{measure: likes, contrast: [a, c]}]\n",
            "e.yaml:6: hypotheses[0].contrast: no 'c' among the conditions: expected one of a, b",
        ),
        (
            HEAD + LIST + "hypotheses: [{measure: likes, contrast: [a, b], margin: 2}]\n",
            "e.yaml:6: hypotheses[0].margin: expected a margin for the test equivalence, and for no other",
        ),
        (
            HEAD + LIST + "thresholds:\n  - {measure: likes, most: 3}\n  - {measure: likes, least: 3, most: 2.5}\n",
            "e.yaml:8: thresholds[1].least: expected least <= most, got 3 and 2.5: no mean can meet both",
        ),
        (
            HEAD + "design:\n  conditions:\n    a.b: {feed.size: 3}\n    c: {simulation.seed: 5}\n",
            "e.yaml:8: design.conditions.c.simulation.seed: is given by the key seeds",
        ),
        (HEAD + LIST + "thresholds: [{measure: likes}]\n", "e.yaml:6: thresholds[0]: expected least, most or both"),
        (HEAD.replace("{likes: likes}", "{}") + LIST, "e.yaml:4: measures: expected one measure or more"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_experiment(text, "e.yaml")
    assert str(refused.value).startswith(problem.replace("`", ""))


SHIPPED = sorted((ROOT / "configs" / "experiments").glob("*.yaml"))


@pytest.mark.slow
@catalogue("path", SHIPPED)
def test_a_shipped_experiment_has_seeds_enough_for_each_of_its_hypotheses(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("facebook_combined.txt.gz").write_bytes(gzip.compress(b"0 1\n1 2\n"))  # which whoever runs it downloads
    experiment = make_plan(path).experiment
    for each in experiment.hypotheses:
        assert smallest_p(each, len(experiment.seeds)) * len(experiment.hypotheses) < experiment.alpha

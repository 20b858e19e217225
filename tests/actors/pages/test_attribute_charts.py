"""The attributes that people change, in the report of a run: their distribution over the rounds, and what happened."""

from __future__ import annotations

from copy import copy
from pathlib import Path

import numpy as np
import pytest

from actors.pages.attribute_charts import attributes_in_words
from actors.pages.report import report
from actors.record.rounds import read_rounds
from actors.results.distributions import NumberCourse, ValueCourse, moment_of
from actors.results.run_record import RunRecord
from prism.columns import Floats
from tests.catalogue import catalogue
from tests.command import prism_alone
from tests.paths import ROOT

RULES = ROOT / "configs" / "rules"
FEW = (
    "simulation.rounds=5",
    "simulation.ticks_per_round=44",
    "population.size=41",
    "population.graph.degree=40",
    "feed.size=40",
)


def made(place: Path, *settings: str) -> RunRecord:
    pairs = [part for each in (*FEW, *settings) for part in ("--set", each)]
    ended = prism_alone("run", str(ROOT / "configs" / "opinions.yaml"), *pairs, "-q", "--out", str(place))
    assert ended.code == 0, ended.err
    return with_people(place)


def with_people(path: Path) -> RunRecord:
    run = RunRecord(path, path.name)
    run.read_people()
    return run


def in_words(run: RunRecord, course: NumberCourse) -> str:
    other = copy(run)
    other.attributes = (course,)
    (words,) = attributes_in_words(other)
    return words


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    return made(tmp_path_factory.mktemp("bounded") / "run")


@pytest.fixture(scope="module")
def voters(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    return made(tmp_path_factory.mktemp("voters") / "run", f"statechart.file={RULES / 'voter.yaml'}")


def test_numbers_have_the_measures_of_the_run_at_the_end_of_each_round(bounded: RunRecord) -> None:
    (opinion,) = bounded.attributes  # what charts count within a round is the same at the end of each
    assert isinstance(opinion, NumberCourse)
    rounds = read_rounds(bounded.path)
    assert opinion.rounds == [0, *map(int, rounds["round"])]
    assert [each.spread**2 for each in opinion.moments[1:]] == pytest.approx(rounds["variance_opinion"], rel=1e-5)
    assert [each.bimodality for each in opinion.moments[1:]] == pytest.approx(rounds["bimodality_opinion"], rel=1e-5)
    assert opinion.moments[0].spread > opinion.moments[-1].spread > 0
    assert [len(each.values) for each in opinion.moments] == [41] * 6


def test_values_have_their_shares_at_the_end_of_each_round(voters: RunRecord) -> None:
    (camp,) = voters.attributes
    assert isinstance(camp, ValueCourse)
    assert isinstance(voters.audience, tuple)
    reds = voters.audience.attributes["camp"].count("red")
    assert camp.shares[0]["red"] == reds / 41
    assert [sum(each.values()) for each in camp.shares] == pytest.approx([1.0] * 6)


def test_the_report_begins_with_what_happened_and_draws_it(bounded: RunRecord, voters: RunRecord) -> None:
    (told,) = attributes_in_words(bounded)
    page = report([bounded])
    assert page.count(told) == 2  # at the top, and above the picture
    section = page[page.index("<h2>People and ties</h2>") :]
    assert section.index(told) < section.index("Opinion over the rounds") < section.index("variance opinion")
    both = report([bounded, voters])
    assert all(words in both for words in (told, "Opinion over the rounds, ", "Camp over the rounds, "))


def test_a_run_in_which_nobody_changes_has_no_such_part(tmp_path: Path) -> None:
    settings = [part for each in ("population.size=40", "simulation.rounds=2") for part in ("--set", each)]
    assert (
        prism_alone("run", str(ROOT / "configs" / "friends.yaml"), *settings, "-q", "--out", str(tmp_path / "run")).code
        == 0
    )
    run = with_people(tmp_path / "run")
    assert run.attributes == ()
    assert "People and ties" not in report([run])


SPREAD = np.linspace(0.0, 1.0, 101)
CAMPS = np.repeat([0.1, 0.9], [40, 61])
FRINGE = np.repeat([0.5, 1.0], [98, 3])


@catalogue(
    ("before", "after", "told"),
    [
        (SPREAD, SPREAD / 4, ["came closer in mood", "fell from 0.29 to 0.073", "from 0.5 to 0.125."]),
        (SPREAD / 4, SPREAD, ["moved apart in mood", "rose from 0.073 to 0.29"]),
        (SPREAD, SPREAD + 0.5, ["stayed as far apart in mood", "was 0.29 and is 0.29", "from 0.5 to 1."]),
        (SPREAD, SPREAD * 0 + 0.4, ["All people came to the same mood: 0.4."]),
        (SPREAD, SPREAD / 1e6, ["to almost 0."]),
        (SPREAD, CAMPS, ["split into two clusters: 40 people around 0.1 and 61 around 0.9."]),
        (CAMPS, CAMPS / 2, ["came closer", "still are two clusters: 40 people around 0.05 and 61 around 0.45."]),
    ],
)
def test_a_sentence_says_what_happened(bounded: RunRecord, before: Floats, after: Floats, told: list[str]) -> None:
    course = NumberCourse("mood", False, 0.0, 1.0, [0, 1], [moment_of(before), moment_of(after)])
    words = in_words(bounded, course)
    assert [part for part in told if part not in words] == []
    assert ("clusters" in words) == ("clusters" in "".join(told))


def test_a_few_people_on_the_fringe_are_no_cluster(bounded: RunRecord) -> None:
    assert moment_of(FRINGE).bimodality > 0.9
    course = NumberCourse("mood", False, 0.0, 1.0, [0, 1], [moment_of(SPREAD), moment_of(FRINGE)])
    words = in_words(bounded, course)
    assert "clusters" not in words


def test_of_many_people_the_values_that_are_kept_have_their_quantiles() -> None:
    values = np.random.default_rng(1).normal(size=50_000)
    kept = moment_of(values)
    assert len(kept.values) == 1001
    assert np.quantile(kept.values, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(values, [0.1, 0.5, 0.9]), abs=0.01)
    assert kept.spread == pytest.approx(values.std())

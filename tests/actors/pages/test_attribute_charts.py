"""The attributes that people change, in the report of a run: their distribution over the rounds, and what happened."""

from __future__ import annotations

from copy import copy
from pathlib import Path

import numpy as np
import pytest

from actors.pages.attribute_charts import attributes_in_words
from actors.pages.report import report
from actors.results.distributions import NumberCourse, ValueCourse, moment_of
from actors.results.run_record import RunRecord
from actors.store.rounds import read_rounds
from prism.columns import Floats
from tests.catalogue import catalogue
from tests.recorded import changing_run


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """A run of people who change, with the measures of one of their numbers."""
    people = {
        "size": 30,
        "graph": {"kind": "barabasi_albert", "degree": 6},
        "attributes": {
            "opinion": {"type": "float", "min": -1, "max": 1},
            "seen": {"type": "int", "default": 0, "min": 0, "max": 6},
            "pause": {"type": "float", "default": 1, "min": 1, "max": 9},
            "camp": {"type": "text", "values": ["north", "south"]},
        },
        "measures": ["variance_opinion", "bimodality_opinion"],
    }
    run = RunRecord(changing_run(tmp_path_factory.mktemp("measured"), population=people), "run")
    run.read_people()
    return run


def test_numbers_and_values_are_those_of_the_run_at_the_end_of_each_round(measured: RunRecord) -> None:
    courses = {each.name: each for each in measured.attributes}
    opinion, camp = courses["opinion"], courses["camp"]
    assert isinstance(opinion, NumberCourse)
    rounds = read_rounds(measured.path)
    assert opinion.rounds == [0, *map(int, rounds["round"])]
    assert [each.spread**2 for each in opinion.moments[1:]] == pytest.approx(rounds["variance_opinion"], rel=1e-5)
    assert [each.bimodality for each in opinion.moments[1:]] == pytest.approx(rounds["bimodality_opinion"], rel=1e-5)
    assert [len(each.values) for each in opinion.moments] == [30] * 5
    assert isinstance(camp, ValueCourse)
    assert isinstance(measured.audience, tuple)
    assert camp.shares[0]["north"] == [*measured.audience.attributes["camp"]].count("north") / 30
    assert [sum(each.values()) for each in camp.shares] == pytest.approx([1.0] * 5)


def test_the_report_begins_with_what_happened_and_draws_it(measured: RunRecord, small_run: Path) -> None:
    told = attributes_in_words(measured)
    page = report([measured])
    assert page.count(told[0]) == 2  # at the top, and above the pictures
    section = page[page.index("<h2>People and ties</h2>") :]
    assert section.index(told[0]) < section.index("Opinion over the rounds") < section.index("variance opinion")
    assert "Camp over the rounds" in section
    nobody = RunRecord(small_run, "run")
    nobody.read_people()
    assert nobody.attributes == ()


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
        (SPREAD, FRINGE, []),  # a few people on the fringe are no cluster
    ],
)
def test_a_sentence_says_what_happened(measured: RunRecord, before: Floats, after: Floats, told: list[str]) -> None:
    other = copy(measured)
    moments = [moment_of(before), moment_of(after)]
    other.attributes = (NumberCourse("mood", False, 0.0, 1.0, [0, 1], moments),)
    (words,) = attributes_in_words(other)
    assert [part for part in told if part not in words] == []
    assert ("clusters" in words) == ("clusters" in "".join(told))


def test_of_many_people_the_values_that_are_kept_have_their_quantiles() -> None:
    values = np.random.default_rng(1).normal(size=50_000)
    kept = moment_of(values)
    assert len(kept.values) == 1001
    assert np.quantile(kept.values, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(values, [0.1, 0.5, 0.9]), abs=0.01)
    assert kept.spread == pytest.approx(values.std())

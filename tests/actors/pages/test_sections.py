"""Sections of a report: attributes that people change, causes, an audit, and the warning of shared judgements."""

import re
from copy import copy
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from actors.pages.counterfactuals import anchor, audit_section, cause_parts
from actors.pages.page import rendered, tag
from actors.pages.time_charts import attributes_in_words
from actors.pages.words import sharing_notice
from actors.results.run_record import AttributeCourse, RunRecord, moment_of
from actors.store.rounds import read_rounds
from actors.studies.audit.record import keep_audit
from actors.studies.causes.record import Causes, Kept, Tried
from prism.audit.words import paragraph_of
from prism.columns import Floats
from prism.experiment.hypothesis_tests import Interval
from prism.sharing.audit import Estimate, SharedShares, SharingSummary
from prism.social.people.population import Population
from tests.actors.pages.test_report import words_of
from tests.actors.studies.causes.test_kept import LIKES
from tests.audit.audits import with_each_verdict
from tests.catalogue import catalogue
from tests.hostile_texts import MARKUP
from tests.recorded import changing_run


def drawn(mean: float, low: float, high: float) -> Interval:
    return Interval(mean=mean, low=low, high=high, sd=1.0, count=6)


PERSON, *_ = LIKES.causes
DECISION = {"kind": "decisions", "what": "P9 (9): reshares, not scrolls", "was": "reshares", "would_be": "scrolls"}
FOUND = replace(
    LIKES,
    of="cascade:1",
    value=4.0,
    ticks=10,
    tried=(Tried(kind="people", candidates=10, tried=5, with_effect=2),),
    causes=(
        replace(PERSON, what="P7 (7)", value=0.0, effect=4.0, other_draws=drawn(2.5, 1.5, 3.5)),
        replace(PERSON, **DECISION, tick=1, value=2.0, effect=2.0, other_draws=drawn(0.5, -0.5, 1.5)),
    ),
    smaller=(replace(PERSON, effect=0.25), replace(PERSON, kind="ties", what="P5 (5)", effect=-1.0, whom=9)),
    futures=20,
    kept=3,
    computed=1,
)


def html(found: Causes, ticks: int = 10) -> str:
    parts = cause_parts(Kept(found=(found,), problems=("causes/x.json: cannot be read",)), ticks)
    return "".join(rendered(part, lambda picture: rendered(tag("svg", picture.title))) for part in parts)


def test_what_was_found_is_said_in_words_with_its_id_and_what_cannot_be_read() -> None:
    page = html(FOUND)
    assert f'id="{anchor("cascade:1")}"' in page
    assert "It is 4 after 10 ticks. The largest effect: P7 (7), +4; under 6 other draws +2.5 [+1.5, +3.5]." in page
    assert "people: 5 of 10 tried, 2 with an effect" in page
    assert "3 kept their recorded answers, 1 were never asked" in page
    assert "causes/x.json: cannot be read" in page
    assert "the run has" not in page
    assert "It was worked out after 10 ticks; the run has 20 now." in html(FOUND, ticks=20)


def test_nothing_with_an_effect_has_no_picture_and_names_are_text() -> None:
    page = html(replace(FOUND, causes=(), smaller=()))
    assert "Nothing that was undone changes it." in page
    assert "<svg" not in page
    text = "".join(MARKUP.values())
    page = html(replace(FOUND, of="likes", causes=(replace(FOUND.causes[0], what=text),), smaller=()))
    assert "<script" not in page
    assert "<img" not in page


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
    rounds = read_rounds(measured.path)
    assert opinion.rounds == [0, *map(int, rounds["round"])]
    assert [each.spread**2 for each in opinion.moments[1:]] == pytest.approx(rounds["variance_opinion"], rel=1e-5)
    assert [each.bimodality for each in opinion.moments[1:]] == pytest.approx(rounds["bimodality_opinion"], rel=1e-5)
    assert [len(each.values) for each in opinion.moments] == [30] * 5
    assert (opinion.is_number, camp.is_number) == (True, False)
    assert isinstance(measured.people, Population)
    assert camp.shares[0]["north"] == [each.attributes["camp"] for each in measured.people.personas].count("north") / 30
    assert [sum(each.values()) for each in camp.shares] == pytest.approx([1.0] * 5)


def test_the_report_begins_with_what_happened_and_draws_it(measured: RunRecord, small_run: Path) -> None:
    told = attributes_in_words(measured)
    page = words_of(measured)
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
        (SPREAD, SPREAD * 0 + 0.4, ["All people came to the same mood: 0.4."]),
        (SPREAD, CAMPS, ["split into two clusters: 40 people around 0.1 and 61 around 0.9."]),
        (SPREAD, FRINGE, []),  # a few people on the fringe are no cluster
    ],
)
def test_a_sentence_says_what_happened(measured: RunRecord, before: Floats, after: Floats, told: list[str]) -> None:
    other = copy(measured)
    mood = AttributeCourse("mood", [*before], is_number=True)
    mood.values = after
    mood.keep(1)
    other.attributes = (mood,)
    (words,) = attributes_in_words(other)
    assert [part for part in told if part not in words] == []
    assert ("clusters" in words) == ("clusters" in "".join(told))


def test_of_many_people_the_values_that_are_kept_have_their_quantiles() -> None:
    values = np.random.default_rng(1).normal(size=50_000)
    kept = moment_of(values)
    assert len(kept.values) == 1001
    assert np.quantile(kept.values, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(values, [0.1, 0.5, 0.9]), abs=0.01)
    assert kept.spread == pytest.approx(values.std())


def test_the_verdict_on_each_claim_stands_in_its_row(tmp_path: Path) -> None:
    found = with_each_verdict()
    found = replace(found, paragraph=paragraph_of(found))
    keep_audit(tmp_path, found)
    section = audit_section(tmp_path)
    assert section is not None
    page = "".join(map(rendered, section.parts))
    assert found.paragraph in page
    rows = [re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", row) for row in page.split("<tr")]
    verdicts = {row[0]: row[-1] for row in rows if row and row[0].startswith("claim ")}
    expected = ["survives", "weakens", "turns", "cannot tell", "cannot tell"]
    assert verdicts == {f"claim {number}": each for number, each in enumerate(expected, start=1)}


def summary(shared: float, low: float, high: float, *, audited: int = 100) -> SharingSummary:
    """Return the summary of a run in which `like` had this share, and would have had one from `low` to `high`."""
    corrected = {"like": Estimate(mean=(low + high) / 2, low=low, high=high)}
    shares = SharedShares(
        trigger="decides",
        state="reading",
        questions=1000,
        audits=audited,
        shared={"like": shared},
        corrected=corrected if audited else {},
    )
    return SharingSummary(
        fields=["followed: exact"],
        archetypes=3,
        asked_for_all=3,
        shared=900,
        audited=audited,
        calls=103,
        questions_per_call=10.0,
        divergence=Estimate(mean=0.01) if audited else None,
        shares=[shares],
    )


def test_what_sharing_did_is_a_warning_if_it_is_surely_wrong_far_or_unknown() -> None:
    for shared, low, high in ((0.5, 0.505, 0.52), (0.05, 0.04, 0.045)):
        assert sharing_notice(summary(shared, low, high)) is None
    for shared, low, high in ((0.5, 0.515, 0.55), (0.05, 0.03, 0.044)):
        notice = str(sharing_notice(summary(shared, low, high)))
        assert f"like has a share of {shared:.3f}, and would have " in notice
        assert f"({low:.3f} to {high:.3f}) if everybody had been asked" in notice
    far = Estimate(mean=0.06, low=0.051, high=0.07)
    found = replace(summary(0.5, 0.48, 0.52), divergence=far)
    assert "0.060 (0.051 to 0.070) bits" in str(sharing_notice(found))
    assert "without audits" in str(sharing_notice(summary(0.5, 0.4, 0.6, audited=0)))

"""The fixed rule on answers that name a study, and the variety of answers."""

import msgspec
import numpy as np
import pytest

from prism.audit.known import Informant, known_of, share_over_people, stems
from prism.audit.variety import Variety, calibration_of, variety_of
from prism.columns import Floats, Ints
from prism.errors import OracleResponseError
from tests.catalogue import catalogue

STUDY = "Does a feed ranked by popularity make larger cascades than a chronological one?"


@catalogue(
    ("answer", "told", "is_named"),
    [
        ("This studies how popularity ranking of a feed shapes cascading posts.", "", True),
        ("unknown", "", False),
        ("It is about how people respond to friends.", "", False),
        ("A study of popularity.", 'You see a post: "popularity is everything".', False),
        ("A study of how feeds are ranked.", 'You see a post: "popularity is everything".', True),
    ],
)
def test_an_answer_names_a_study_by_a_word_that_nobody_has_told(answer: str, told: str, is_named: bool) -> None:
    assert known_of([(answer, told)], stems(STUDY)).named == is_named


def test_a_share_of_answers_decides_and_few_answers_decide_nothing() -> None:
    names, other = ("It studies cascades.", ""), ("unknown", "")
    assert (known_of([names] * 8 + [other] * 8, stems(STUDY)).p or 1.0) < 0.001
    assert known_of([names, *[other] * 23], stems(STUDY)).p == pytest.approx(1.0 - 0.9**24)
    assert known_of([names] * 4, stems(STUDY)).p is None
    assert known_of([names] * 24, frozenset()).p is None
    assert known_of([names] * 8, stems(STUDY)).examples == ("It studies cascades.",)


def answers(
    random: np.random.Generator, spread: float, people: int = 80, each: int = 12
) -> tuple[Ints, Floats, Floats]:
    """Return the person, the act and the probability to act of each answer of people who differ by a spread."""
    of = np.repeat(np.arange(people), each)
    chance = 1.0 / (1.0 + np.exp(-(spread * random.normal(size=people))[of]))
    return of, (random.random(len(of)) < chance).astype(np.float64), chance


def test_people_who_differ_as_little_as_a_mean_are_found_and_those_who_differ_are_not() -> None:
    random = np.random.default_rng(2)
    people, acts, chance = answers(random, 1.5)
    varied = variety_of(people, acts, chance)
    assert varied.finding == "varies"
    assert varied.ratio is not None
    assert 0.6 < varied.ratio.value < 1.6
    alike = answers(random, 0.0)[1]
    for found, expected in {
        variety_of(people, alike, chance): "varies less",
        variety_of(people, alike, None, (people, acts)): "varies less",
        variety_of(people, np.zeros(len(acts)), chance): "does not vary",
    }.items():
        assert (found.p or 1.0) < 0.005
        assert found.judged(0.01).finding == expected
    assert variety_of(people, alike, None, (people, acts)).beside_what == "real people"
    assert (varied.p or 0.0) > 0.5


def test_one_person_differs_from_nobody() -> None:
    one, alike = np.zeros(8, dtype=np.int64), np.ones(8)
    for found in (
        variety_of(one, alike, None),
        variety_of(one, (np.arange(8) % 2).astype(np.float64), alike / 2.0, (one, alike)),
    ):
        assert found.model.between == 0.0
        assert found.finding == "cannot tell"
        assert msgspec.json.decode(msgspec.json.encode(found), type=Variety) == found


def test_calibration_sets_probabilities_beside_real_choices() -> None:
    random = np.random.default_rng(4)
    people, acts, chance = answers(random, 1.5)
    table = np.column_stack([1.0 - chance, chance])
    chosen, first = acts.astype(np.int64), np.zeros(len(acts), dtype=np.int64)
    good = calibration_of(people, table, chosen, first)
    poor = calibration_of(people, table[:, ::-1], chosen, first)
    # Of half of the questions the other option is the first one.
    turned = np.arange(len(acts)) % 2 == 1
    mixed = calibration_of(people, table, chosen, turned.astype(np.int64))
    assert sum(real * count for _, real, count in mixed.bins) == pytest.approx((acts != turned).sum())
    assert good.log_loss.value < good.log_loss_of_shares < poor.log_loss.value
    assert all(abs(said - real) < 0.1 for said, real, _ in good.bins)


def test_the_form_given_back_is_no_answer() -> None:
    """A model of 270 million parameters gave it back in six of ten answers, which named nothing."""
    asked = Informant(prompt=None)  # type: ignore[arg-type]  # reading looks at the answer alone
    assert asked.read('{"answer": " a study of  feeds "}') == "a study of feeds"
    for form in ('{"answer": "<one sentence>"}', '{"answer": " "}', '{"answer": 1}', "none"):
        with pytest.raises(OracleResponseError):
            asked.read(form)


def test_the_interval_of_a_share_counts_the_answers_of_one_person_once() -> None:
    people = np.repeat(np.arange(10), 20)
    found = share_over_people((people < 2).astype(float), people)
    assert [found.value, found.low, found.high] == pytest.approx([0.2, 0.057, 0.510], abs=0.001)
    assert (share_over_people(np.zeros(200), people).high or 0.0) > 0.25

"""Runs and outcomes in sentences."""

from __future__ import annotations

from typing import Any

from prism.answers import run_in_words, words_of
from prism.experiment.answer import Side, answered, described_by
from prism.experiment.hypothesis_tests import Hypothesis, compared, holm
from tests.catalogue import catalogue

PEOPLE = {
    "posts": 233,
    "replies": 1,
    "reshares": 205,
    "likes": 629,
    "largest_cascade": {"size": 41, "depth": 4},
    "cascade_sizes": {"1": 166, "41": 1},
    "cascade_size_median": 1,
    "cascades_alone": 0.712446,
}
ECONOMY = {"interest_rate": 5.33, "inflation": 0.584, "gdp_growth": -1.0, "unemployment": 3.15, "proposed": 200}
LAST = (
    "This is one run under one seed: another seed gives other numbers.",
    "The world is not calibrated on data: it shows directions, and not the sizes of a real world.",
)


def told(world: dict[str, Any], **facts: Any) -> list[str]:
    defaults = {"agents": 300, "rounds": 20, "simulated_s": 28_800.0, "calibration": None, "fallbacks": 0.0}
    return run_in_words(world, **(defaults | facts))


def test_a_run_of_people_is_told_with_its_largest_and_its_median_cascade() -> None:
    assert told(PEOPLE) == [
        "In 20 rounds (8 hours) 300 people wrote 233 posts and 1 reply, made 205 reshares and gave 629 likes.",
        "The largest cascade had 41 posts, the median cascade 1; 71% of the posts got no reply or reshare.",
        *LAST,
    ]


def test_an_economy_is_told_in_percent() -> None:
    world = ECONOMY | {"applied": 1}
    assert told(world, rounds=40) == [
        (
            "After 40 quarters the interest rate was 5.33%, inflation was 0.584%, growth of output was -1% and "
            "unemployment was 3.15%."
        ),
        "Of 200 proposals, 1 was applied.",
        *LAST,
    ]


def test_fallbacks_and_a_calibration_are_told() -> None:
    said = told(PEOPLE, calibration="calibrated on twitter15.csv", fallbacks=0.25, simulated_s=864_000.0)
    assert said[0] == "25% of the choices are fallbacks, made without the oracle."
    assert said[1].startswith("In 20 rounds (10 days) ")
    assert "The world is calibrated on twitter15.csv." in said


def test_a_run_of_less_than_a_round_is_told_in_ticks_and_minutes() -> None:
    assert told(PEOPLE, rounds=0, ticks_beyond=2, simulated_s=120.0)[0].startswith("In 2 ticks (2 minutes) ")


@catalogue(
    ("changes", "second"),
    [
        ({"posts": 0, "cascade_sizes": {}}, LAST[0]),
        ({"largest_cascade": {"size": 1, "depth": 0}}, "Nobody answered or reshared a post."),
    ],
)
def test_a_run_without_cascades_claims_none(changes: dict[str, Any], second: str) -> None:
    assert told(PEOPLE | changes)[1] == second


ALPHA = 0.05
CHRONOLOGICAL, INTEREST = "with a chronological feed", "with an interest feed"


def answer(
    first: Side, second: Side, place: str = "largest_cascade", *, measure: str = "m", **asked: object
) -> tuple[str, str]:
    """Return the finding and the text of the only hypothesis."""
    hypothesis = Hypothesis(measure=measure, contrast=("a", "b"), **asked)  # type: ignore[arg-type]  # as the test says
    (each,) = holm([compared(hypothesis, first.values, second.values)], ALPHA, 1)
    found = answered(each, words_of(measure, place), first, second, ALPHA)
    return found.finding, found.text


def test_a_mean_that_a_few_seeds_make_is_said_beside_it() -> None:
    first, second = Side(CHRONOLOGICAL, [60, 62, 64, 66, 68]), Side(INTEREST, [59, 61, 63, 600, 700])
    finding, text = answer(first, second, alternative="less")
    assert finding == "undecided"
    assert text.endswith("But in 3 of 5 seeds it was the other way around: the mean comes from the others.")


@catalogue(
    ("alternative", "begin"),
    [("less", "Yes. Over 20 matched seeds people gave"), ("greater", "No, the opposite. Over 20 matched seeds people")],
)
def test_a_direction_is_supported_or_refuted(alternative: str, begin: str) -> None:
    first = Side("under few", [float(seed) for seed in range(20)])
    second = Side("under many", [seed + 10 + 0.01 * seed for seed in range(20)])
    finding, text = answer(first, second, "likes", alternative=alternative)
    assert finding == ("yes" if alternative == "less" else "no")
    assert text.startswith(begin)
    assert "9.5 likes under few and 19.6 under many, 52% fewer (p < 0.001)." in text


def test_what_chance_may_have_made_is_undecided_and_few_seeds_are_said_to_decide_nothing() -> None:
    first, second = Side("under a", [1.0, 2.0, 3.0]), Side("under b", [2.0, 3.5, 4.0])
    finding, text = answer(first, second, "likes")
    assert finding == "undecided"
    assert text == (
        "Undecided. Over 3 matched seeds people gave on average 2 likes under a and 3.17 under b, 37% fewer, which "
        "chance alone may have made (p = 0.25; 3 seeds are few). 3 seeds can never decide it: the smallest p value of "
        "this test is 0.25."
    )


def test_of_equal_means_it_is_not_said_that_chance_made_a_difference() -> None:
    finding, text = answer(Side("under a", [1.0, 2.0, 3.0]), Side("under b", [2.0, 1.0, 3.0]), "likes")
    assert finding == "undecided"
    assert "2 likes under a and 2 under b, the same (p = 1;" in text


@catalogue(
    ("shift", "finding", "begin"),
    [(2.0, "no", "No, further apart than 0.5%."), (0.5, "undecided", "Undecided.")],
)
def test_an_equality_of_an_economy_is_answered_in_percent(shift: float, finding: str, begin: str) -> None:
    first = Side("under weak", [2.0 + 0.1 * (seed % 3) for seed in range(20)])
    second = Side("under strong", [2.0 + shift + 0.1 * (seed % 5) / 2 for seed in range(20)])
    found, text = answer(first, second, "rounds.mean.inflation", test="equivalence", margin=0.5)
    assert found == finding
    assert text.startswith(f"{begin} Over 20 matched seeds the mean inflation over the rounds was on average 2.09%")
    assert "percentage points lower" in text
    assert ("which may lie within 0.5% or beyond" in text) == (finding == "undecided")


def test_conditions_without_a_hypothesis_are_sentences_too() -> None:
    words = words_of("likes", "likes")
    one, two = Side("under a", [3.0]), Side("under b", [4.0])
    assert described_by(words, [one, two]).text == (
        "Over one seed people gave 3 likes under a and 4 under b, 25% fewer under a (one seed says "
        "nothing about chance)."
    )
    assert described_by(words, [one, one._replace(said="under b")]).text == (
        "Over one seed people gave 3 likes under a and 3 under b, the same (one seed says nothing about chance)."
    )
    assert described_by(words, [one, two, Side("under c", [9.0])]).text.startswith(
        "Over one seed people gave 3 likes under a, 4 under b and 9 under c ("
    )

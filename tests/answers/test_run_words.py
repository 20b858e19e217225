from typing import Any

from prism.answers import run_in_words
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

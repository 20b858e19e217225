"""Whole runs of the social world: their digests are known, and do not depend on who takes the turns."""

from random import Random
from typing import Any

import pytest

from prism.config import Config
from tests.actors.social_runs import digest_of, simulation
from tests.catalogue import catalogue
from tests.plain import plain_config
from tests.social.driver import assert_goes_on

ROUNDS, TICKS, PEOPLE = 6, 24, 60
Sections = dict[str, dict[str, Any]]


def config_of(sections: Sections, interventions: list[dict[str, Any]], way: str = "resident") -> Config:
    """Return the configuration of a small lively world, with these sections beside and over what makes it so."""
    settings: dict[str, Any] = {
        "simulation": {"rounds": ROUNDS, "ticks_per_round": TICKS, "seed": 11, **sections.get("simulation", {})},
        "population": {
            "size": PEOPLE,
            "posts_per_session": 0.4,
            "ambiguity": 0.3,
            "activity": {"mean": 0.4825},  # a factor of 0.6 before limits
            **sections.get("population", {}),
        },
        "feed": {"horizon_rounds": 3, **sections.get("feed", {})},
        "run": {"activation": way},
        "interventions": interventions,
    }
    return plain_config(**settings)


LATER: list[dict[str, Any]] = [
    {"tick": 20, "follow": [[1, 2], [3, 4], [5, 6]]},
    {"tick": 31, "unfollow": [[1, 2], [7, 8]]},
    {"tick": 40, "silence": [1, 2, 3], "until_round": 4},
    {"tick": 41, "silence": [9]},
    {"tick": 45, "publish": {"author": 7, "text": "A bridge", "topics": ["food", "bridges"], "quality": 0.9}},
    {"tick": 50, "set": {"feed.algorithm": "hot", "feed.memory": 3, "feed.size": 9, "feed.fill": "borrow"}},
    {"tick": 75, "set": {"feed.memory": 20, "feed.recent": 15, "feed.size": 2, "population.posts_per_session": 0.9}},
]
KNOWN: dict[str, tuple[Sections, list[dict[str, Any]], str]] = {
    "simple contagion": (
        {
            "feed": {
                "algorithm": "hot",
                "exposure": "simple",
                "fill": "borrow",
                "reshare_credit": "root",
                "out_of_network": 0.6,
            }
        },
        [],
        "fbe512f244f1e3b8",
    ),
    "complex contagion": (
        {
            "feed": {"algorithm": "interest", "exposure": "complex", "reshare_credit": "newest"},
            "population": {"quality_sigma": 0.7, "relevance": {"exposure": 0.2}},
        },
        [],
        "dd492c5973c4b6b1",
    ),
    "small memories": (
        {
            "feed": {"algorithm": "random", "recent": 9, "pool": 7, "memory": 5, "size": 3, "out_of_network": 0.5},
            "population": {"posts_by_followers": 0.4},
        },
        [],
        "c9a6483ca66cd2e6",
    ),
    "hours and interventions": (
        {
            "simulation": {"tick_seconds": 150},
            "feed": {"exposure": "simple", "attention": 0.7, "memory": 8},
            "population": {"activity": {"mean": 0.4825, "hours": [1.0, 3.0] * 12}},
        },
        LATER,
        "5b64b7322281114e",
    ),
}
"""`{name: (sections, interventions, the beginning of the digest)}`."""


@catalogue("way", ["resident", "compiled"])
@catalogue("name", KNOWN)
def test_runs_have_known_digests_in_both_activations(name: str, way: str) -> None:
    sections, interventions, digest = KNOWN[name]
    assert digest_of(config_of(sections, interventions, way))[:16] == digest


def drawn(seed: int) -> tuple[Sections, list[dict[str, Any]]]:
    """Return sections and interventions of a random world."""
    random = Random(seed)
    chance, exposure = random.choice, random.choice(("once", "simple", "complex"))
    population: dict[str, Any] = {
        "posts_per_session": chance((0.2, 0.9)),
        "posts_by_followers": chance((0.0, 1.5)),
        "quality_sigma": chance((0.0, 0.8)),
        "activity": {"mean": 0.6, **chance(({}, {"hours": [1.0, 3.0] * 12}))},
        "deliberation_minutes": chance((1.0, 7.0)),
        "relevance": {"exposure": 0.2 * (exposure == "complex")},
    }
    feed = {
        "algorithm": chance(("chronological", "hot", "interest", "random")),
        "exposure": exposure,
        "reshare_credit": chance(("seen", "root", "newest")),
        "fill": chance(("strict", "borrow")),
        "size": chance((1, 3, 6)),
        "out_of_network": chance((0.0, 0.3, 1.0)),
        "memory": chance((2, 10, 60)),
        "pool": chance((5, 30)),
        "recent": chance((4, 25, 500)),
        "horizon_rounds": chance((2, 5)),
        "attention": chance((0.6, 1.0)),
    }
    ticks = (random.randrange((ROUNDS - 1) * TICKS) for _ in range(6))
    people = random.sample(range(PEOPLE), 8)
    interventions: list[dict[str, Any]] = [
        {"publish": {"author": people[0], "text": "A bridge", "topics": ["food", "x"], "quality": chance((0.0, 0.9))}},
        {"set": {"feed.algorithm": chance(("hot", "random")), "feed.size": chance((2, 8)), "feed.memory": 4}},
        {"set": {"population.posts_per_session": 0.5, "feed.recent": 10, "feed.fill": chance(("strict", "borrow"))}},
        {"follow": [[people[1], people[2]], [people[3], people[4]]]},
        {"unfollow": [[people[1], people[2]], [people[5], people[6]]]},
        {"silence": people[5:], **chance(({}, {"until_round": ROUNDS}))},
    ]
    later = [{"tick": tick, **each} for tick, each in zip(ticks, interventions, strict=True)]
    sections = {"simulation": {"seed": seed, "tick_seconds": chance((60, 150))}, "population": population, "feed": feed}
    return sections, sorted(later, key=lambda each: each["tick"])


@pytest.mark.everyday(1)
@pytest.mark.parametrize("seed", range(24))
def test_a_random_world_has_one_digest_whoever_takes_the_turns(seed: int) -> None:
    sections, interventions = drawn(seed)
    ways = "resident", "compiled"
    assert len({digest_of(config_of(sections, interventions, way)) for way in ways}) == 1


@pytest.mark.everyday(1)
@pytest.mark.parametrize("seed", range(100, 112))
def test_a_random_world_goes_on_from_a_checkpoint_as_if_nothing_had_happened(seed: int) -> None:
    config = config_of(*drawn(seed), "compiled")
    assert_goes_on(lambda: simulation(config), 29)

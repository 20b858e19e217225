"""Whole runs of the social world: their digests are known, and do not depend on who takes the turns."""

from typing import Any

from prism.config import Config
from tests.actors.social_runs import digest_of
from tests.catalogue import catalogue
from tests.plain import plain_config

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
SIMPLE = {"algorithm": "hot", "exposure": "simple", "fill": "borrow", "reshare_credit": "root", "out_of_network": 0.6}
COMPLEX = {"algorithm": "interest", "exposure": "complex", "reshare_credit": "newest"}
SMALL = {"algorithm": "random", "recent": 9, "pool": 7, "memory": 5, "size": 3, "out_of_network": 0.5}
HOURS = {"activity": {"mean": 0.4825, "hours": [1.0, 3.0] * 12}}
KNOWN: dict[str, tuple[Sections, list[dict[str, Any]], str]] = {
    "simple contagion": ({"feed": SIMPLE}, [], "fbe512f244f1e3b8"),
    "complex contagion": (
        {"feed": COMPLEX, "population": {"quality_sigma": 0.7, "relevance": {"exposure": 0.2}}},
        [],
        "dd492c5973c4b6b1",
    ),
    "small memories": ({"feed": SMALL, "population": {"posts_by_followers": 0.4}}, [], "c9a6483ca66cd2e6"),
    "hours and interventions": (
        {
            "simulation": {"tick_seconds": 150},
            "feed": {"exposure": "simple", "attention": 0.7, "memory": 8},
            "population": HOURS,
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

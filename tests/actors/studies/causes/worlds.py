"""Small worlds in which one thing is known to be the cause, and what comes of them without it: run from the start."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.command import prism_alone
from tests.plain import plain

Settings = dict[str, Any]

KEEN = """
initial: away
states:
  away:
    role: offline
    transitions:
      - {trigger: feed_ready, target: reading}
      - {trigger: wants_to_post, target: writing}
  writing:
    after: {ticks: 1, trigger: written}
    transitions:
      - {trigger: written, target: reading, effect: post}
      - {trigger: round_ends, target: away}
  reading:
    role: browse
    after: {ticks: 2, trigger: timeout}
    transitions:
      - {trigger: sees_post, target: sharing, when: draw.uniform < KEENNESS}
      - {trigger: sees_post, target: reading}
      - {trigger: timeout, target: away}
      - {trigger: round_ends, target: away}
  sharing:
    effect: reshare
    after: {ticks: 1, trigger: shared}
    transitions:
      - {trigger: shared, target: reading}
      - {trigger: round_ends, target: away}
"""
"""People who reshare a post with one chance, whatever it is about. No choice is left to an oracle."""

TICKS_PER_ROUND = 8
BRIDGE = 6
"""The person through whom everything passes: others of the second group follow nobody outside of it."""
GROUP = 6
AUTHOR = 0
HUB = 0


def world(place: Path, ties: Sequence[tuple[int, int]], keenness: float = 0.8, rounds: int = 4) -> Settings:
    """Return the settings of people with these ties, `(follower, followee)`, who differ in nothing else.

    Nobody writes of their own accord. With another seed the people are the same, and all that is drawn is not.
    """
    chart, graph = place / "keen.yaml", place / "ties.csv"
    chart.write_text(KEEN.replace("KEENNESS", str(keenness)))
    graph.write_text("follower,followee\n" + "".join(f"{one},{other}\n" for one, other in ties))
    return plain(
        {
            "simulation": {"rounds": rounds, "ticks_per_round": TICKS_PER_ROUND, "seed": 1},
            "population": {
                "posts_per_session": 0.0,
                "threshold_spread": 0.0,
                "activity": {"mean": 0.9, "sigma": 0.0},
                "graph": {"path": str(graph), "directed": True},
            },
            "feed": {"size": 5, "out_of_network": 0.0},
            "statechart": {"file": str(chart), "oracle_enabled": False},
        }
    )


def bridge(place: Path) -> Settings:
    """Return two groups: a post begins in the first one, and only the bridge carries it into the second one."""
    first, second = range(GROUP), range(GROUP, 3 * GROUP)
    ties = [(one, AUTHOR) for one in first if one != AUTHOR] + [(BRIDGE, AUTHOR)]
    ties += [(one, BRIDGE) for one in second if one != BRIDGE]
    ties += [(one, one - 1) for one in second if one - 1 > BRIDGE]
    published = {"round": 1, "publish": {"author": AUTHOR, "text": "news"}}
    return world(place, ties, keenness=1.0) | {"interventions": [published]}


def influencer(place: Path) -> Settings:
    """Return people who write now and then, whom few follow; but everybody follows the hub."""
    people = range(1, 15)
    ties = [(one, HUB) for one in people] + [(one + 1, one) for one in people if one % 3 == 0]
    settings = world(place, ties, keenness=0.5, rounds=6)
    settings["population"]["posts_per_session"] = 1.5
    return settings


def intervened(place: Path) -> Settings:
    """Return a world in which nothing is written but by interventions, of which one alone reaches many."""
    people = range(1, 13)
    settings = world(place, [(one, HUB) for one in people] + [(13, 12)], rounds=12)
    few: list[Settings] = [{"round": at, "publish": {"author": 13, "text": "nobody hears"}} for at in (2, 5, 9)]
    loud = {"round": 10, "publish": {"author": HUB, "text": "all hear"}}
    return settings | {"interventions": [*few, loud, {"round": 3, "silence": [13]}]}


def run_of(place: Path, settings: Settings, name: str, seed: int = 1) -> Path:
    """Return the directory of a run of these settings under a seed."""
    config = place / f"{name}.yaml"
    config.write_text(yaml.safe_dump(settings | {"simulation": settings["simulation"] | {"seed": seed}}))
    ended = prism_alone("run", str(config), "-q", "--out", str(place / name))
    assert ended.code == 0, ended.err
    return place / name


def measured(run: Path, measure: str) -> float:
    """Return an entry of a run's summary."""
    return float(json.loads((run / "summary.json").read_text())[measure])


def without_person(settings: Settings, person: int) -> Settings:
    """Return the settings of the same world, in which a person is silent from the start."""
    return settings | {"interventions": [{"tick": 0, "silence": [person]}, *settings.get("interventions", [])]}


def without_tie(settings: Settings, one: int, other: int) -> Settings:
    """Return the settings of the same world, in which a tie is absent from the start."""
    return settings | {"interventions": [{"tick": 0, "unfollow": [[one, other]]}, *settings.get("interventions", [])]}


def without_intervention(settings: Settings, place: int) -> Settings:
    """Return the settings of the same world without one of its interventions."""
    left = [each for at, each in enumerate(settings["interventions"]) if at != place]
    return settings | {"interventions": left}

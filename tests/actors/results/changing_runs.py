"""Small runs of people who change their ties and attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.actors.results.explained_runs import make_run

CHART = """
initial: away
states:
  away:
    role: offline
    transitions:
      - {trigger: feed_ready, target: reading}
      - {trigger: wants_to_post, target: writing}
  online:
    initial: reading
    transitions:
      - {trigger: round_ends, target: away}
    states:
      reading:
        role: browse
        transitions:
          - trigger: sees_post
            target: judging
            set:
              opinion:
                to: agent.opinion + 0.4 * (author.opinion - agent.opinion) + 0.01 * draw.normal
                when: abs(author.opinion - agent.opinion) < 0.5
              seen: agent.seen + 1.4
              pause: 1 + 2 * abs(author.opinion)
          - {trigger: timeout, target: away}
      judging:
        role: attend
        transitions:
          - {trigger: ignores, target: reading}
          - {trigger: decides, target: leaving, when: "abs(author.opinion - agent.opinion) > 1 and post.followed"}
          - {trigger: decides, target: joining, when: "abs(author.opinion - agent.opinion) < 0.3 and not post.followed"}
          - {trigger: decides, target: reading, when: "agent.camp == author.camp and draw.uniform < 0.4", effect: mute}
          - {trigger: decides, target: sharing, set: {camp: author.camp}}
      leaving: {effect: unfollow, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
      joining: {effect: follow_root, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
      sharing:
        effect: reshare
        after: {ticks: agent.pause, trigger: done}
        transitions: [{trigger: done, target: reading}]
      writing: {effect: post, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
"""
SETTINGS: dict[str, dict[str, Any]] = {
    "simulation": {"rounds": 4, "ticks_per_round": 12, "seed": 5},
    "population": {
        "size": 40,
        "posts_per_session": 0.6,
        "activity": {"mean": 0.9, "sigma": 0.1},
        "graph": {"kind": "barabasi_albert", "degree": 6},
        "attributes": {
            "opinion": {"type": "float", "min": -1, "max": 1, "prompt": True},
            "seen": {"type": "int", "default": 0, "min": 0, "max": 6},
            "pause": {"type": "float", "default": 1, "min": 1, "max": 9},
            "camp": {"type": "text", "values": ["north", "south"]},
        },
    },
    "feed": {"size": 8, "out_of_network": 0.5},
    "run": {"checkpoint_every_ticks": 8},
}


def changing_run(place: Path, name: str = "run", chart: str = CHART, **sections: Any) -> Path:
    """Return the directory of a finished run of people who change.

    Args:
        sections: further sections of the configuration.
    """
    file = place / f"{name}-chart.yaml"
    file.write_text(chart)
    return make_run(place, {**SETTINGS, "statechart": {"file": str(file)}, **sections}, name)

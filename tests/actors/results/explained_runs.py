"""Small runs for tests of explanations: of a chart of one's own, of a domain of one's own, of an economy."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import yaml

from tests.command import prism_alone

SMALL: dict[str, dict[str, Any]] = {
    "simulation": {"rounds": 3, "ticks_per_round": 12, "seed": 5},
    "population": {"size": 24, "ambiguity": 0.5, "posts_per_session": 0.6, "activity": {"mean": 0.9, "sigma": 0.1}},
    "run": {"checkpoint_every_ticks": 8},
}
ECONOMY: dict[str, dict[str, Any]] = {
    "simulation": {"domain": "economy", "rounds": 4, "ticks_per_round": 1, "seed": 3, "tick_seconds": 7889400},
    "economy": {
        "nations": ["Ada", "Bo", "Cy"],
        "strengths": [3, 2, 1],
        "macro": {"gap_shock": 0.8, "inflation_shock": 1.0},
    },
}
NESTED = """
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
      - {trigger: sees_post, target: reading, when: post.appeal > 0.2, label: outer}
    states:
      writing:
        after: {ticks: 1, trigger: written}
        transitions:
          - {trigger: written, target: reading, effect: post}
      reading:
        role: browse
        after: {ticks: 2, trigger: timeout}
        transitions:
          - {trigger: sees_post, target: sharing, when: "MODULE:is_keen", label: keen}
          - {trigger: sees_post, target: reading, when: "MODULE:is_broken", label: broken}
          - {trigger: timeout, target: away}
      sharing:
        effect: reshare
        after: {ticks: 1, trigger: shared}
        transitions:
          - {trigger: shared, target: reading}
"""
GUARDS = """
def is_keen(agent, view):
    return view.appeal > 0.5


def is_broken(agent, view):
    raise RuntimeError("no such thing")


def fails(agent, view):
    if agent.agent_id % 2:
        raise ValueError("odd people cannot write")
"""
_numbers = count(1)


def make_run(place: Path, sections: dict[str, dict[str, Any]], name: str = "run") -> Path:
    """Return the directory of a finished run of these settings, in a directory of its own."""
    config = place / f"{name}.yaml"
    config.write_text(yaml.safe_dump(sections))
    ended = prism_alone("run", str(config), "-q", "--out", str(place / name))
    assert ended.code == 0, ended.err
    return place / name


def nested_run(place: Path, *, crashes: bool = False) -> Path:
    """Return a run of a nested chart whose inner guards are Python functions, one of which raises.

    Args:
        crashes: whether people with odd numbers crash when they begin to write.
    """
    module = f"nested_guards_{next(_numbers)}"
    (place / f"{module}.py").write_text(GUARDS)
    chart = place / "nested.yaml"
    action = ', do: "MODULE:fails"' if crashes else ""
    nested = NESTED.replace("target: writing}", f"target: writing{action}}}")
    chart.write_text(nested.replace("MODULE", module))
    # Rows that overlap are no questions here: each guard alone decides.
    return make_run(place, {**SMALL, "statechart": {"file": str(chart), "oracle_enabled": False}})


def content(run: Path) -> dict[str, bytes]:
    """Return the content of every file that a run writes; what commands keep beside them is in directories."""
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}

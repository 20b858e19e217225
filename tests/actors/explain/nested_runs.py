"""Runs of a nested chart whose inner guards are Python functions."""

from itertools import count
from pathlib import Path

from tests.recorded import FEW, make_run

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
    return make_run(place, {**FEW, "statechart": {"file": str(chart), "oracle_enabled": False}})

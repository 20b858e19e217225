"""The measure of `oracle.yaml`."""

from pathlib import Path

from actors.store.course import read_course

PASSES = "scrolling"
"""The state of a person who passes over a post, without engaging with it."""


def engaged_when_asked(path: Path) -> float:
    """Return the share of the decisions that engage with a post: by a like, a reshare, or an original post.

    Raises:
        ValueError: nobody asked.
    """
    decided = {step: times for step, times in read_course(path, "updates").steps.items() if step.is_decided}
    if not decided:
        raise ValueError("nobody asked the oracle")
    passed = sum(times for step, times in decided.items() if step.after == PASSES)
    return 1.0 - passed / sum(decided.values())

"""The measure of `oracle.yaml`."""

from pathlib import Path

from actors import read_result

PASSES = "scrolling"
"""The state of a person who passes over a post, without engaging with it."""


def engaged_when_asked(path: Path) -> float:
    """Return the share of the oracle's choices that engage with a post: by a like, a reshare, or a post of one's own.

    Raises:
        ValueError: nobody asked.
    """
    taken = [each.choices["oracle"] for each in read_result(path).summary.divergence]
    asked = sum(sum(choices.values()) for choices in taken)
    if not asked:
        raise ValueError("nobody asked the oracle")
    return 1.0 - sum(choices.get(PASSES, 0.0) for choices in taken) / asked

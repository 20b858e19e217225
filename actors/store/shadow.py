"""The figures of `prism shadow` about a run, as they are in its directory."""

from __future__ import annotations

from pathlib import Path

import msgspec

from actors.core.files import read_json
from prism.divergence import Divergence

SHADOW = "shadow.json"
"""The file with the figures, in the run's directory."""


class ShadowSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison of rules with an oracle, on turns that rules have settled.

    Args:
        digest: the digest of the run.
        share: the share of those turns that were asked about.
        questions: shadow questions; `outcomes`: `{"answered" or the reason for no answer: questions}`.
        divergence: for each trigger and state, the oracle's choices beside those of the rules and the embedded choice.
            `agreement` is the share of questions on which the oracle chose what the rule did.
    """

    digest: str
    oracle: str
    share: float
    questions: int
    outcomes: dict[str, int]
    divergence: list[Divergence]


def read_shadow(directory: Path, digest: str) -> ShadowSummary | None:
    """Return the figures that belong to a run of this digest; None if there are none."""
    try:
        found = read_json(directory / SHADOW, ShadowSummary)
    except OSError:
        return None
    return found if found.digest == digest else None

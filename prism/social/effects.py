"""The effects of actions on the network, and acts: who does what."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum, unique
from typing import NamedTuple


@unique
class Effect(StrEnum):
    """An effect on the network."""

    LIKE = "like"
    REPLY = "reply"
    RESHARE = "reshare"
    POST = "post"


class Acts(NamedTuple):
    """Effects that are to be carried out one after the other, in columns.

    Args:
        agents: who acts.
        effects: an `Effect` each.
        numbers: the number of the post in each one's view; any other number for none.
        texts: what each wrote; empty for a sentence from a template.
    """

    agents: Sequence[int]
    effects: Sequence[str]
    numbers: Sequence[int]
    texts: Sequence[str]

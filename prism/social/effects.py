"""The effects of actions on the network, and acts: one effect each."""

from __future__ import annotations

from enum import StrEnum, unique
from typing import NamedTuple


@unique
class Effect(StrEnum):
    """An effect on the network."""

    LIKE = "like"
    REPLY = "reply"
    RESHARE = "reshare"
    POST = "post"


class Act(NamedTuple):
    """An effect that is to be carried out.

    Args:
        agent: who acts.
        effect: an `Effect`.
        number: the number of the post in their view; any other number for none.
        text: what they wrote; empty for a sentence from a template.
    """

    agent: int
    effect: str
    number: int
    text: str = ""

"""The effects of actions on the network."""

from __future__ import annotations

from enum import StrEnum, unique
from typing import Final


@unique
class Effect(StrEnum):
    """An effect on the network."""

    LIKE = "like"
    REPLY = "reply"
    RESHARE = "reshare"
    POST = "post"


ACTIONS_ON_POSTS: Final = tuple(effect.value for effect in Effect)
"""The actions that people may be about to take: each has the effect of its name."""

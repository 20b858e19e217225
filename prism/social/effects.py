"""The effects of actions on the network."""

from __future__ import annotations

from enum import StrEnum, unique
from typing import Final


@unique
class Effect(StrEnum):
    """An effect on the network: on a post, or on the tie to the author of the post in view or of its root."""

    LIKE = "like"
    REPLY = "reply"
    RESHARE = "reshare"
    POST = "post"
    FOLLOW = "follow"
    UNFOLLOW = "unfollow"
    MUTE = "mute"
    FOLLOW_ROOT = "follow_root"
    UNFOLLOW_ROOT = "unfollow_root"
    MUTE_ROOT = "mute_root"


ACTIONS_ON_POSTS: Final = (Effect.LIKE.value, Effect.REPLY.value, Effect.RESHARE.value, Effect.POST.value)
"""The actions that people may be about to take: each has the effect of its name."""

ON_TIES: Final = tuple(effect for effect in Effect if effect not in ACTIONS_ON_POSTS)
"""The effects on ties."""

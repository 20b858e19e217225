"""The decisions of people that take effect in one tick, in columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.agents.turn import Trigger
from prism.agents.waves import DecidedWave
from prism.rng import Draw
from prism.social.post import PostView
from prism.social.seen import SeenPosts
from prism.social.vocabulary import DRAFTED, intend
from prism.social.world import SocialWorld


class DecidedPeople(DecidedWave[PostView]):
    """The triggers that bring people their decisions. The post is as the person saw it at the question.

    Args:
        world: the world; tick and triggers: as in `DecidedWave`.
    """

    def __init__(self, world: SocialWorld, tick: int, triggers: Sequence[Trigger[PostView]]) -> None:
        agents = np.array([each.agent for each in triggers], dtype=np.int64)
        super().__init__(tick, triggers, world.entered[agents])
        self._world = world

    def states(self) -> tuple[Sequence[StrEnum], NDArray[np.int16]]:
        """Return the states of the chart, and the number of each person's among them."""
        return self._world.states_of(self.agents)

    def read(self, places: NDArray[np.intp], fields: Collection[str]) -> Mapping[str, NDArray[Any]] | None:
        """Return what expressions read of people, and of the posts that they saw; None if somebody saw none."""
        seen = self._seen(places)
        if seen is None and any(field.startswith("post.") for field in fields):
            return None
        return self._world.read_of(self.agents[places], self.asked[places], fields, seen)

    def act(self, places: NDArray[np.intp], action: Any) -> Sequence[Any] | None:
        """Return what people are about to do after an action of the vocabulary; None for any other action."""
        if action is intend:
            seen, agents = self._seen(places), self.agents[places]
            if seen is None:
                return None
            return self._world.intentions_of(
                agents, seen.drawn(self._world.seed, agents, np.full(len(agents), self.tick), Draw.INTENTION)
            )
        drafted = DRAFTED.get(action)
        return None if drafted is None else [drafted] * len(places)

    def _seen(self, places: NDArray[np.intp]) -> SeenPosts | None:
        """Return the posts that people saw; None if somebody saw none."""
        views = [self.triggers[place].context for place in places.tolist()]
        found = [view for view in views if view is not None]
        return SeenPosts(found, self._world.weights) if len(found) == len(views) else None

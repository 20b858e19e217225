"""The views that many people have of the posts before them, in columns. `prism.social.post.PostView` is one of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.agents.social_agent import relevance_of
from prism.columns import Ints
from prism.config.model import RelevanceConfig
from prism.rng import Draw, uniforms
from prism.social.network import Network
from prism.social.post import Post, PostView
from prism.social.sessions import Sessions

Floats = NDArray[np.float64]


class Views:
    """The fields of people's views of the posts before them, bit for bit what `Network.view` says.

    Args:
        network: the posts and ties.
        weights: the weights of a post's relevance to these people.
        people: the people.
        numbers: the number of the post in each one's view, none of which is forgotten.
        tick: the tick.
        sessions: the feeds that people look at.
    """

    def __init__(
        self, network: Network, weights: RelevanceConfig, people: Ints, numbers: Ints, *, tick: int, sessions: Sessions
    ) -> None:
        self._network = network
        self._weights = weights
        self._people = people
        self._numbers = numbers
        self._tick = tick
        self._sessions = sessions

    def read(self, field: str) -> NDArray[Any] | None:
        """Return the values of a field `post.NAME`; None if there is no column of it."""
        found: NDArray[Any] | None = getattr(self, field.removeprefix("post."), None)
        return found

    def each(self, viewed_ticks: Ints) -> list[PostView]:
        """Return the views, one by one.

        Args:
            viewed_ticks: the ticks since each post came into view.
        """
        posts, population = self._posts, self._network.population
        return [
            *map(
                PostView,
                [post.id for post in posts],
                [post.author for post in posts],
                [population.name(post.author) for post in posts],
                map(self._network.text, posts),
                [post.topics for post in posts],
                self.age_ticks.tolist(),
                [post.likes for post in posts],
                [post.replies for post in posts],
                [post.reshares for post in posts],
                self.velocity.tolist(),
                self.popularity.tolist(),
                self.followed.tolist(),
                self.topic_match.tolist(),
                self.appeal.tolist(),
                self.fatigue.tolist(),
                self.quality.tolist(),
                self.exposures.tolist(),
                [post.origin for post in posts],
                viewed_ticks.tolist(),
            )
        ]

    @cached_property
    def relevance(self) -> Floats:
        """The worth of the post to the person, as `SocialAgent.relevance` says."""
        return np.asarray(relevance_of(self, self._weights, np.minimum))

    @cached_property
    def topic_match(self) -> Floats:
        """The share of the post's topics that are among the person's interests."""
        return self._network.matches(self._people, self._network.living.topic_codes(self._numbers))

    @cached_property
    def popularity(self) -> Floats:
        """The popularity of the post's cascade."""
        network = self._network
        engagements = network.cascades.engagements(network.living.cascades(self._numbers))
        return np.asarray(engagements / (engagements + network.relevance.popularity_half))

    @cached_property
    def appeal(self) -> Floats:
        """The person's taste for the post's cascade."""
        network = self._network
        chances = self.exposures - 1 if network.feed.exposure == "simple" else 0
        units = uniforms(network.seed, self._people, chances, Draw.APPEAL, network.living.origins(self._numbers))
        power = network.relevance.appeal_power
        drawn = np.fromiter(map(math.pow, units.tolist(), repeat(power)), np.float64, len(units))  # numpy rounds others
        return network.with_quality(self._numbers, np.minimum(1.0, drawn * self.quality))

    @cached_property
    def quality(self) -> Floats:
        """The worth of the post's cascade to everybody."""
        return self._network.qualities(self._numbers)

    @cached_property
    def exposures(self) -> Ints:
        """The number of people from whom the person has been shown the cascade."""
        return self._network.exposures_of(self._people, self._numbers)

    @cached_property
    def fatigue(self) -> Floats:
        """The share of the session's feed that the person has seen already."""
        return self._sessions.places(self._people) / np.maximum(1, self._sessions.shown[self._people])

    @cached_property
    def followed(self) -> NDArray[np.bool_]:
        """True for a person who follows the author."""
        return self._network.ties.follow(self._people, self._network.living.authors(self._numbers))

    @cached_property
    def age_ticks(self) -> Ints:
        """The ticks since the post was made."""
        return self._tick - self._network.living.created(self._numbers)

    @cached_property
    def likes(self) -> Ints:
        """The likes of the post."""
        return self._each(lambda post: post.likes)

    @cached_property
    def replies(self) -> Ints:
        """The replies to the post."""
        return self._each(lambda post: post.replies)

    @cached_property
    def reshares(self) -> Ints:
        """The reshares of the post."""
        return self._each(lambda post: post.reshares)

    @cached_property
    def velocity(self) -> Floats:
        """The engagements a round."""
        return np.array([post.velocity(self._tick, self._network.ticks_per_round) for post in self._posts])

    @cached_property
    def topics(self) -> NDArray[np.object_]:
        """The topics of the post."""
        found = np.empty(len(self._numbers), dtype=object)
        found[:] = [post.topics for post in self._posts]
        return found

    @cached_property
    def _posts(self) -> list[Post]:
        found = map(self._network.living.get, self._numbers.tolist())
        return [post for post in found if post is not None]

    def _each(self, count: Callable[[Post], int]) -> Ints:
        return np.array([count(post) for post in self._posts], dtype=np.int64)

"""Tables, names and panels of people on a feed: their personas, their posts, and what they do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec
import numpy as np

from prism.config.attributes import TRAITS
from prism.show import Number, Show
from prism.social.people.people import People
from prism.social.people.population import Population
from prism.social.posts.post import PersonalView, PostView
from prism.tables import INTEGER, JSON, NUMBER, TEXT, column

VIEW_FIELDS: Final = PersonalView.__struct_fields__
VIEW_LEAST: Final = len(PostView.__struct_fields__)
_NUMBERS: Final = ("engagement_threshold", "low_threshold", "high_threshold", "activity")
_ACTS: Final = ("posts", "likes", "replies", "reshares", "follows", "unfollows", "mutes", "attribute_changes")
"""The acts of people; the latter half only where their chart changes ties or attributes."""


class SocialShow(Show):
    agent = "person"
    agents = "people"
    title = "What people did"
    pictures = ("states", "network", "cascades")
    numbers = tuple(Number(column=name, name=name.replace("_", " "), is_total=True) for name in _ACTS)
    post_field = "id"
    compared = ("largest_cascade.size", "behaviour.engagement_per_post_seen")
    agent_columns = (
        column("external_id", TEXT, "id of the person in the files, or the number"),
        column("interests", JSON, "liked topics, in order"),
        column("personality", TEXT, "personality in words"),
        *(column(trait, NUMBER, "trait, from -1 to 1") for trait in TRAITS),
        column("engagement_threshold", NUMBER, "relevance from which the person engages, 0 to 1"),
        column("low_threshold", NUMBER, "relevance up to which a post is ignored, 0 to 1"),
        column("high_threshold", NUMBER, "relevance from which a post is acted on, 0 to 1"),
        column("activity", NUMBER, "probability of being online in a round"),
        column("followers", INTEGER, "followers at the start"),
        column("following", INTEGER, "people followed at the start"),
        column("followers_end", INTEGER, "followers after the last tick"),
        column("following_end", INTEGER, "people followed after the last tick"),
        column("posts", INTEGER, "original posts"),
        column("replies", INTEGER, "replies written"),
        column("reshares", INTEGER, "reshares made"),
        column("likes", INTEGER, "likes given"),
    )

    @property
    def event_tables(self) -> Collection[str]:
        feeds = ("feeds",) if self.config.run.record_feeds else ()
        return ("posts", "engagements", "cascades", "edges", *feeds)

    def agent_values(self, domain: Any) -> dict[str, Any]:
        population: Population = domain.population
        people, graph = People(population.personas), population.graph
        return {
            "external_id": graph.names[:],
            "interests": people.texts("interests", lambda topics: msgspec.json.encode(topics).decode()),
            "personality": people.texts("personality"),
            **{name: people.numbers(name) for name in (*TRAITS, *_NUMBERS)},
            "followers": graph.follower_counts(),
            "following": np.diff(graph.arrays()[0]),
        }

    def effect_name(self, effect: Any) -> str | None:
        """Return what a person is about to do; a draft has it in front of its text."""
        return (effect[0] if isinstance(effect, list) else effect) or None

    def seen(self, context: Any) -> Mapping[str, Any]:
        if isinstance(context, list) and VIEW_LEAST <= len(context) <= len(VIEW_FIELDS):
            return dict(zip(VIEW_FIELDS, context, strict=False))
        return super().seen(context)


SHOW = SocialShow

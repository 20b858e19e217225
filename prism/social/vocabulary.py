"""The words that the chart of a person on a social feed may use: fields, actions, roles, effects and delays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum, unique
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace

from prism.agents.social_agent import SocialAgent, relevance_of
from prism.config import Config
from prism.config.attributes import NUMBER_MAX, TRAITS, AttributeConfig, Value
from prism.expressions import Field
from prism.kernel_rng import LEAST_DRAW, normal_quantile
from prism.rng import Draw
from prism.social.posts.post import PostView, drawn_about
from prism.statechart.behaviour import Reader, Vocabulary, no_functions
from prism.statechart.transitions import Action


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


@unique
class Role(StrEnum):
    OFFLINE = "offline"
    BROWSE = "browse"
    ATTEND = "attend"


ROLES: Final[Mapping[str, str]] = {
    Role.OFFLINE: "not on the network: sessions begin and end here, and the rest of a feed is taken up again",
    Role.BROWSE: "gets `sees_post` a tick later while the feed has posts; the delay runs when it has none",
    Role.ATTEND: "gets `decides` after the time of looking, or `ignores` if the person does not look closely",
}
"""`{role: what the world does for a person in such a state}`."""

TRIGGERS: Final = ("feed_ready", "wants_to_post", "sees_post", "decides", "ignores", "timeout", "round_ends")
"""The triggers that the world sends. The others are those of the chart's delays."""

EFFECTS: Final[Mapping[str, str]] = {
    Effect.LIKE: "the post in view gets a like",
    Effect.REPLY: "the post in view gets a reply, which goes to its author",
    Effect.RESHARE: "the post in view is reshared to the person's followers",
    Effect.POST: "an original post goes to the person's followers",
    Effect.FOLLOW: "the person follows the author of the post in view from the next tick on",
    Effect.UNFOLLOW: "the person follows the author of the post in view no longer",
    Effect.MUTE: "no later feed has a post, or a reshared original, by the author of the post in view",
    Effect.FOLLOW_ROOT: "as `follow`, of the author of the original at the root of its cascade",
    Effect.UNFOLLOW_ROOT: "as `unfollow`, of that author",
    Effect.MUTE_ROOT: "as `mute`, of that author",
}
"""`{effect: what happens on the network}`."""

DELAYS: Final[Mapping[str, str]] = {
    "statechart.default_timeout_ticks": "the setting",
    "statechart.rest_ticks": "the setting",
}
"""`{field: what it is}` of the fields that a delay may be; a person's own numeric attributes come on top."""


def intend(agent: SocialAgent, context: Any) -> None:
    agent.intend(context)


def draft_reply(agent: SocialAgent, _: Any) -> None:
    """Make the pending action a reply: a person who chooses to write, among all the options, writes a reply."""
    agent.pending_action = Effect.REPLY.value


def draft_reshare(agent: SocialAgent, _: Any) -> None:
    agent.pending_action = Effect.RESHARE.value


def draft_like(agent: SocialAgent, _: Any) -> None:
    agent.pending_action = Effect.LIKE.value


def draft_post(agent: SocialAgent, _: Any) -> None:
    agent.pending_action = Effect.POST.value


ACTIONS: Final[Mapping[str, Action]] = {
    each.__name__: each for each in (intend, draft_like, draft_reply, draft_reshare, draft_post)
}
DRAFTED: Final[Mapping[Any, str]] = {
    draft_like: Effect.LIKE.value,
    draft_reply: Effect.REPLY.value,
    draft_reshare: Effect.RESHARE.value,
    draft_post: Effect.POST.value,
}
"""`{action: the pending action that it makes}` of those that always make the same."""


def _share(name: str, text: str) -> Field:
    return Field(name=name, kind="float", low=0.0, high=1.0, help=text)


def _count(name: str, text: str, low: float = 0.0) -> Field:
    return Field(name=name, kind="int", low=low, high=1e12, help=text)


_OF_PEOPLE: Final = (
    _share("agent.low_threshold", "relevance up to which a post is ignored"),
    _share("agent.high_threshold", "relevance from which a post is acted on"),
    _share("agent.engagement_threshold", "relevance at which the person engages, between the other two"),
    _share("agent.activity", "probability of being online in a round"),
    _count("agent.ticks_in_state", "ticks since the state was entered"),
    _count("agent.timeout_threshold", "the setting `statechart.default_timeout_ticks`", 1.0),
    Field(
        name="agent.pending_action",
        kind="text",
        values=("", *ACTIONS_ON_POSTS),
        help="what the person is about to do; empty before the first intention",
    ),
    Field(name="agent.interests", kind="texts", help="the person's interests"),
    *(Field(name=f"agent.{each}", kind="float", low=-1.0, high=1.0, help="trait of personality") for each in TRAITS),
)
_OF_POSTS: Final = (
    _share("post.relevance", "how much the post is worth to the person: docs/behaviour.md"),
    _share("post.topic_match", "share of its topics that interest the person"),
    _share("post.popularity", "n / (n + popularity_half) for n engagements of its cascade"),
    _share("post.appeal", "the person's unobserved taste for it"),
    Field(name="post.quality", kind="float", low=0.0, high=1e12, help="its worth to everybody, 1 on average"),
    _count("post.exposures", "people who have shown the person its cascade", 1.0),
    _share("post.fatigue", "share of the session's feed already seen"),
    Field(name="post.followed", kind="bool", help="whether the person follows its author"),
    _count("post.likes", "people who liked it"),
    _count("post.replies", "replies to it"),
    _count("post.reshares", "reshares of it"),
    _count("post.age_ticks", "ticks since it was made"),
    Field(name="post.velocity", kind="float", low=0.0, high=1e12, help="engagements a round"),
    Field(name="post.topics", kind="texts", help="its topics"),
)


def _reader_of(field: str) -> Reader:
    """Return the reader of a field that has the name of a member: of the view, the traits, the agent or the persona."""
    whose, name = field.split(".")
    of_agent = "traits." if name in TRAITS else ""
    if name not in ("ticks_in_state", "timeout_threshold"):
        of_agent = f"persona.{of_agent}"
    path = f"context.{name}" if whose == "post" else f"agent.{of_agent}{name}"
    read = attrgetter(path.partition(".")[2])

    def reader(agent: Any, context: Any) -> Any:
        return read(context if whose == "post" else agent)

    reader.path = path  # type: ignore[attr-defined]
    return reader


_READERS: Final[Mapping[str, Reader]] = {
    **{field.name: _reader_of(field.name) for field in (*_OF_PEOPLE, *_OF_POSTS)},
    "post.relevance": lambda agent, view: relevance_of(view, agent.weights),
    "agent.pending_action": lambda agent, _: agent.pending_action or "",
}

_DRAWN: Final[tuple[Field, ...]] = (
    _share("draw.uniform", "a random number from 0 to below 1, the same for all guards of one turn"),
    Field(name="draw.normal", kind="float", low=-9.0, high=9.0, help="another one, standard normal"),
)


def drawn_readers(uniform: Draw, normal: Draw) -> dict[str, Reader]:
    """Return the readers of the two random numbers about the post in view, by their purposes."""

    def drawn(agent: SocialAgent, view: PostView | None, draw: Draw) -> float:
        return drawn_about(view, agent.seed, agent.agent_id, agent.tick, draw)

    return {
        "draw.uniform": lambda agent, view: drawn(agent, view, uniform),
        "draw.normal": lambda agent, view: normal_quantile(max(drawn(agent, view, normal), LEAST_DRAW)),
    }


ASSUMPTIONS: Final = (
    "agent.low_threshold <= agent.engagement_threshold",
    "agent.engagement_threshold <= agent.high_threshold",
)
"""Expressions that hold for every person: the linter reports no fault that contradicts them."""


def of_reader(field: str) -> str:
    """Return the field `agent.NAME` of the attribute that a field `author.NAME` reads; any other field as it is."""
    return field.replace("author.", "agent.", 1) if field.startswith("author.") else field


def own_field(name: str, declaration: AttributeConfig, about: str = "the person's own attribute") -> Field:
    if declaration.type not in ("int", "float"):
        return Field(name=name, kind=declaration.type, values=declaration.values, help=about)
    low = -NUMBER_MAX if declaration.min is None else declaration.min
    high = NUMBER_MAX if declaration.max is None else declaration.max
    return Field(name=name, kind=declaration.type, low=low, high=high, help=about)


def _item_of_agent(name: str) -> Reader:
    return lambda agent, _: agent.persona.attributes[name]


def _item_of_view(mapping: str, name: str, missing: Value | None = None) -> Reader:
    return lambda _, view: getattr(view, mapping).get(name, missing)


def social_vocabulary(
    attributes: Mapping[str, AttributeConfig] = MappingProxyType({}),
    of_posts: Mapping[str, AttributeConfig] = MappingProxyType({}),
    function: Callable[[str], Any] = no_functions,
) -> Vocabulary:
    """Return the words of a social chart.

    Args:
        attributes: people's own attributes as declared; `agent.NAME` is the field of each.
        of_posts: those that a file of posts gives; `post.NAME` is the field of each.
        function: returns the function `module:name`.
    """
    fields = {field.name: field for field in (*_OF_PEOPLE, *_OF_POSTS, *_DRAWN)}
    readers = {**_READERS, **drawn_readers(Draw.CHART, Draw.CHART_NORMAL)}
    delays, settable = dict(DELAYS), dict[str, Field]()
    for name, declaration in attributes.items():
        field = settable[name] = own_field(f"agent.{name}", declaration)
        theirs = replace(field, name=f"author.{name}", help="the same of the author of the post in view")
        fields |= {field.name: field, theirs.name: theirs}
        readers[field.name] = _item_of_agent(name)
        readers[theirs.name] = _item_of_view("author_attributes", name)
        if field.kind in ("int", "float"):
            delays[field.name] = field.help
    for name, declaration in of_posts.items():
        field = fields[f"post.{name}"] = own_field(f"post.{name}", declaration, "what the file of posts says of it")
        nothing = {"int": 0, "float": 0.0, "bool": False}.get(declaration.type, "")  # of a post that no file has
        readers[field.name] = _item_of_view("attributes", name, nothing)
    return Vocabulary(
        fields=fields,
        readers=readers,
        actions=ACTIONS,
        roles=ROLES,
        effects=EFFECTS,
        delays=delays,
        settable=settable,
        assumptions=ASSUMPTIONS,
        function=function,
    )


def question_fields(config: Config) -> dict[str, tuple[Field, Reader]]:
    """Return `{field: (the field, its reader)}` of each field by which questions of people may share judgements."""
    words = social_vocabulary(config.population.attributes, config.population.posts.attributes)
    fields = {
        name: (field, words.readers[name])
        for name, field in words.fields.items()
        if not name.startswith(("author.", "draw."))  # no question states them
    }
    personality = Field(name="agent.personality", kind="text", help="the person's personality, in words")
    return {**fields, personality.name: (personality, lambda agent, _: agent.persona.personality)}

"""A post, and one person's view of it."""

from __future__ import annotations

from enum import StrEnum, unique
from typing import Any, ClassVar, Final

import msgspec

from prism.config.attributes import Value
from prism.events import NUMBER_BITS
from prism.quoting import quoted
from prism.rng import Draw, integer, uniform
from prism.wording import Ticks, ago, counted

EXPOSURE_TICKS: Final = 1 << 31
"""More ticks than a post can be in view: draws of another exposure begin there."""

OUTSIDE_BIT: Final = 8
"""Marks the origin of a post that an intervention publishes, in the four bits above the author's number."""

AUTHORS_MAX: Final = 1 << 29
"""The limit of authors: ids stay below 2**53, which every reader of JSON and every table keeps exactly."""

NO_POST: Final = -1  # the number of no post, and of no cascade


@unique
class PostKind(StrEnum):
    ORIGINAL = "original"
    REPLY = "reply"
    RESHARE = "reshare"


class Post(msgspec.Struct, kw_only=True, gc=False):
    """A post and the counts of its engagements."""

    id: int  # the number of its author, and in the last NUMBER_BITS bits its number among the author's posts
    author: int  # the author's number
    text: str  # what the author wrote; empty for a sentence from a template, which `Network.text` gives
    topics: tuple[str, ...]
    created: int  # the tick of the post
    root: int  # the original at the head of its cascade; its own id for an original
    kind: PostKind = PostKind.ORIGINAL
    parent: int | None = None  # the post that it answers or reshares; None for an original
    depth: int = 0  # steps from the root; 0 for an original
    origin: int = 0  # the original at the head of its cascade, as `origin_of` names it
    likes: int = 0  # people who liked it; `replies` and `reshares` count its direct children in the same way
    replies: int = 0
    reshares: int = 0
    given: int = 0  # the number of its root in the file of posts, from 1 on; 0 if it is from no file


class PostView(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One person's view of a post."""

    widest: ClassVar[type[PostView]]

    id: int  # the post
    author: int  # the author's number, and `author_name`
    author_name: str
    text: str
    topics: tuple[str, ...]
    age_ticks: int  # ticks since the post was made
    likes: int
    replies: int
    reshares: int
    velocity: float  # engagements a round
    popularity: float  # n / (n + popularity_half) for the n engagements of its whole cascade; 0 to 1
    followed: bool  # whether the person follows the author
    topic_match: float  # the share of its topics that are among the person's interests; 0 to 1
    # the person's unobserved taste for its cascade: u to the power of `appeal_power` for a uniform draw u of theirs,
    # times the quality; 0 to 1
    appeal: float
    fatigue: float  # the share of the session's feed already seen; 0 to 1
    # what its cascade is worth to everybody, above 0 and 1 on average; it is in the appeal already
    quality: float = 1.0
    exposures: int = 1  # people from whom the person has been shown the cascade, this time included
    origin: int = 0  # the original of its cascade, as `origin_of` names it; 0 for a view that was made by hand
    viewed_ticks: int = 0  # ticks since the post came into the person's view

    def prompt_fields(self) -> dict[str, Any]:
        """Return the fields for a language model: only those that a person would see; the others are for the chart."""
        return {
            "author": self.author_name,
            "text": self.text,
            "topics": list(self.topics),
            "written": Ticks(self.age_ticks),
            "likes": self.likes,
            "replies": self.replies,
            "reshares": self.reshares,
            "you follow the author": "yes" if self.followed else "no",
        }

    def prompt_text(self, tick_s: float) -> str:
        """Return the same in sentences, with all text that people wrote in quotes; `tick_s` is simulated seconds."""
        author = f"{quoted(self.author_name)}, whom you {'follow' if self.followed else 'do not follow'}"
        about = f" It is about {', '.join(map(quoted, self.topics))}." if self.topics else ""
        counts = (counted(self.likes, "like"), counted(self.replies, "reply", "replies"))
        return (
            f"You see a post by {author}, written {ago(self.age_ticks * tick_s)}: {quoted(self.text)}.{about} "
            f"It has {', '.join(counts)} and {counted(self.reshares, 'reshare')}."
        )


class AttributeView(PostView, frozen=True, array_like=True, gc=False):
    """One person's view of a post, for a chart that reads attributes of authors or of posts."""

    author_attributes: dict[str, Value] = {}  # those of the author that the chart reads, as the tick began
    attributes: dict[str, Value] = {}  # those of the post that its file gives


class PersonalView(AttributeView, frozen=True, array_like=True, gc=False):
    """One person's view of a post, with what the person remembers when it is seen."""

    # a line each, with all text that people wrote in quotes; empty where no question can follow
    memory: tuple[str, ...] = ()

    def prompt_memory(self) -> tuple[str, ...]:
        return self.memory


PostView.widest = PersonalView


def origin_of(author: int, tick: int, number: int, *, from_outside: bool = False) -> int:
    """Return the name of an original for draws about it: `tick << 33 | number << 29 | author`, from 1 to 2**63 - 1.

    It does not depend on the author's other acts. So a person's draws about an original are the same in two runs
    that differ in their settings, although its id may be another one.

    Args:
        number: the number of the author's originals before it in this tick, from 0 on. Posts of interventions are
            counted apart, so that one more changes no draw about the author's own posts. Origins repeat after seven
            originals of the author, and after eight posts of interventions.
    """
    place = OUTSIDE_BIT + number % OUTSIDE_BIT if from_outside else 1 + number % (OUTSIDE_BIT - 1)
    return tick << 33 | place << 29 | author


def author_of(post: int) -> int:
    return post >> NUMBER_BITS


def drawn_about(context: object, seed: int, agent: int, tick: int, draw: Draw) -> float:
    """Return a draw of a person about the post in view: the same in two runs in which the person sees it.

    It depends on the person, the original and the ticks since the post came into view; without a post in view, on the
    person and the tick.
    """
    ticks, index = key_about(context, tick)
    return uniform(seed, agent, ticks, draw, index)


def key_about(context: object, tick: int) -> tuple[int, int]:
    """Return the tick and the index of draws about the post in view; each exposure to a cascade has its own."""
    if isinstance(context, PostView) and context.origin:
        return context.viewed_ticks + (context.exposures - 1) * EXPOSURE_TICKS, context.origin
    return tick, 0


TEMPLATES: Final[dict[PostKind, tuple[str, ...]]] = {
    PostKind.ORIGINAL: (
        "Something about {topic} surprised me today.",
        "Unpopular opinion on {topic}: we have been asking the wrong question.",
        "A short thread on {topic}, and why it matters more than it seems.",
        "Who else is following the news on {topic}?",
        "After ten years with {topic}, this is the one thing I would tell a beginner.",
        "Numbers on {topic} that I cannot stop thinking about.",
    ),
    PostKind.REPLY: (
        "I see {topic} quite differently.",
        "Exactly this. More people in {topic} should say so.",
        "Do you have a source for that?",
        "This is what the debate on {topic} has been missing.",
    ),
    PostKind.RESHARE: (
        "Worth reading if you care about {topic}.",
        "Not sure I agree, but it made me think.",
        "Sharing this for everyone in {topic}.",
        "This.",
    ),
}
"""Plain sentences with the topic in them, so that a person or a model can react to synthetic posts."""


def write_post(kind: PostKind, topic: str, seed: int, author: int, tick: int) -> str:
    """Return a sentence for a post of this kind and topic, drawn for the author and tick."""
    templates = TEMPLATES[kind]
    return templates[integer(len(templates), seed, author, tick, Draw.TEXT)].format(topic=topic)

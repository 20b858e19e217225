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

NO_POST: Final = -1
"""The number of no post, and of no cascade."""


@unique
class PostKind(StrEnum):
    ORIGINAL = "original"
    REPLY = "reply"
    RESHARE = "reshare"


class Post(msgspec.Struct, kw_only=True, gc=False):
    """A post and the counts of its engagements.

    Args:
        id: the number of its author, and in the last NUMBER_BITS bits its number among the author's posts.
        author: the author's number.
        text: what the author wrote; empty for a sentence from a template, which `Network.text` gives.
        created: the tick of the post.
        parent: the post that it answers or reshares; None for an original.
        root: the original at the head of its cascade; its own id for an original.
        depth: steps from the root; 0 for an original.
        origin: the original at the head of its cascade, as `origin_of` names it.
        likes: people who liked it; `replies` and `reshares` count its direct children in the same way.
        given: the number of its root in the file of posts, from 1 on; 0 if it is from no file.
    """

    id: int
    author: int
    text: str
    topics: tuple[str, ...]
    created: int
    root: int
    kind: PostKind = PostKind.ORIGINAL
    parent: int | None = None
    depth: int = 0
    origin: int = 0
    likes: int = 0
    replies: int = 0
    reshares: int = 0
    given: int = 0


class PostView(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One person's view of a post.

    Args:
        id: the post.
        author: the author's number, and `author_name`.
        age_ticks: ticks since the post was made.
        velocity: engagements a round.
        popularity: n / (n + popularity_half) for the n engagements of its whole cascade; 0 to 1.
        followed: whether the person follows the author.
        topic_match: the share of its topics that are among the person's interests; 0 to 1.
        appeal: the person's unobserved taste for its cascade: u to the power of `appeal_power` for a uniform draw u of
            theirs, times the quality; 0 to 1.
        fatigue: the share of the session's feed already seen; 0 to 1.
        quality: what its cascade is worth to everybody, above 0 and 1 on average; it is in the appeal already.
        exposures: people from whom the person has been shown the cascade, this time included.
        origin: the original of its cascade, as `origin_of` names it; 0 for a view that was made by hand.
        viewed_ticks: ticks since the post came into the person's view.
    """

    widest: ClassVar[type[PostView]]

    id: int
    author: int
    author_name: str
    text: str
    topics: tuple[str, ...]
    age_ticks: int
    likes: int
    replies: int
    reshares: int
    velocity: float
    popularity: float
    followed: bool
    topic_match: float
    appeal: float
    fatigue: float
    quality: float = 1.0
    exposures: int = 1
    origin: int = 0
    viewed_ticks: int = 0

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
        """Return the same in sentences, with all text that people wrote in quotes.

        Args:
            tick_s: simulated seconds a tick.
        """
        author = f"{quoted(self.author_name)}, whom you {'follow' if self.followed else 'do not follow'}"
        about = f" It is about {', '.join(map(quoted, self.topics))}." if self.topics else ""
        counts = (counted(self.likes, "like"), counted(self.replies, "reply", "replies"))
        return (
            f"You see a post by {author}, written {ago(self.age_ticks * tick_s)}: {quoted(self.text)}.{about} "
            f"It has {', '.join(counts)} and {counted(self.reshares, 'reshare')}."
        )


class AttributeView(PostView, frozen=True, array_like=True, gc=False):
    """One person's view of a post, for a chart that reads attributes of authors or of posts.

    Args:
        author_attributes: those of the author that the chart reads, as the tick began.
        attributes: those of the post that its file gives.
    """

    author_attributes: dict[str, Value] = {}
    attributes: dict[str, Value] = {}


class PersonalView(AttributeView, frozen=True, array_like=True, gc=False):
    """One person's view of a post, with what the person remembers when it is seen.

    Args:
        memory: a line each, with all text that people wrote in quotes; empty where no question can follow.
    """

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

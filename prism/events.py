"""The tables of a run: what agents answered, and what this caused in the world; and their rows as objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, ClassVar, Final

import msgspec

from prism.rows import Values, joined, listed
from prism.tables import INTEGER, NAME, PACKED, TEXT, Table, column

NUMBER_BITS: Final = 24
"""The last bits of a post's id: its number among its author's posts. The bits above are the author's number."""


class Intervened(msgspec.Struct, frozen=True, gc=False):
    """An intervention at the beginning of a tick, after `number` others of the run; as the configuration has it."""

    tick: int
    number: int
    kind: str
    content: dict[str, Any]


class PostEvent(msgspec.Struct, frozen=True, gc=False):
    """An effect on a feed that took place. What came to nothing, such as a like of a forgotten post, has no record.

    Args:
        agent: who did it: the author of a new post, or the person who liked one.
        kind: `publish`, `reply` or `reshare`, which make a post, or `like`.
        post: the new post; for a like the post that was liked.
        parent: the post that was answered or reshared; None for the others.
        topics: the topics of an original post; empty for the others, which have those of their root.
    """

    tick: int
    agent: int
    kind: str
    post: int
    parent: int | None = None
    topics: tuple[str, ...] = ()


class FeedShown(msgspec.Struct, frozen=True, gc=False):
    """The feed that was built for a reader's session, first to last. It is only recorded with `run.record_feeds`."""

    kind: ClassVar = "feed"

    tick: int
    agent: int
    posts: tuple[int, ...]


class TieChanged(msgspec.Struct, frozen=True, gc=False):
    """A tie that a person has changed by `follow`, `unfollow` or `mute`. It holds from the next tick on.

    `post`: the post in view, whose author the other person is, or the author of its root.
    """

    tick: int
    agent: int
    kind: str
    whom: int
    post: int


class AttributeSet(msgspec.Struct, frozen=True, gc=False):
    """An attribute of a person that has another value from the next tick on."""

    kind: ClassVar = "set"

    tick: int
    agent: int
    name: str
    value: float | int | bool | str


class PostTaken(msgspec.Struct, frozen=True, gc=False):
    """An original that is the n-th, from 1, of the file of posts. It follows the record of the post itself."""

    kind: ClassVar = "taken"

    tick: int
    agent: int
    post: int
    number: int


Event = PostEvent | FeedShown | TieChanged | AttributeSet | PostTaken
"""An event of a world."""

AGENT_COLUMN: Final = column("agent", INTEGER, "the agent's number", key="agents.agent", dtype="<u4")
_KIND: Final = column("kind", INTEGER, "the number of the row of kinds", key="kinds.kind", dtype="<u4")
_POST: Final = column("post", INTEGER, "the post: author * 2^24 + number", key="posts.post")

KINDS: Final = Table(
    name="kinds",
    about="a kind of update or question; they are numbered from 0 in the order in which they first occur",
    columns=(
        column("trigger", TEXT, "what happened to the agent"),
        column("from_state", TEXT, "state before"),
        column("to_state", TEXT, "state after; empty for a question"),
        column("source", TEXT, "what decided, or `asked` for a question"),
        column("effect", TEXT, "the effect, if it is a short text; the options of a question, as JSON"),
        column("reason", TEXT, "reason of a fallback, or of a turn without a transition"),
    ),
)
UPDATES: Final = Table(name="updates", about="an answer of an agent", columns=(AGENT_COLUMN, _KIND))
QUESTIONS: Final = Table(
    name="questions", about="a question to the oracle, with what the agent saw", columns=(AGENT_COLUMN, _KIND)
)
EFFECTS: Final = Table(
    name="effects",
    about="the effect of an update, if it is more than a short text",
    columns=(AGENT_COLUMN, column("value", PACKED, "the effect")),
)
INTERVENTIONS: Final = Table(
    name="interventions",
    about="an intervention, before the triggers of its tick",
    columns=(
        column("number", INTEGER, "the interventions before it", dtype="<u4"),
        column("kind", TEXT, "what was done, such as publish"),
        column("content", PACKED, "the intervention as the configuration has it"),
    ),
)
MADE: Final = ("publish", "reply", "reshare")
"""The acts that make a post."""
ON_TIES: Final = ("follow", "unfollow", "mute")
POSTS: Final = Table(
    name="posts",
    about="a post that was made",
    columns=(
        AGENT_COLUMN,
        column("what", NAME, "what was done", names=MADE),
        _POST,
        column("parent", INTEGER, "the post that it answers or reshares, -1 for none", key="posts.post"),
        column("topics", PACKED, "the topics of an original; nothing for the others, which have those of their root"),
        column("number", INTEGER, "the place of an original in the file of posts, from 1; 0 if it is from none"),
    ),
)
LIKES: Final = Table(name="likes", about="a like that took place", columns=(AGENT_COLUMN, _POST))
FEEDS: Final = Table(
    name="feeds",
    about="a post in a feed that was shown, first to last; an empty feed has the post -1",
    columns=(AGENT_COLUMN, column("position", INTEGER, "place in the feed, from 1, the top", dtype="<u4"), _POST),
)
TIES: Final = Table(
    name="ties",
    about="a tie that a person has changed; it holds from the next tick on",
    columns=(
        AGENT_COLUMN,
        column("what", NAME, "what was done", names=ON_TIES),
        column("whom", INTEGER, "the other person", key="agents.agent", dtype="<u4"),
        _POST,
    ),
)
ATTRIBUTES: Final = Table(
    name="attributes",
    about="an attribute of a person that has another value from the next tick on",
    columns=(AGENT_COLUMN, column("name", TEXT, "the attribute"), column("value", PACKED, "its new value")),
)

OF_EVERY_RUN: Final = (KINDS, UPDATES, QUESTIONS, EFFECTS, INTERVENTIONS)
OF_FEEDS: Final = (POSTS, LIKES, FEEDS, TIES, ATTRIBUTES)
NOTHING: Final = b"\x90"
"""No topics, as msgpack has it."""

Happened = Mapping[str, Sequence[Values]]
"""`{table: its columns}` of some rows."""

_decode: Final = msgspec.msgpack.Decoder().decode
_topics: Final = msgspec.msgpack.Decoder(tuple[str, ...]).decode


def put_together(parts: Sequence[Happened]) -> Happened:
    if len(parts) == 1:
        return parts[0]
    tables = dict[str, list[Sequence[Values]]]()
    for part in parts:
        for table, columns in part.items():
            tables.setdefault(table, []).append(columns)
    return {table: tuple(joined(each) for each in zip(*found, strict=True)) for table, found in tables.items()}


def events_in(tick: int, rows: Happened) -> list[Event]:
    """Return the rows of a wave as objects, in the order of agents."""
    found: list[tuple[int, int, Event]] = []
    for order, (table, make) in enumerate(_MAKERS.items()):
        if table in rows:
            events = make(tick, zip(*map(listed, rows[table]), strict=True))
            found += [(event.agent, order, event) for event in events]
    return [event for *_, event in sorted(found, key=itemgetter(0, 1))]


def _posts(tick: int, rows: Iterator[Any]) -> Iterator[Event]:
    for agent, what, post, parent, topics, number in rows:
        yield PostEvent(tick, agent, MADE[what], post, None if parent < 0 else parent, _topics(topics))
        if number:
            yield PostTaken(tick, agent, post, number)


def _feeds(tick: int, rows: Iterator[Any]) -> Iterator[Event]:
    for agent, places in groupby(rows, key=itemgetter(0)):
        yield FeedShown(tick, agent, tuple(post for *_, post in places if post >= 0))


_MAKERS: Final[Mapping[str, Callable[[int, Iterator[Any]], Iterator[Event]]]] = {
    "attributes": lambda tick, rows: (AttributeSet(tick, who, what.decode(), _decode(to)) for who, what, to in rows),
    "posts": _posts,
    "likes": lambda tick, rows: (PostEvent(tick, agent, "like", post) for agent, post in rows),
    "ties": lambda tick, rows: (TieChanged(tick, who, ON_TIES[what], whom, post) for who, what, whom, post in rows),
    "feeds": _feeds,
}

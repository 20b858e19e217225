"""The memory of people: what each has lately seen, done and been answered, and its lines in a prompt.

It is part of the world's state: what took place goes in when a wave is applied, and is in every checkpoint. A view of a
post carries the lines that its reader remembers at that time, so a decision that comes later is made with them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.agents.waves import Updates
from prism.columns import PIECE, Column, Columns, Ints, pack
from prism.events import Event, Happened, PostEvent, TieChanged, events_in
from prism.quoting import quoted
from prism.social.network import Network
from prism.social.posts.post import NO_POST, Post
from prism.wording import ago, counted, cut

TEXT_CHARS: Final = 100
"""The most characters of a post's text in a line of memory; of a name or of topics, `NAME_CHARS`."""
NAME_CHARS: Final = 40

SAW: Final = "saw"

_OWN: Final[Mapping[str, str]] = {
    SAW: "you saw a post by {name}{about}: {text} ({likes}) and scrolled on",
    "like": "you liked a post by {name}{about}: {text}",
    "reply": "you replied to a post by {name}{about}: {text}; you wrote: {said}",
    "reshare": "you reshared a post by {name}{about}: {text}; you wrote: {said}",
    "publish": "you posted{about}: {text}",
    "follow": "you followed {name}",
    "unfollow": "you stopped following {name}",
    "mute": "you muted {name}",
}
_OF_OTHERS: Final[Mapping[str, str]] = {
    "like": "{name} liked your post{about}: {text}",
    "reply": "{name} replied to your post{about}: {text}; the reply: {said}",
    "reshare": "{name} reshared your post{about}: {text}; the comment: {said}",
    "follow": "{name} followed you",
}
"""`{what another person did: the line}`. People are not told who stops following or mutes them."""


class Remembered(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Something that a person remembers."""

    tick: int
    what: str  # `saw` for a post that was left without any action; otherwise the kind of the event
    other: int  # the author of the post, or the other person who did it
    post: int = NO_POST  # the post that it is about; NO_POST for a tie
    topics: str = ""  # of the post, in one text, cut to NAME_CHARS
    text: str = ""  # of the post, cut to TEXT_CHARS
    said: str = ""  # the text of a reply, or the comment of a reshare, cut to TEXT_CHARS
    likes: int = 0  # of the post, when a person who only saw it left it


InView = tuple[Ints, Ints, Ints, Ints]
"""People who have seen a post and have it in view: these people, the posts by number, the ticks in which they came into
view, and their likes."""

Rings = dict[int, deque[Remembered]]
"""`{person: what the person remembers, oldest first}`, of people who remember anything."""


class Memory:
    """The latest things that each person remembers, in two rings: what the person saw and did, and what others did.

    Args:
        places: the most lines in a prompt, and the length of each ring; above 0.
        asking: `{(state, trigger)}` that may lead to a question.
        people: who remembers, of shape (people,); None for all.
    """

    def __init__(
        self,
        places: int,
        network: Network,
        tick_seconds: float,
        asking: frozenset[tuple[str, str]],
        people: NDArray[np.bool_] | None = None,
    ) -> None:
        self.asking = asking
        self._people, self._places, self._network, self._tick_seconds = people, places, network, tick_seconds
        self._own: Rings = {}
        self._of_others: Rings = {}

    # What takes place

    def in_view(self, updates: Updates) -> InView:
        """Return the posts that the people of a wave, which is not applied yet, have seen and still have in view."""
        state, agents = self._network.state, updates.agents
        remember = True if self._people is None else self._people[agents]
        # A post that came into view when the round ended has not been seen.
        sees = np.array([kind.trigger == "sees_post" for kind in updates.kinds], dtype=np.bool_)[updates.codes]
        rows = state.t.people[agents]
        has = remember & (rows["current"] >= self._network.living.first) & (sees | (rows["entered"] > rows["came"]))
        posts = rows["current"][has].astype(np.int64)
        likes = state.t.details["likes"][self._network.living.rows(posts)]
        return agents[has], posts, rows["came"][has], likes

    def add(self, tick: int, rows: Happened, before: InView) -> None:
        self.add_events(tick, events_in(tick, rows))
        left = self._network.state.t.people["current"][before[0]] != before[1]
        agents, numbers, came, likes = (column[left] for column in before)
        posts = self._network.living.made(numbers)
        for agent, post, since, liked in zip(agents.tolist(), posts, came.tolist(), likes.tolist(), strict=True):
            own = self._own.get(agent)
            if own is None or own[-1].post != post.id or own[-1].tick < since:  # else something was done about it
                self._remember(self._own, agent, self._about(tick, SAW, post, likes=liked))

    def add_events(self, tick: int, events: Sequence[Event]) -> None:
        named = {post for each in events if isinstance(each, PostEvent) for post in (each.post, each.parent)}
        ids = np.array(sorted(post for post in named if post is not None), dtype=np.int64)
        numbers = self._network.living.numbers(ids)
        posts = {post.id: post for post in self._network.living.made(numbers)}
        for event in events:
            if isinstance(event, TieChanged):
                self._remember(self._own, event.agent, Remembered(tick, event.kind, event.whom, NO_POST))
                if event.kind in _OF_OTHERS:
                    self._remember(self._of_others, event.whom, Remembered(tick, event.kind, event.agent))
            elif isinstance(event, PostEvent):
                target = posts[event.post if event.parent is None else event.parent]
                said = "" if event.parent is None else cut(self._network.text(posts[event.post]), TEXT_CHARS)
                own = self._about(tick, event.kind, target, said)
                self._remember(self._own, event.agent, own)
                if target.author != event.agent:
                    told = msgspec.structs.replace(own, other=event.agent)
                    self._remember(self._of_others, target.author, told)

    def _about(self, tick: int, what: str, post: Post, said: str = "", likes: int = 0) -> Remembered:
        topics, text = cut(", ".join(post.topics), NAME_CHARS), cut(self._network.text(post), TEXT_CHARS)
        return Remembered(tick, what, post.author, post.id, topics, text, said, likes)

    def _remember(self, rings: Rings, person: int, what: Remembered) -> None:
        if self._people is not None and not self._people[person]:
            return
        if person not in rings:
            rings[person] = deque(maxlen=self._places)
        rings[person].append(what)

    # Lines for prompts

    def lines(self, person: int, tick: int) -> tuple[str, ...]:
        """Return what a person remembers, a line each.

        What others did comes first, in up to half of the places, rounded up; then what the person saw and did. Each
        side takes the places that the other leaves, and has the latest first.
        """
        of_others, own = self._of_others.get(person, ()), self._own.get(person, ())
        for_others = min(len(of_others), max(self._places - self._places // 2, self._places - len(own)))
        latest = islice(reversed(of_others), for_others), islice(reversed(own), self._places - for_others)
        return tuple(
            self._line(wording, each, tick)
            for wording, ring in zip((_OF_OTHERS, _OWN), latest, strict=True)
            for each in ring
        )

    def _line(self, wording: Mapping[str, str], what: Remembered, tick: int) -> str:
        line = wording[what.what].format(
            name=quoted(cut(self._network.population.name(what.other), NAME_CHARS)),
            about=f" about {quoted(what.topics)}" if what.topics else "",
            text=quoted(what.text),
            said=quoted(what.said),
            likes=counted(what.likes, "like"),
        )
        return f"{ago((tick - what.tick) * self._tick_seconds)} {line}"

    # Checkpoints

    def columns(self) -> Iterator[Column]:
        for name, rings in (("memory.own", self._own), ("memory.of_others", self._of_others)):
            people = sorted(rings)
            yield from pack(f"{name}.key", people)
            yield from pack(name, [tuple(rings[person]) for person in people], max(1, PIECE // (16 * self._places)))

    def restore(self, columns: Columns) -> None:
        """Take over these columns; with more entries than places, the latest. A fork may lack the columns."""
        for name, rings in (("memory.own", self._own), ("memory.of_others", self._of_others)):
            if name in columns.unread:
                for person, items in columns.items(name, int, tuple[Remembered, ...]).items():
                    rings[person] = deque(items, maxlen=self._places)

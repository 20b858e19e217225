"""The posts, engagements and feeds of a run as tables.

The journal names each post and its parent; its cascade, its topics and its text follow from earlier messages. Rows of
posts are written once all likes are counted. Until then they wait in a file, so that memory holds a few numbers a post.
"""

from __future__ import annotations

import pickle
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

import msgspec

from actors.factory.input_files import load_posts
from actors.record.run import Recorded, RecordedTick
from actors.results.table_files import Rows
from prism.agents import Update
from prism.events import FeedShown, Intervened, PostEvent, PostTaken
from prism.social.posts.post import NUMBER_BITS, PostKind, write_post
from prism.statechart import Behaviour
from prism.tables import Value

_KINDS: Final = {"publish": PostKind.ORIGINAL, "reply": PostKind.REPLY, "reshare": PostKind.RESHARE}
_SPOOL_ROWS: Final = 4096


class Drafts:
    """The texts that a model has written for posts that are not yet made."""

    def __init__(self, behaviour: Behaviour[Any]) -> None:
        self._effects = behaviour.effects
        self._resting = {state.value for state in behaviour.roles}
        self._drafts: dict[int, str] = {}
        self.said: dict[int, str] = {}
        """`{agent: the text}` of the posts that the updates so far have made in this tick."""

    def take(self, updates: Sequence[Update[Any]]) -> None:
        """Take over the drafts of a tick's updates, and return the drafts whose posts are made in it."""
        self.said.clear()
        if not self._drafts and not any(update.effect.__class__ is list for update in updates):
            return
        for update in updates:
            agent = update.agent
            if update.effect is not None:
                self._drafts.pop(agent, None)
                if isinstance(update.effect, list):
                    self._drafts[agent] = update.effect[1]
            done = self._effects.get(update.trigger)
            if done is not None and (update.from_state, update.to_state) in done and agent in self._drafts:
                self.said[agent] = self._drafts.pop(agent)
            if update.to_state in self._resting:
                self._drafts.pop(agent, None)


class PostIndex:
    """The place of each post among those of the run, from its id, in a few bytes a post."""

    def __init__(self) -> None:
        self._by_author: defaultdict[int, array[int]] = defaultdict(lambda: array("q"))
        self._others: dict[int, int] = {}
        self.size = 0

    def add(self, post: int) -> int:
        """Return the place of a new post."""
        author, number = post >> NUMBER_BITS, post & ((1 << NUMBER_BITS) - 1)
        places = self._by_author[author]
        if number == len(places):
            places.append(self.size)
        else:  # ids of a user's own domain
            self._others[post] = self.size
        self.size += 1
        return self.size - 1

    def get(self, post: int) -> int | None:
        """Return the place of a post; None if the post was never made."""
        places = self._by_author.get(post >> NUMBER_BITS)
        number = post & ((1 << NUMBER_BITS) - 1)
        if places is not None and number < len(places):
            return places[number]
        return self._others.get(post)


class Spool:
    """Rows that wait for the end of the run, in a file without a name."""

    def __init__(self, directory: Path) -> None:
        self._file = TemporaryFile(dir=directory)  # noqa: SIM115  # closed by `close`
        self._waiting: list[tuple[Value, ...]] = []

    def add(self, row: tuple[Value, ...]) -> None:
        self._waiting.append(row)
        if len(self._waiting) >= _SPOOL_ROWS:
            self._write()

    def rows(self) -> Iterator[tuple[Value, ...]]:
        """Yield all rows, and end the file."""
        self._write()
        self._file.seek(0)
        with self._file:
            while True:
                try:
                    yield from pickle.load(self._file)  # noqa: S301  # this process wrote it, and nobody else can
                except EOFError:
                    return

    def close(self) -> None:
        self._file.close()

    def _write(self) -> None:
        pickle.dump(self._waiting, self._file, protocol=5)
        self._waiting.clear()


class PostTables:
    """The rows of `posts` and `engagements`, and the posts and likes of each agent.

    Args:
        behaviour: the people's chart, for texts that a model has written; None if there are no such texts.
        is_feed: whether posts are those of people on a feed, and have texts.
    """

    def __init__(  # where rows come from, and where they go
        self,
        run: Recorded,
        tables: Mapping[str, Rows],
        behaviour: Behaviour[Any] | None,
        directory: Path,
        attributes: Sequence[str] = (),
        *,
        is_feed: bool,
    ) -> None:
        self.made: dict[str, dict[int, int]] = {kind: defaultdict(int) for kind in (*_KINDS, "like")}
        """`{kind: {agent: how many}}`."""
        self._run = run
        self._posts = tables.get("posts")
        self._engagements = tables.get("engagements")
        self._drafts = None if behaviour is None else Drafts(behaviour)
        self._spool = None if self._posts is None else Spool(directory)
        self._index = PostIndex()
        self._roots, self._depths, self._authors, self._ids = array("q"), array("q"), array("q"), array("q")
        self._counts = {kind: array("q") for kind in ("like", "reply", "reshare")}
        self._topics: list[tuple[str, ...]] = []
        """The topics of each original."""
        self._topic_places = array("q")
        self._attributes = attributes
        self._given = load_posts(run.config.population)[0] or () if is_feed else ()
        self._is_feed = is_feed
        self._taken = array("q")
        """The number in the file of posts of each original; 0 for one that is not from it."""

    def take(self, tick: RecordedTick) -> None:
        if self._drafts is not None:
            self._drafts.take(tick.moved)
        outside: str | None = None  # the text that an intervention publishes; its post comes next
        taken = {each.post: each.number for each in tick.others if isinstance(each, PostTaken)} if self._given else {}
        for message in tick.others:
            if isinstance(message, PostEvent):
                self._event(tick, message, outside, taken.get(message.post, 0))
            published = message.content.get("publish") if isinstance(message, Intervened) else None
            outside = None
            if published is not None:
                number = published.get("post")
                outside = str(published.get("text") or "") if number is None else self._given[number - 1].text

    def finish(self) -> None:
        """Write the posts, with the counts of reactions to them."""
        if self._posts is None or self._spool is None:
            return
        counts = zip(*self._counts.values(), strict=True)
        for row, root, (likes, replies, reshares) in zip(self._spool.rows(), self._topic_places, counts, strict=True):
            of_file = self._given[self._taken[root] - 1].attributes if self._taken[root] else {}
            self._posts.add(*row, likes, replies, reshares, *map(of_file.get, self._attributes))

    def close(self) -> None:
        if self._spool is not None:
            self._spool.close()

    def _event(self, tick: RecordedTick, event: PostEvent, outside: str | None, taken: int) -> None:
        self.made[event.kind][event.agent] += 1
        about, created = (event.post, None) if event.kind == "like" else (event.parent, event.post)
        place = self._place_of_new(event, taken) if event.kind != "like" else -1
        if about is not None:
            of = self._index.get(about)
            if of is not None:
                self._counts[event.kind][of] += 1
            if self._engagements is not None:
                author = None if of is None else self._authors[of]
                root = None if of is None else self._ids[self._roots[of]]
                who = self._run.name, tick.tick, tick.time, event.agent, event.kind
                self._engagements.add(*who, about, author, root, created)
        if place < 0 or self._spool is None:
            return
        original, kind = self._topic_places[place], _KINDS[event.kind]
        topics, number = self._topics[original], self._taken[original]
        text, by = self._text(event, kind, topics, outside, number)
        self._spool.add(
            (
                *(self._run.name, event.post, tick.tick, tick.time, event.agent, kind.value, event.parent),
                *(self._ids[self._roots[place]], self._depths[place], msgspec.json.encode(topics).decode()),
                *(text, by, number or None),
            )
        )

    def _place_of_new(self, event: PostEvent, taken: int) -> int:
        """Return the place of a new post, after its numbers are noted."""
        parent = None if event.parent is None else self._index.get(event.parent)
        place = self._index.add(event.post)
        self._ids.append(event.post)
        self._authors.append(event.agent)
        self._roots.append(place if parent is None else self._roots[parent])
        self._depths.append(0 if parent is None else self._depths[parent] + 1)
        for counts in self._counts.values():
            counts.append(0)
        self._topic_places.append(len(self._topics) if parent is None else self._topic_places[parent])
        if parent is None:
            self._topics.append(event.topics)
            self._taken.append(taken)
        return place

    def _text(
        self, event: PostEvent, kind: PostKind, topics: tuple[str, ...], outside: str | None, taken: int
    ) -> tuple[str | None, str | None]:
        """Return the text of a post, and its origin."""
        if not self._is_feed:
            return None, None
        if outside:
            return outside, "intervention"
        written = None if self._drafts is None else self._drafts.said.pop(event.agent, None)
        if written:
            return written, "llm"
        if taken and kind is not PostKind.REPLY:
            return self._given[taken - 1].text, "file"
        topic = topics[0] if topics else "this"
        return write_post(kind, topic, self._run.header.seed, event.agent, event.tick), "template"


def add_feeds(run: Recorded, rows: Rows, tick: RecordedTick) -> None:
    for shown in tick.others:
        if isinstance(shown, FeedShown) and (count := len(shown.posts)):
            own = [run.name] * count, [tick.tick] * count, [tick.time] * count, [shown.agent] * count
            rows.extend((*own, range(1, count + 1), shown.posts))

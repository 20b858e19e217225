"""The posts of a social network, their delivery to people, and the effects of a like, reply or reshare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.agents.bytes_kernel import NUMBER_BYTES
from prism.agents.waves import Contexts, Encoded
from prism.columns import Column, Columns, Ints, pack, pack_array, pack_rows, pieces_of, places_in_lists
from prism.config import FeedConfig
from prism.config.attributes import Value
from prism.config.interventions import PublishConfig
from prism.config.model import RelevanceConfig
from prism.errors import PrismError
from prism.events import FEEDS, LIKES, NOTHING, NUMBER_BITS, POSTS, TIES, Happened
from prism.kernel_rng import keys_of
from prism.kernels import Held, handed_over, python_rows
from prism.rows import Heap, Values
from prism.social import tables as col
from prism.social.kernels import post_kernel, view_kernel
from prism.social.kernels.view_kernel import FIELDS, TextTables
from prism.social.people.people import People
from prism.social.people.population import Population
from prism.social.posts.living import KINDS, Cascades, LivingPosts, ids_of
from prism.social.posts.post import NO_POST, TEMPLATES, Post, PostKind, PostView, origin_of, write_post
from prism.social.state import NUMBERS_MAX, RINGS, SocialState
from prism.social.vocabulary import ON_TIES, Effect

_RELEVANCE: Final = RelevanceConfig()
EFFECTS: Final[Mapping[str, int]] = {
    Effect.LIKE: col.LIKE,
    Effect.REPLY: col.REPLY,
    Effect.RESHARE: col.RESHARE,
    Effect.POST: col.PUBLISH,
    **{effect: col.FOLLOW + place for place, effect in enumerate(ON_TIES)},
}
MADE: Final = (col.PUBLISH, col.REPLY, col.RESHARE)
_PLACES: Final = np.zeros(col.FEED + 1, dtype=np.uint8)
"""`{number of an effect that makes a post: its place in `prism.events.MADE`}`."""
_PLACES[[*MADE]] = np.arange(len(MADE))
_COUNTED: Final = {"posts": col.PUBLISH, "likes": col.LIKE, "replies": col.REPLY, "reshares": col.RESHARE}
_TIES_COUNTED: Final = {"follows": col.FOLLOW, "unfollows": col.UNFOLLOW, "mutes": col.MUTE}

_encode: Final = msgspec.msgpack.Encoder().encode
CONTEXTS: Final = Contexts(PostView)
_NUMBERS: Final = (
    *("likes", "replies", "reshares", "velocity", "popularity", "followed"),
    *("topic_match", "appeal", "fatigue", "quality", "exposures", "origin", "viewed"),
)
"""The numbers of a view, in the order in which `PostView` has them."""
_numbers_of: Final = attrgetter(*_NUMBERS)
_ROOM: Final = 2 + 2 * NUMBER_BYTES + 2 + FIELDS * NUMBER_BYTES  # the most bytes of a trigger but for the texts in it


class PackedTexts(NamedTuple):
    """Texts one after the other: the n-th from `starts[n]` on; and the bytes of the longest."""

    content: NDArray[np.uint8]
    starts: Ints
    longest: int

    @classmethod
    def of(cls, words: Iterable[bytes]) -> PackedTexts:
        known = list(words)
        starts = np.array([*accumulate(map(len, known), initial=0)], dtype=np.int64)
        content = np.frombuffer(bytearray(b"".join(known) or b"-"), dtype=np.uint8)
        return cls(content, starts, max(map(len, known), default=0))


class ViewWords:
    """The names, topics and texts of views, as kernels put them together where no author has written a text.

    Texts stay as they are, whatever else is drawn from another seed than that of the key.
    """

    def __init__(self, state: SocialState, population: Population, key: NDArray[np.uint64]) -> None:
        self._state, self._key = state, key
        self._names = PackedTexts.of(map(str.encode, People(population.personas).texts("name")))
        self._given = PackedTexts.of(post.text.encode() for post in state.given)
        self._topics: list[bytes] = []
        self._each: list[bytes] = []
        self._hold = Held()
        self._learn()
        self._out, self._view = np.empty(0, dtype=np.uint8), np.zeros(1, dtype=col.VIEW_FIELDS)
        """Room for the triggers of a wave, and for one view."""

    @property
    def topics(self) -> list[bytes]:
        """The topics of each code, as msgpack."""
        if len(self._topics) < len(self._state.topics):
            self._learn()
        return self._topics

    def _learn(self) -> None:
        for each in self._state.topics[len(self._topics) :]:
            texts = (one.format(topic=each[0] if each else "this") for kind in KINDS for one in TEMPLATES[kind])
            self._topics.append(_encode(each))
            self._each += [self._topics[-1], *(text.encode() for text in texts)]
        words = PackedTexts.of(self._each)
        self._tables = TextTables(*self._names[:2], *words[:2], *self._given[:2])
        self._longest = self._names.longest, max(words.longest, self._given.longest), words.longest
        """The most bytes of a name, of a text and of topics."""

    def encoded(self, tick: int, agents: Ints, codes: Ints, sees: Any, names: PackedTexts) -> Encoded:
        """Return triggers as msgpack has them, one after the other, and the places of their ends.

        Args:
            codes: the number of each one's name; sees: whether those of a name have the post in view as their context.
        """
        _ = self.topics
        room = len(agents) * (_ROOM + names.longest + sum(self._longest))
        if len(self._out) < room:
            self._out = np.empty(2 * room, dtype=np.uint8)
        out, ends, words = self._out, np.empty(len(agents), dtype=np.int64), self._hold(self._tables)
        given = self._state.held, self._key, tick, agents, codes, sees, words, names.content, names.starts
        view_kernel.write_triggers(*given, handed_over(self._view), out, ends)
        return (out[: ends[-1]] if len(ends) else out[:0]).tobytes(), ends.tolist()

    def in_columns(self, tick: int | Ints, views: NDArray[Any]) -> tuple[Values, ...]:
        """Return views in columns, as `CONTEXTS` has them, of one tick or of the tick of each."""
        _, count = self.topics, len(views)
        heaps = names, texts, topics = [np.empty(count * size, dtype=np.uint8) for size in self._longest]
        ends = np.zeros((3, count), dtype=np.int64)
        view_kernel.write_texts(self._key, handed_over(views), self._hold(self._tables), names, texts, topics, ends)
        cut = zip(heaps, ends, strict=True)
        return (
            np.ones(count, dtype=np.uint8),
            *(views["id"], views["author"]),
            *(Heap(data[: int(of[-1]) if count else 0].copy(), of) for data, of in cut),
            tick - views["created"],
            *(views[name] for name in _NUMBERS),
            *CONTEXTS.absent(count),
        )


class Network:
    """The posts and timelines.

    A post is pushed to followers when it is made. So a reader looks at a bounded timeline, however many people they
    follow. Posts and cascades older than the horizon are forgotten: memory is bounded in a long run.

    Args:
        quality_sigma: the spread of the log of the quality that people share; 0 gives all posts quality 1.
    """

    def __init__(
        self,
        population: Population,
        feed: FeedConfig,
        seed: int,
        ticks_per_round: int,
        relevance: RelevanceConfig = _RELEVANCE,
        quality_sigma: float = 0.0,
    ) -> None:
        self.population, self.feed, self.seed, self.ticks_per_round = population, feed, seed, ticks_per_round
        self.state = SocialState(population, feed, seed, ticks_per_round, relevance, quality_sigma)
        self.cascades = Cascades(self.state)
        self.living = LivingPosts(self.state)
        self.from_outside = 0
        self.is_written = True  # True if what takes place is written down; a shard leaves that to the engine's world
        self.happened: list[Happened] = []
        self._begun: tuple[int, dict[int, int]] = -1, {}
        """A tick, and the originals that interventions have published in it so far, by author."""
        self.pending: list[tuple[int, int, int]] = []
        """The ties that people have changed in this tick: the person, the other one, and the effect."""
        self.taken = 0
        self.reshares_received: Ints | None = None
        """The reshares so far of each person's posts; None if nothing reads them."""
        self.attributes_of: Callable[[int], dict[str, Value]] | None = None
        """Returns the attributes of an author that people read; None if they read none."""
        self.view_type = PostView

    @property
    def counts(self) -> dict[str, int]:
        return {name: int(self.state.t.counts.done[number]) for name, number in _COUNTED.items()}

    @property
    def tie_counts(self) -> dict[str, int]:
        return {name: int(self.state.t.counts.done[number]) for name, number in _TIES_COUNTED.items()}

    def use(self, feed: FeedConfig, relevance: RelevanceConfig) -> None:
        self.feed = feed
        self.state.use(feed, relevance)

    def change_ties(self, changed: Mapping[tuple[int, int], bool]) -> None:
        """Let people follow others, `(follower, followee)`, from now on, or not. Posts in a timeline stay there."""
        followees = self.state.t.ties.followees
        self.pending = [
            (person, other, col.FOLLOW if follows else col.UNFOLLOW)
            for (person, other), follows in changed.items()
            if post_kernel.is_listed(followees, person, other) != follows
        ]
        if self.pending:
            self.settle()

    def settle(self) -> None:
        self.state.change_ties(*np.array(self.pending, dtype=np.int64).T.copy())
        self.pending = []

    # What people do

    def publish_from_outside(self, author: int, tick: int, given: PublishConfig) -> Post:
        if self._begun[0] != tick:
            self._begun = tick, {}
        number = self._begun[1].get(author, 0)
        self._begun[1][author] = number + 1
        self.state.make_room(1)
        from_file = given.post or 0
        topics = int(self.state.t.given_topics[from_file]) if from_file else self.state.codes_of([given.topics])[0]
        origin = origin_of(author, tick, number, from_outside=True)
        row = post_kernel.publish_as(self.state.held, author, tick, topics, origin)
        self.state.t.details["given"][row] = from_file
        self.take_in(tick, {author: given.text} if given.text else {})
        post = self.living.made(np.array([row + self.state.t.counts.posts[col.BASE]]))[0]
        if given.quality:
            cascade = self.state.cascade_rows(self.state.t.posts["cascade"][row : row + 1])
            self.state.t.cascades["least_appeal"][cascade] = given.quality
        self.from_outside += 1
        return post

    def take_in(self, tick: int, texts: dict[int, str]) -> Happened:
        """Take the events that kernels have noted at a tick, and do for new posts what kernels do not.

        Args:
            texts: `{author: text}` of the posts that are not from a template: of several by one author, the first.
        """
        self.check_limits(tick)
        t, rows = self.state.t, dict[str, tuple[Values, ...]]()
        events, taken = t.events[: t.counts.posts[col.EVENTS]], self.taken
        if len(events):
            t.counts.posts[col.EVENTS], self.taken = 0, int(t.counts.posts[col.END])
            if self.reshares_received is not None:  # each counts for the author of the post reshared
                shared = events["above"][events["what"] == col.RESHARE]
                np.add.at(self.reshares_received, shared >> NUMBER_BITS, 1)
            self.pending += [(who, other, what) for who, what, other, *_ in events[events["what"] > col.FEED].tolist()]
            if texts:
                authors = events["who"][np.isin(events["what"], MADE)].tolist()
                self.state.texts |= {taken + place: texts.pop(who) for place, who in enumerate(authors) if who in texts}
            if self.is_written:
                rows = self.rows_of(events, taken)
        if self.is_written:
            self.happened.append(rows)
        return rows

    def rows_of(self, events: NDArray[Any], taken: int) -> dict[str, tuple[Values, ...]]:
        """Return events as rows of the tables of feeds; `taken` is the number of the first post that they have made."""
        found: dict[str, tuple[Values, ...]] = {}
        what, t = events["what"], self.state.t
        made = events[(what == col.PUBLISH) | (what == col.REPLY) | (what == col.RESHARE)]
        if len(made):
            # Posts are numbered in the order of their events.
            first = taken - int(t.counts.posts[col.BASE])
            is_original = made["what"] == col.PUBLISH
            given = np.where(is_original, t.details["given"][first : first + len(made)], 0)
            topics, codes = self.words.topics, np.where(is_original, made["about"], -1).tolist()
            about = Heap.of([topics[code] if code >= 0 else NOTHING for code in codes])
            of_kind = _PLACES[made["what"]]
            found[POSTS.name] = (made["who"], of_kind, made["post"], made["above"], about, given)
        liked = events[what == col.LIKE]
        if len(liked):
            found[LIKES.name] = liked["who"], liked["post"]
        tied = events[what > col.FEED]
        if len(tied):
            found[TIES.name] = tied["who"], tied["what"] - col.FOLLOW, tied["post"], tied["above"]
        readers = events["who"][what == col.FEED]
        if len(readers):
            shown = t.people["shown"][readers].astype(np.int64)
            lengths = np.maximum(shown, 1)
            who, places = np.repeat(readers, lengths), places_in_lists(lengths)
            numbers = t.feed[who, places] - t.counts.posts[col.BASE]
            is_shown = np.repeat(shown > 0, lengths)
            ids = ids_of(t.posts[np.where(is_shown, numbers, 0)])
            found[FEEDS.name] = who, places + 1, np.where(is_shown, ids, NO_POST)
        return found

    def check_limits(self, tick: int) -> None:
        """Refuse to go on if a kernel could not make a post.

        Raises:
            PrismError: the run has made `NUMBERS_MAX` posts.
            ValueError: a person has made as many posts as ids allow.
        """
        refused = int(self.state.t.counts.posts[col.REFUSED])
        if refused == 1:
            kept = f"its whole ticks are kept, and no tick from {tick:,} on is possible"
            way_out = "take fewer people (population.size) or fewer posts of each (population.posts_per_session)"
            raise PrismError(f"the run has made its limit of {NUMBERS_MAX:,} posts; {kept}; {way_out}")
        if refused:
            most = f"{1 << NUMBER_BITS:,} posts, which is the most that one person can make"
            raise ValueError(f"person {refused - 2:,} has made {most}")

    # What people see

    def text(self, post: Post) -> str:
        return post.text or self._written(post.kind, post.given, post.topics, post.author, post.created)

    def _written(self, kind: PostKind, given: int, topics: tuple[str, ...], author: int, tick: int) -> str:
        """Return the text of a post that its author has not written: of the file of posts, or from a template."""
        if given and kind != PostKind.REPLY:
            return self.state.given[given].text  # a reshare has that of its root
        return write_post(kind, topics[0] if topics else "this", self.seed, author, tick)

    def post(self, post: int) -> Post | None:
        """Return a post by its id, as it is now; None if it is forgotten."""
        return self.living.get(self.living.number(post))

    def views(self, people: Ints, tick: int) -> list[PostView]:
        return [self._view_of(tick, view) for view in python_rows(self.see(people, tick))]

    def see(self, people: Ints, tick: int) -> NDArray[Any]:
        """Return what people see of the posts in their view: records of `prism.social.tables.VIEW_FIELDS`."""
        views = np.zeros(len(people), dtype=col.VIEW_FIELDS)
        post_kernel.see(self.state.held, people, tick, handed_over(views))
        return views

    @property
    def has_plain_views(self) -> bool:
        """True if views have neither attributes nor memory, and nobody has written a text."""
        return self.view_type is PostView and not self.state.texts

    @cached_property
    def words(self) -> ViewWords:
        return ViewWords(self.state, self.population, keys_of(self.seed))

    def _view_of(self, tick: int, view: Any) -> PostView:
        author, created, topics = view.author, view.created, self.state.topics[view.topics]
        text = self.state.texts.get(view.number) or self._written(KINDS[view.kind], view.given, topics, author, created)
        more: Any = ()
        if self.view_type is not PostView:
            of_author = {} if self.attributes_of is None else self.attributes_of(author)
            more = of_author, self.state.given[view.given].attributes
        likes, replies, reshares, velocity, popularity, followed, *rest = _numbers_of(view)
        counts = likes, replies, reshares, velocity, popularity
        name = self.population.name(author)
        return self.view_type(view.id, author, name, text, topics, tick - created, *counts, followed == 1, *rest, *more)

    def retire(self, tick: int) -> None:
        """Forget posts older than the horizon, and cascades without an engagement for twice as long.

        A remembered post always has its cascade, because the post was an engagement when it joined.
        """
        horizon = tick - self.feed.horizon_rounds * self.ticks_per_round
        self.living.forget(horizon)
        self.cascades.retire(horizon - self.feed.horizon_rounds * self.ticks_per_round)

    # Checkpoints

    def common(self) -> Iterator[Column]:
        authors = np.flatnonzero(self.state.t.people["made"])
        yield from pack_array("made.key", authors)
        yield from pack_array("made", authors, self.state.t.people["made"].__getitem__)
        yield from pack_array("done", self.state.t.counts.done)
        yield from pack("from_outside", [self.from_outside])
        yield from self.living.columns()
        yield from self.cascades.columns()
        for name, ties in self.state.tie_rows():
            yield from pack_rows(name, ties)
        if self.reshares_received is not None:
            yield from pack_array("reshares_received", self.reshares_received)

    def about(self, people: range) -> Iterator[Column]:
        for name in RINGS:
            if self.state.is_kept(name):
                yield from pieces_of(name, self.state.ring(name).some(people))

    def restore(self, columns: Columns) -> None:
        state = self.state
        state.t.people["made"][columns.array("made.key")] = columns.array("made")
        state.t.counts.done[:] = columns.array("done")
        self.from_outside = columns.value("from_outside", int)
        self.cascades.restore(columns)
        self.living.restore(columns)
        self.taken = self.living.end
        for name in ("followees", "muted"):
            if name in columns.unread:
                state.restore_ties(name, columns.rows(name))
        if self.reshares_received is not None:
            self.reshares_received[:] = columns.array("reshares_received")
        # A fork may show cascades once where the past did more often, and the other way round.
        for name in RINGS if "exposed" in columns.unread else ("timeline", "seen"):
            rows = columns.rows(name)
            if state.is_kept(name):
                state.fill(name, rows)

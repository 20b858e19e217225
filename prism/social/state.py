"""The state of the social world: its tables, the room in them, and what has no place in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import BLOCK, Ints, Rows, places_in_lists
from prism.config import FeedConfig
from prism.config.model import ALGORITHMS, PopulationConfig, RelevanceConfig
from prism.errors import ConfigError
from prism.kernel_rng import CONSTANT, keys_of
from prism.kernels import Held, pointer_to
from prism.rng import Draw, mixing_key
from prism.social import tables as col
from prism.social.field_source import FieldTables, Words, ranking_kernel
from prism.social.kernels import post_kernel
from prism.social.people.people import People, interests_of
from prism.social.people.population import Population
from prism.social.posts.post import NO_POST
from prism.social.posts.post_file import GivenPost
from prism.social.tables import Counts, Interests, Lists, Room, Settings, Tables, Ties, grown, widened
from prism.social.ties.graph import FollowGraph

SPARE = 4  # the places that even a short list gets behind it when it moves


class PeopleLists:
    """A list of people for each person, with room to grow; the arrays from which it is made stay as they are.

    A list that is full moves to the end of the values, with room for as many again: lists grow at a constant cost a
    tie, and the space that they leave is never more than the space that they use.
    """

    def __init__(self, lists: Lists) -> None:
        self.lists = Lists(lists.starts.copy(), lists.ends.copy(), lists.values.copy())
        """The lists: arrays that kernels may change, until `make_room` makes others."""
        self._limits = self.lists.ends.copy()
        self._end = len(self.lists.values)

    def make_room(self, owners: Ints) -> None:
        """Give these people's lists room for one more, for each time that a person is named."""
        # 1. The people whose list has no room for so many more.
        owners, more = np.unique(owners, return_counts=True)
        is_full = self.lists.ends[owners] + more > self._limits[owners]
        owners, more = owners[is_full], more[is_full]
        before = self.lists.starts[owners]
        lengths = self.lists.ends[owners] - before
        # 2. Twice as much room for each of these, one after the other behind all values.
        rooms = 2 * lengths + more + SPARE
        starts = self._end + np.cumsum(rooms) - rooms
        self._end += int(rooms.sum())
        # 3. Their people move there. The old places are never used again.
        values, places = grown(self.lists.values, self._end), places_in_lists(lengths)
        values[np.repeat(starts, lengths) + places] = values[np.repeat(before, lengths) + places]
        self.lists = self.lists._replace(values=values)
        self.lists.starts[owners], self.lists.ends[owners] = starts, starts + lengths
        self._limits[owners] = starts + rooms


def rows_of(lists: Lists, people: Ints) -> Rows:
    lengths = lists.ends[people] - lists.starts[people]
    values = lists.values[np.repeat(lists.starts[people], lengths) + places_in_lists(lengths)]
    return Rows(people, lengths, values.astype(np.int64))


def lists_from(starts: Ints, values: NDArray[Any]) -> Lists:
    """Return lists that stand one after the other: person i's from `starts[i]` to before `starts[i + 1]`."""
    return Lists(starts[:-1], starts[1:], values.astype(np.int32, copy=False))


def lists_of(size: int, rows: Rows) -> Lists:
    """Return the lists of so many people, of whom those without a row have an empty one."""
    lengths = np.zeros(size, dtype=np.int64)
    lengths[rows.keys] = rows.lengths
    return lists_from(np.concatenate(([0], np.cumsum(lengths))), rows.values)


class Rings:
    """The latest numbers of every person. A row is a ring: a new number takes the oldest's place, which `ends` has."""

    def __init__(self, rows: NDArray[Any], ends: NDArray[np.integer], counts: NDArray[np.integer]) -> None:
        self.rows, self._ends, self._counts = rows, ends, counts

    def of(self, person: int) -> list[int]:
        count = int(self._counts[person])
        places = (int(self._ends[person]) - count + np.arange(count)) % self.rows.shape[1]
        found: list[int] = self.rows[person, places].tolist()
        return found

    def some(self, people: range) -> Rows:
        """Return the numbers, oldest first, of those of these people who have any."""
        block = people.start + np.flatnonzero(self._counts[people.start : people.stop])
        lengths = self._counts[block].astype(np.int64)
        owners = np.repeat(block, lengths)
        places = (np.repeat(self._ends[block] - lengths, lengths) + places_in_lists(lengths)) % self.rows.shape[1]
        return Rows(block, lengths, self.rows[owners, places].astype(np.int64))

    def fill(self, rows: Rows) -> None:
        """Set the first numbers of everybody. There is room for them."""
        ends = np.cumsum(rows.lengths)
        step = max(1, BLOCK // self.rows.shape[1])
        for start in range(0, len(rows.keys), step):
            block, lengths = rows.keys[start : start + step], rows.lengths[start : start + step]
            values = rows.values[ends[start] - lengths[0] : ends[start] - lengths[0] + int(lengths.sum())]
            self.rows[np.repeat(block, lengths), places_in_lists(lengths)] = values
        self._counts[rows.keys] = rows.lengths
        self._ends[rows.keys] = rows.lengths % self.rows.shape[1]

    def widened(self, width: int) -> NDArray[Any]:
        """Return rows with room for this many numbers each: these, if they have it."""
        if width <= self.rows.shape[1]:
            return self.rows
        # In a wider row the numbers stand from its beginning: a place of a ring is taken modulo the width.
        wider = np.zeros((len(self.rows), width), dtype=self.rows.dtype)
        step = max(1, BLOCK // self.rows.shape[1])
        for start in range(0, len(self.rows), step):
            block = self.some(range(start, min(start + step, len(self.rows))))
            wider[np.repeat(block.keys, block.lengths), places_in_lists(block.lengths)] = block.values
        self._ends[:] = self._counts
        return wider


NO_ROWS: Final = Rows(*(np.zeros(0, dtype=np.int64) for _ in range(3)))
FIRST_ROOM: Final = 1024
NUMBERS_MAX: Final = 2**31 - 1  # the most posts of a run: their numbers are in rows of 32 bits

RINGS: Final[Mapping[str, tuple[str, str]]] = {
    "timeline": ("came_end", "came_count"),
    "seen": ("seen_end", "seen_count"),
    "exposed_posts": ("exposed_end", "exposed_count"),
    "exposed": ("exposed_end", "exposed_count"),
    "engaged": ("engaged_end", "engaged_count"),
}
"""`{table: the fields of people that say where its next number goes, and how many it has}`."""


class SocialState:
    """The tables, and the room in them, by the settings of the feed and the curves of popularity and appeal."""

    def __init__(  # each setting once
        self,
        population: Population,
        feed: FeedConfig,
        seed: int,
        ticks_per_round: int,
        relevance: RelevanceConfig,
        quality_sigma: float = 0.0,
    ) -> None:
        self._ticks_per_round, self._graph = ticks_per_round, population.graph
        self._people, self._relevance = People(population.personas), relevance
        self._has_changed = np.zeros(population.size, dtype=np.bool_)
        """True for each person who has followed or unfollowed anybody."""
        self._lists: dict[str, PeopleLists] = {}  # of the ties that have changed, by their names in `Ties`
        names, interests = interests_of(population.personas)
        self.topics: list[tuple[str, ...]] = [*((name,) for name in names), ()]  # the topics of posts, by their code
        self._codes = {topics: code for code, topics in enumerate(self.topics)}
        self.places = {name: place for place, name in enumerate(names)}  # the place of each topic: interests first
        self.ranking_of: Callable[[str], Callable[..., Any]] = self._plain_ranking  # returns the kernel of an algorithm
        self.across = -1, 0
        """The column of the attribute that makes groups of people, and 1 if its sign does; -1: there are none."""
        self.given: tuple[GivenPost, ...] = (GivenPost("", (), {}),)
        """The posts of a file, by their number; the first one stands for no such post."""
        self.at_once = 1  # the most posts of one act
        self.texts: dict[int, str] = {}  # `{number: what the author wrote}` of the posts that have a text of their own
        self._hold = Held()
        self.t = _tables(population.size, interests, _ties(population.graph), seed)
        self.t = self.t._replace(settings=self.t.settings._replace(quality_sigma=float(quality_sigma)))
        self.use(feed, relevance)

    def _plain_ranking(self, algorithm: str) -> Callable[..., Any]:
        """Return the kernel of an algorithm with a name. An expression may read attributes, which a world tells of."""
        algorithm = algorithm if algorithm in ALGORITHMS else "chronological"
        fields = FieldTables(self._people, Words(), self.places, self._relevance, 1)
        return ranking_kernel(algorithm, PopulationConfig(), fields)

    @property
    def held(self) -> Any:
        """The tables as kernels get them from Python."""
        return self._hold(self.t)

    def draw_from(self, seed: int) -> None:
        self.t = self.t._replace(key=keys_of(seed), salt=mixing_key(seed, Draw.FEED_PART))

    def use(self, feed: FeedConfig, relevance: RelevanceConfig) -> None:
        was, outside = self.t.settings, round(feed.size * feed.out_of_network)
        kept = max(feed.memory, feed.size * (feed.horizon_rounds + 1))
        self.t = self.t._replace(
            settings=was._replace(
                score=pointer_to(self.ranking_of(feed.algorithm), self.t),
                across=self.across[0],
                is_signed=self.across[1],
                per_author=feed.per_author,
                per_topic=feed.per_topic,
                exposure=col.EXPOSURES[feed.exposure],
                credit=col.CREDITS[feed.reshare_credit],
                inside=feed.size - outside,
                outside=outside,
                fill=col.FILLS[feed.fill],
                depth=feed.memory,
                seen_depth=max(was.seen_depth, kept),  # what was seen under larger settings stays seen
                pool=feed.pool,
                part_size=feed.recent,
                ticks_per_round=self._ticks_per_round,
                share=feed.size * feed.out_of_network,
                popularity_weight=float(feed.popularity_weight),
                popularity_half=float(relevance.popularity_half),
                freshness=float(feed.hot_rounds * self._ticks_per_round),
                appeal_power=float(relevance.appeal_power),
                attention=float(feed.attention),
            )
        )
        t, settings = self.t, self.t.settings
        t.counts.originals[col.BITS] = -1
        wanted = {"timeline": settings.depth, "seen": settings.seen_depth}
        if settings.exposure != col.ONCE:
            wanted |= dict.fromkeys(("exposed_posts", "exposed", "engaged"), settings.seen_depth)
            if len(t.exposed) < len(t.people):
                posts = np.zeros((len(t.people), 1), dtype=np.int64)
                exposed, engaged = np.zeros((2, len(t.people), 1), dtype=np.int32)
                t = t._replace(exposed_posts=posts, exposed=exposed.copy(), engaged=engaged.copy())
        self.t = t._replace(feed=widened(t.feed, feed.size))
        ends = t.people["exposed_end"].copy()
        for name, width in wanted.items():
            if name == "exposed":
                t.people["exposed_end"] = ends  # which the wider ring of posts has moved
            self._widen(name, max(1, width))
        self._make_room_for_candidates(settings.depth)

    def _make_room_for_candidates(self, came: int) -> None:
        room, names = self.t.room, ("numbers", "cascades", "created", "lucks", "scores")
        candidates = came + self.t.settings.pool + 2
        larger: dict[str, Any] = {name: grown(getattr(room, name), candidates) for name in names}
        self.t = self.t._replace(room=room._replace(**larger))

    def ring(self, name: str) -> Rings:
        """Return the latest numbers of every person in a table of RINGS."""
        end, count = RINGS[name]
        return Rings(getattr(self.t, name), self.t.people[end], self.t.people[count])

    def is_kept(self, name: str) -> bool:
        """Return whether people have this table of RINGS: some need cascades that are shown more than once."""
        return len(getattr(self.t, name)) == len(self.t.people)

    def fill(self, name: str, rows: Rows) -> None:
        """Set the latest numbers in a table without any; some forks have more numbers than its rows have room for."""
        width = int(rows.lengths.max(initial=1))
        self._widen(name, width)
        self._make_room_for_candidates(width)
        self.ring(name).fill(rows)

    def _widen(self, name: str, width: int) -> None:
        if width > col.RING_MAX:
            problem = f"a person would remember {width:,} cascades, feed.size for each round: expected {col.RING_MAX:,}"
            raise ConfigError("configuration", f"{problem} at most", key="feed.horizon_rounds")
        wider: dict[str, Any] = {name: self.ring(name).widened(width)}
        self.t = self.t._replace(**wider)

    def use_states(self, count: int, initial: int) -> None:
        """Have so many states, without roles and delays; everybody is in the initial one."""
        delays = np.tile([float(CONSTANT), 1.0, 0.0, float(col.TIMEOUT)], (count, 1))
        inside = np.zeros((count, 2), dtype=np.int64)
        inside[initial, 0] = len(self.t.people)
        self.t.people["state"] = initial
        self.t = self.t._replace(roles=np.zeros(count, dtype=np.int64), delays=delays, inside=inside)

    # Ties

    def change_ties(self, people: Ints, others: Ints, effects: Ints) -> None:
        """Change people's ties to others that are not so already, each once, by FOLLOW, UNFOLLOW or MUTE."""
        follows, mutes = effects == col.FOLLOW, effects == col.MUTE
        owners = {} if mutes.all() else {"followees": people[follows], "followers": others[follows]}
        if mutes.any():
            owners["muted"] = people[mutes]
        for name, those in owners.items():
            if name not in self._lists:
                lists = lists_of(len(self.t.people), NO_ROWS) if name == "muted" else getattr(self.t.ties, name)
                self._lists[name] = PeopleLists(lists)
            self._lists[name].make_room(those)
        changed: dict[str, Any] = {name: self._lists[name].lists for name in owners}
        self.t = self.t._replace(ties=self.t.ties._replace(**changed))
        self._has_changed[people[~mutes]] = True
        post_kernel.change_lists(self.held, people, others, effects)

    def tie_rows(self) -> Iterator[tuple[str, Rows]]:
        """Yield the lists of those who follow others than in the beginning, and of those who have muted anybody."""
        ties = self.t.ties
        if self._has_changed.any():
            yield "followees", rows_of(ties.followees, np.flatnonzero(self._has_changed))
        if len(ties.muted.ends):
            yield "muted", rows_of(ties.muted, np.flatnonzero(ties.muted.ends > ties.muted.starts))

    def restore_ties(self, name: str, rows: Rows) -> None:
        ties, size = self.t.ties, len(self.t.people)
        if name == "muted":
            ties = ties._replace(muted=lists_of(size, rows))
            self._lists["muted"] = PeopleLists(ties.muted)
        else:
            self._has_changed[rows.keys] = True
            tails, heads = self._graph.ties()
            kept = ~self._has_changed[tails]
            tails = np.concatenate((tails[kept], np.repeat(rows.keys, rows.lengths)))
            heads = np.concatenate((heads[kept], rows.values))
            ties = _ties(FollowGraph(size, tails, heads))._replace(muted=ties.muted)
        self.t = self.t._replace(ties=ties)

    # Posts and cascades

    def codes_of(self, each_one: Iterable[tuple[str, ...]]) -> list[int]:
        wanted, known = list(each_one), len(self.topics)
        for topics in wanted:
            if topics not in self._codes:
                self._codes[topics] = len(self.topics)
                self.topics.append(topics)
                for topic in topics:
                    self.places.setdefault(topic, len(self.places))
        if len(self.topics) > known:
            of_codes = [[self.places[topic] for topic in each] for each in self.topics]
            starts = np.cumsum([0, *map(len, of_codes)], dtype=np.int64)
            places = np.array([place for each in of_codes for place in each], dtype=np.int64)
            self.t = self.t._replace(interests=self.t.interests._replace(starts=starts, places=places))
        return [self._codes[topics] for topics in wanted]

    def give(self, posts: Sequence[GivenPost], owners: Ints, words: Words) -> None:
        """Let people publish the posts of a file, one at least, by owners as `authors_of` has them."""
        self.given = (*self.given, *posts)
        names = [*posts[0].attributes]
        table = np.zeros((len(self.given), max(1, len(names))))
        for place, name in enumerate(names):
            values = [post.attributes[name] for post in posts]
            table[:, place] = words.numbers([type(values[0])(), *values])  # the first is for posts of no file
        codes = np.array(self.codes_of(post.topics for post in self.given), dtype=np.int64)
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], np.arange(len(self.t.people) + 1))
        self.t = self.t._replace(given=table, given_topics=codes, given_order=1 + order, given_starts=starts)

    def offer(self, choice: Callable[..., Any], offered: int) -> None:
        settings = self.t.settings._replace(choice=pointer_to(choice, self.t), offered=offered)
        self.t = self.t._replace(settings=settings)

    def make_room(self, acts: int) -> None:
        """Make room for the posts and events of so many acts."""
        t, counts, acts = self.t, self.t.counts, acts * self.at_once
        first, base, end = (int(counts.posts[place]) for place in (col.FIRST, col.BASE, col.END))
        if end - base + acts > len(t.posts):
            tables, room = (t.posts, t.details), 2 * (end - first) + acts
            larger = [grown(table, room) for table in tables]
            for table, of in zip(tables, larger, strict=True):
                of[: end - first] = table[first - base : end - base].copy()
            counts.posts[col.BASE] = first
            t = t._replace(posts=larger[0], details=larger[1])
        cascades = int(counts.cascades[col.ROWS]) + acts
        if cascades > len(t.cascades) or 2 * acts > len(t.events):
            larger, events = [grown(table, cascades) for table in (t.cascades, t.trees)], grown(t.events, 2 * acts)
            t = t._replace(cascades=larger[0], trees=larger[1], events=events)
        # Originals, and the parts from which they are sampled.
        of_originals = t.counts.originals
        if of_originals[col.NEWEST] + acts > len(t.originals):
            kept = t.originals[of_originals[col.OLDEST] : of_originals[col.NEWEST]].copy()
            originals = grown(t.originals, 2 * len(kept) + acts)
            originals[: len(kept)] = kept
            of_originals[col.OLDEST], of_originals[col.NEWEST] = 0, len(kept)
            t = t._replace(originals=originals)
        most = int(of_originals[col.NEWEST] - of_originals[col.OLDEST]) + acts
        parts = 2 * (most // t.settings.part_size + 2)
        if 2 * most + 8 * parts > len(t.part_posts) or parts >= len(t.part_counts):
            size = 3 * most + 16 * parts
            of_originals[col.BITS] = -1
            t = t._replace(
                part_origins=np.zeros(size, dtype=np.uint64),
                part_posts=np.zeros(size, dtype=np.int64),
                part_starts=np.zeros(2 * parts + 1, dtype=np.int64),
                part_counts=np.zeros(2 * parts, dtype=np.int64),
                room=t.room._replace(hashes=_words(size), least=_words(size), near=_ints(size + 1)),
            )
        self.t = t

    def cascade_rows(self, cascades: Ints) -> Ints:
        """Return the rows of cascades that are not forgotten, by number."""
        counts = self.t.counts.cascades
        rows: Ints = cascades - counts[col.SHIFT]
        if counts[col.EARLY]:
            early = np.flatnonzero(cascades < counts[col.CASCADE_FIRST])
            rows[early] = np.searchsorted(self.t.early[: counts[col.EARLY]], cascades[early])
        return rows


def _ties(graph: FollowGraph) -> Ties:
    starts, followees, in_starts, followers = graph.arrays()
    nobody = np.zeros(0, dtype=np.int64)
    return Ties(lists_from(starts, followees), lists_from(in_starts, followers), lists_from(nobody, nobody))


def _tables(size: int, interests: Interests, ties: Ties, seed: int) -> Tables:
    people = np.zeros(size, dtype=col.PERSON_FIELDS)
    people["session_round"] = people["begun_in"] = -1
    people["current"], people["left"] = NO_POST, col.CLOSED
    counts = Counts(_ints(6), _ints(9), _ints(col.MUTE + 1), _ints(8), _ints(3), np.zeros(1))
    counts.posts[col.MOST], counts.cascades[col.LARGEST] = NUMBERS_MAX, -1
    records = {"posts": col.POST_FIELDS, "details": col.DETAIL_FIELDS}
    records |= {"cascades": col.CASCADE_FIELDS, "trees": col.TREE_FIELDS}
    made: dict[str, Any] = {name: np.zeros(FIRST_ROOM, dtype=fields) for name, fields in records.items()}
    # What others fill has one place until then: a row of rings where cascades are shown once, for example.
    made |= {name: np.zeros((size, 1), dtype=np.int32) for name in ("feed", "timeline", "seen")}
    made |= {name: np.zeros((1, 1), dtype=np.int32) for name in ("exposed", "engaged")}
    made |= {name: np.zeros((1, 1)) for name in ("attributes", "own", "given")}
    made |= {name: _ints(1) for name in ("part_starts", "part_counts", "part_posts", "early", "given_topics")}
    made |= {name: _ints(1) for name in ("given_order", "given_starts")}
    made |= {name: np.zeros(1) for name in ("activity", "rates")}
    slots, one = np.zeros(col.SEEN_SLOTS, dtype=np.uint8), np.zeros(1)
    return Tables(
        settings=Settings(*[0] * 24, *[0.0] * 10)._replace(high=size),
        key=keys_of(seed),
        salt=mixing_key(seed, Draw.FEED_PART),
        people=people,
        due=np.full(size, col.NEVER, dtype=np.int32),
        exposed_posts=np.zeros((1, 1), dtype=np.int64),
        originals=_ints(FIRST_ROOM),
        part_origins=_words(1),
        ties=ties,
        interests=interests,
        participation=np.ones(1),
        roles=np.full(1, col.OFFLINE, dtype=np.int64),
        delays=np.zeros((1, 4)),
        inside=np.zeros((1, 2), dtype=np.int64),
        weights=np.zeros((1, 5)),
        kind_of=np.zeros(1, dtype=np.int32),
        counts=counts,
        events=np.zeros(16, dtype=col.EVENT_FIELDS),
        room=Room(_ints(1), _ints(1), _ints(1), _words(1), one, slots, _words(1), _words(1), _ints(1)),
        **made,
    )


def _ints(length: int) -> Ints:
    return np.zeros(length, dtype=np.int64)


def _words(length: int) -> NDArray[Any]:
    return np.zeros(length, dtype=np.uint64)

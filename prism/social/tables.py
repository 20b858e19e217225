"""The social world as flat tables, which kernels read and write: a record for each person, post and cascade.

The tables are fixed in size while a kernel runs. `prism.social.state` makes them, and room in them between two waves.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints

PERSON_FIELDS: Final = np.dtype(
    [
        ("entered", "i4"),  # the tick in which the person entered the state
        ("session_round", "i4"),  # the round of the latest session
        ("current", "i4"),  # the number of the post in view, or NO_POST
        ("came", "i4"),  # the tick in which that post came into view
        ("made", "i4"),  # the posts that the person has made
        ("silent", "i4"),  # 0; the tick at which a silence ends, or FOREVER
        ("begun_in", "i4"),  # the tick of the latest original
        ("begun", "i4"),  # the originals of that tick
        ("withheld", "i4"),  # 1 + the number of the person's post that is not published in a future; 0: no post
        ("state", "i2"),
        ("next", "i2"),  # the number of the next trigger
        ("pending", "i2"),  # the number of the action that the person is about to take
        ("shown", "i2"),  # the posts of the latest feed
        ("left", "i2"),  # those still to be shown, or CLOSED
        ("came_end", "i2"),  # the place of the next number in the ring of the timeline, and how many are in it
        ("came_count", "i2"),
        ("seen_end", "u2"),  # the same of the ring of cascades seen
        ("seen_count", "u2"),
        ("exposed_end", "u2"),  # the same of the ring of posts shown, where cascades are shown more than once
        ("exposed_count", "u2"),
        ("engaged_end", "u2"),  # the same of the ring of cascades engaged with
        ("engaged_count", "u2"),
        ("waits", "i1"),  # 1 while the person deliberates
        ("barred", "i1"),  # 1 once the person is quarantined
    ]
)
RING_MAX: Final = 65_535  # the most numbers of a person in a ring

POST_FIELDS: Final = np.dtype(
    [
        ("origin", "i8"),
        ("author", "i4"),
        ("cascade", "i4"),  # the number of the cascade
        ("created", "i4"),
        ("topics", "i4"),  # the code of the topics
        ("made", "i4"),  # the posts that the author had made before
        ("kind", "i4"),
    ]
)
"""The fields of a post that feeds read."""
DETAIL_FIELDS: Final = np.dtype(
    [
        ("parent", "i8"),  # the id of the post above, or NO_POST
        ("depth", "i4"),
        ("likes", "i4"),
        ("replies", "i4"),
        ("reshares", "i4"),
        ("given", "i4"),  # its number in the file of posts, from 1 on; 0 if neither it nor its root is from one
    ]
)
"""The other fields of a post."""
CASCADE_FIELDS: Final = np.dtype(
    [
        ("quality", "f8"),
        ("least_appeal", "f8"),
        ("engagements", "i4"),
        ("across", "i4"),  # of these, the ones by people of another group than the root's author
        ("touched", "i4"),  # the tick of the latest engagement
    ]
)
"""The fields of a cascade that feeds read."""
TREE_FIELDS: Final = np.dtype(
    [
        ("root", "i8"),  # the id of the original
        ("root_number", "i4"),  # its number
        ("size", "i4"),  # the posts; 0 of a cascade that is forgotten
        ("deepest", "i4"),
    ]
)
"""The other fields of a cascade."""
TICKS_MAX: Final = 2**30  # the most ticks of a run: the sum of a tick and a delay fits into 32 bits

VIEW_FIELDS: Final = np.dtype(
    [
        *((name, "i8") for name in ("id", "origin")),
        *((name, "f8") for name in ("velocity", "popularity", "topic_match", "appeal", "fatigue", "quality")),
        *((name, "i4") for name in ("author", "created", "topics", "kind", "likes", "replies", "reshares", "given")),
        ("number", "i4"),  # the number of the post
        ("viewed", "i4"),  # the ticks since it came into view
        ("exposures", "i4"),
        ("followed", "i4"),  # 1 if the author is followed
    ]
)
"""The fields of a post in view, for the person who sees it."""

EVENT_FIELDS: Final = np.dtype(
    [
        ("who", "i4"),
        ("what", "i4"),  # a number of an effect, or FEED
        ("post", "i8"),  # the id of the post
        ("above", "i8"),  # the id of the post that it answers or reshares
        ("about", "i8"),  # the code of its topics
    ]
)
"""The fields of an event: an act of a person, or a feed shown to them."""

LIKE, REPLY, RESHARE, PUBLISH, FEED, FOLLOW, UNFOLLOW, MUTE, FOLLOW_ROOT = range(1, 10)
"""The numbers of effects, which are those of pending actions; 0 is none. From FOLLOW_ROOT on are, in the same order,
those on the author of the root."""
TO_ROOT_AUTHOR: Final = FOLLOW_ROOT - FOLLOW
IS_ORIGINAL, IS_REPLY, IS_RESHARE = range(3)  # the numbers of kinds of posts
FEED_READY, WANTS_TO_POST, SEES_POST, DECIDES, IGNORES, TIMEOUT, ROUND_ENDS = range(1, 8)
"""The numbers of triggers that the world sends; those of the chart's delays follow."""
NEVER: Final = -1
CLOSED: Final = -1
FOREVER: Final = -1
UNMOVED: Final = -1  # the target of a turn that moves nobody

NO_ROLE, OFFLINE, BROWSE, ATTEND = range(4)  # roles of states
ATTRIBUTE: Final = 10
"""The law of a delay, beside those of `prism.kernel_rng`, that is a person's, by a column of `attributes`."""
ONCE, SIMPLE, COMPLEX = range(3)
EXPOSURES: Final = {"once": ONCE, "simple": SIMPLE, "complex": COMPLEX}
STRICT, BORROWING, SHARING = range(3)
FILLS: Final = {"strict": STRICT, "borrow": BORROWING, "share": SHARING}
TO_SEEN, TO_ROOT, TO_NEWEST = range(3)
CREDITS: Final = {"seen": TO_SEEN, "root": TO_ROOT, "newest": TO_NEWEST}

SEEN_SLOTS: Final = 512
"""The places of a table of seen cascades by their low bits. It tells most of those that a reader has not seen."""


class Settings(NamedTuple):
    """The settings that kernels read; they change with an intervention only."""

    low: int  # the people of this shard are those from `low` to before `high`
    high: int  # of the others it has only what their acts change for everybody
    score: int  # `prism.kernels.pointer_to` the ranking
    choice: int  # the same to the score by which people choose posts of a file
    pattern: int  # the same to the guards of the chart
    offered: int  # the posts of the file that are drawn for somebody who publishes
    across: int  # the column of the attribute that makes groups, or -1
    is_signed: int  # 1 if its sign does
    per_author: int  # the most posts of one author on each side of a feed; 0: no limit
    per_topic: int  # the most posts of one code of topics there; 0: no limit
    exposure: int  # a value of EXPOSURES
    credit: int  # a value of CREDITS
    inside: int  # the posts of a feed by people who are followed
    outside: int  # the others
    fill: int  # a value of FILLS
    depth: int  # the most numbers of a person in the ring of the timeline
    seen_depth: int  # in the other rings
    pool: int  # the posts of a sample
    part_size: int  # the originals of a part, on average
    ticks_per_round: int
    patience: int  # ticks after which somebody without a row gets a timeout
    window: int  # the first ticks of a round, in which people come online
    may_post: int  # 1 if a session may begin with an original
    notes_feeds: int  # 1 if each feed that is built is an event
    share: float  # the configured posts of a feed from out of network, which need not be whole
    popularity_weight: float
    popularity_half: float
    freshness: float  # ticks that weigh as much as a factor of ten in engagements, in a hot feed
    appeal_power: float
    attention: float
    quality_sigma: float  # the spread of the log of the quality that people share; 0 gives all posts quality 1
    response: float  # the median ticks until a post reaches a person; 0 for at once
    response_sigma: float  # the spread of its log over people
    speed_sigma: float  # the same over originals


class Lists(NamedTuple):
    """A list of people for each person, ascending: person i's is `values[starts[i] : ends[i]]`."""

    starts: Ints
    ends: Ints
    values: NDArray[np.int32]


class Ties(NamedTuple):
    """The people whom each person follows, their followers, and the people whom they have muted: none if nobody has."""

    followees: Lists
    followers: Lists
    muted: Lists


class Interests(NamedTuple):
    """The interests of people, and the topics of each code. A code below the number of interests is that one."""

    bits: NDArray[np.uint8]  # the interests of people: `width` bytes each
    width: int
    topics: int  # the number of interests
    own_starts: Ints  # where the interests of each person start in `own`
    own: NDArray[np.int32]  # their codes, in the person's order
    starts: Ints  # the topics of code c are `places[starts[c] : starts[c + 1]]`
    places: Ints  # interests, or greater numbers for what is nobody's interest
    no_topic: int  # the code of no topics


class ChartTables(NamedTuple):
    """The outcome of each trigger in each state, which is the group `state * triggers + trigger`."""

    triggers: int  # how many there are
    fixed: Ints  # the outcome of a group in any case; GUARDED if it depends on guards
    starts: Ints  # the place of a group's first pattern in `outcomes`
    views: NDArray[np.bool_]  # whether its guards read the post in view
    outcomes: Ints  # of each pattern of guards that hold; UNKNOWN until it is looked up


GUARDED: Final = -2  # stands for an outcome that depends on guards
UNKNOWN: Final = -3  # stands for the outcome of a pattern of guards that has not been looked up yet
DRAWS: Final = 1 << 20
"""Is added to the number of an update whose action is drawn: those of the other actions follow it."""


class Counts(NamedTuple):
    """Counts and ends that kernels move, each an array of whole numbers, by the names below."""

    posts: Ints
    cascades: Ints
    done: Ints
    feeds: Ints
    originals: Ints
    share: NDArray[np.float64]


FIRST, BASE, END, MOST, REFUSED, EVENTS = range(6)
"""The places of `Counts.posts`: the number of the oldest post that is not forgotten, that of the post in the first row
of `posts`, that of the next post, and the limit of END; 1 if END was at its limit, or 2 + an author who was at theirs;
the events of the wave."""
EARLY, CASCADE_FIRST, SHIFT, ROWS, LARGEST, LARGEST_SIZE, LARGEST_DEPTH, DEEPEST_OF_ALL, BRANCHED = range(9)
"""The places of `Counts.cascades`: the cascades in the first part of the columns, by number in `early`; the number of
the first one in the second part, and the numbers there less their indices; the rows; the root, the posts and the depth
of the largest. Those of `Counts.done` are the numbers of effects."""
BUILT, PLACES, SHOWN_ALL, SHOWN_OUTSIDE, SHORT_INSIDE, SHORT_OUTSIDE, SEEN, CONSIDERED = range(8)
"""The places of `Counts.feeds`: the feeds, one a session; the places that they could have at most, by `feed.size`; the
posts in them, and those of them from out of network; the places that the in-network side could not fill, and those that
the other side could not; posts that came into somebody's view, and those at which somebody looked closely."""
OLDEST, NEWEST, BITS = range(3)
"""The places of `Counts.originals`: the place of the oldest in `originals`, the place after the newest, and the bits
that tell the part of an original; -1: no original is in its part."""


class Room(NamedTuple):
    """Room in which feeds are built: candidates of both sides, hashes of originals, and a sample of these."""

    numbers: Ints
    cascades: Ints
    created: Ints
    lucks: NDArray[np.uint64]
    scores: NDArray[np.float64]
    slots: NDArray[np.uint8]
    hashes: NDArray[np.uint64]
    least: NDArray[np.uint64]
    near: Ints


class Tables(NamedTuple):
    """The tables, for kernels. The fields of records are above; a ring has the latest numbers of a person in a row."""

    settings: Settings
    key: NDArray[np.uint64]  # `prism.kernel_rng.keys_of` the seed
    salt: np.uint64  # with which originals are mixed for their parts
    people: NDArray[Any]  # records, as `posts`, `details`, `cascades` and `trees` are
    due: NDArray[np.int32]  # the tick of each person's next trigger, or NEVER
    feed: NDArray[np.int32]  # the numbers of the posts of each person's latest feed, first to last
    timeline: NDArray[np.int32]  # rings of the posts that came to each person
    seen: NDArray[np.int32]  # rings of the cascades shown
    exposed_posts: Ints  # rings of the ids of posts shown; one row where cascades are shown once
    exposed: NDArray[np.int32]  # rings of their cascades, in the same way
    engaged: NDArray[np.int32]  # rings of the cascades engaged with, in the same way
    posts: NDArray[Any]
    details: NDArray[Any]
    cascades: NDArray[Any]
    trees: NDArray[Any]
    early: Ints  # numbers of cascades, ascending
    originals: Ints  # the numbers of originals
    part_starts: Ints  # where each part of them starts in `part_origins` and `part_posts`
    part_counts: Ints  # how many each part has
    part_origins: NDArray[np.uint64]
    part_posts: Ints
    ties: Ties
    interests: Interests
    activity: NDArray[np.float64]  # of each person
    rates: NDArray[np.float64]  # the mean of original posts in a session of each person; one row: of everybody
    participation: NDArray[np.float64]  # of each person; one row: of everybody
    attributes: NDArray[np.float64]  # of people, as `prism.social.changing` places them
    own: NDArray[np.float64]  # the values of people that never change and that guards read, a row each
    given: NDArray[np.float64]  # the attributes of each post of a file; the first row is of posts that are from no file
    given_topics: Ints  # the code of its topics
    # the posts of the file by who may publish them: those of anybody, then those of each person, then those of nobody
    given_order: Ints
    given_starts: Ints  # where those of each person start in it, and those of nobody
    roles: Ints  # of each state
    delays: NDArray[np.float64]  # of each state: a law, two numbers, and the number of its trigger
    inside: Ints  # the people in each state, and the ticks spent there less the people in it times the ticks
    weights: NDArray[np.float64]  # of actions of convinced people, a row for each kind of person, with their sum last
    kind_of: NDArray[np.int32]  # each person's row of `weights`
    counts: Counts
    events: NDArray[Any]
    room: Room


def grown(table: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return a table with at least so many rows, with room for half as many again; itself if it has them."""
    if rows <= len(table):
        return table
    larger = np.zeros((rows + rows // 2, *table.shape[1:]), dtype=table.dtype)
    larger[: len(table)] = table
    return larger


def widened(table: NDArray[Any], width: int) -> NDArray[Any]:
    """Return a table with at least so many columns; itself if it has them."""
    if width <= table.shape[1]:
        return table
    wider = np.zeros((len(table), width), dtype=table.dtype)
    wider[:, : table.shape[1]] = table
    return wider

"""The course of a run: one reading of its record that gives all counts, curves, posts, and agents' states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from actors.core.errors import JournalError
from actors.store.journal import JOURNAL
from actors.store.record import Block, Record, readable, tick_of_rows
from actors.store.segments import TableRows
from prism.agents import DECIDED, FALLBACKS, MOVED, STALE
from prism.agents.waves import Kind
from prism.columns import Ints, places_among
from prism.events import MADE, NUMBER_BITS
from prism.rows import Heap
from prism.statechart.outline import Activity

POST_COLUMNS: Final = ("agent", "what", "post", "parent")  # the columns of the table of posts that are read

PART: Final = 1 << 20  # the posts that are looked for at once: that bounds the memory


class MadePost(NamedTuple):
    """A post: its id, the tick in which it was made, its author, its kind, and the post that it answers or reshares."""

    post: int
    tick: int
    author: int
    kind: str
    parent: int | None


class Posts(NamedTuple):
    """Posts as columns of shape (posts,)."""

    ids: Ints
    ticks: Ints
    authors: Ints
    kinds: Ints  # the place of each post's kind in `MADE`
    parents: Ints  # the post that it answers or reshares; -1 for none
    above: Ints  # the place of the parent; -1 for none
    roots: Ints  # the place of the original of its cascade
    order: Ints  # the places of the posts by ascending id

    def followed_by(self, tables: Sequence[TableRows]) -> Posts:
        """Return these posts with those of the blocks after them."""
        if not any(len(table.rows) for table in tables):
            return self
        before = len(self.ids)
        added = [[tick_of_rows(table), *(table.columns[name] for name in POST_COLUMNS)] for table in tables]
        own = (self.ticks, self.authors, self.kinds, self.ids, self.parents)
        ticks, authors, kinds, ids, parents = (
            np.concatenate([old, *each]).astype(np.int64, copy=False)
            for old, each in zip(own, zip(*added, strict=True), strict=True)
        )
        found = Posts(ids, ticks, authors, kinds, parents, self.above, self.roots, np.argsort(ids, kind="stable"))
        # A step towards the original from each new post, then from there another one, until none is left.
        above = found.places(parents[before:])
        roots = np.concatenate([self.roots, np.where(above < 0, np.arange(before, len(ids)), above)])
        while not np.array_equal(nearer := roots[roots], roots):
            roots = nearer
        return found._replace(above=np.append(self.above, above), roots=roots)

    def at(self, places: Ints | slice) -> list[MadePost]:
        columns = (each[places].tolist() for each in (self.ids, self.ticks, self.authors, self.kinds, self.parents))
        return [
            MadePost(post, tick, author, MADE[kind], None if parent < 0 else parent)
            for post, tick, author, kind, parent in zip(*columns, strict=True)
        ]

    def places(self, ids: Ints) -> Ints:
        """Return the place of each post; -1 for one that is not there."""
        return Places(self)(ids) if len(self.ids) else np.full(len(ids), -1)

    def tree(self, post: int) -> list[MadePost]:
        """Return a post and all below it, in the order in which they were made; empty if there is no such post."""
        [place] = self.places(np.array([post])).tolist()
        if place < 0:
            return []
        inside = np.flatnonzero(self.roots == self.roots[place])
        is_below = set[int]()
        # A parent comes before its children.
        for each, parent in zip(inside.tolist(), self.above[inside].tolist(), strict=True):
            if each == place or parent in is_below:
                is_below.add(each)
        return self.at(np.array(sorted(is_below)))

    def largest(self, count: int) -> list[tuple[MadePost, int]]:
        """Return the originals of the largest cascades, of two posts or more, and their posts; equal ones by age."""
        sizes = np.bincount(self.roots, minlength=len(self.ids))
        chosen = np.argsort(-sizes, kind="stable")[:count]
        chosen = chosen[sizes[chosen] > 1]
        return list(zip(self.at(chosen), sizes[chosen].tolist(), strict=True))


class Places:
    """The places of posts by their ids, of at least one post.

    Those of an author have numbers that follow each other, so a post is as far from the first of them as its number
    says. Searching takes ten times as long for millions.
    """

    def __init__(self, posts: Posts) -> None:
        self._ordered, self._largest = posts.ids[posts.order], int(posts.ids.max())
        self._firsts = np.searchsorted(self._ordered, np.arange((self._largest >> NUMBER_BITS) + 1) << NUMBER_BITS)
        self._places = np.append(posts.order, -1)

    def __call__(self, ids: Ints) -> Ints:
        found = np.full(len(ids), -1)
        for start in range(0, len(ids), PART):
            part = ids[start : start + PART]
            known = (part >= 0) & (part <= self._largest)
            near = self._firsts[np.where(known, part, 0) >> NUMBER_BITS] + (part & ((1 << NUMBER_BITS) - 1))
            near = np.minimum(near, len(self._ordered) - 1)
            near = np.where(known & (self._ordered[near] == part), near, -1)
            others = np.flatnonzero(known & (near < 0))
            near[others] = places_among(self._ordered, part[others])
            found[start : start + PART] = self._places[near]
        return found


NO_POSTS: Final = Posts(*[np.empty(0, np.int64)] * 8)


def posts_until(record: Record, until: int) -> Posts:
    """Return the posts of a run that were made before a tick; none in a domain without posts."""
    tables = (block.tables.get("posts") for block in record.blocks(until=until, wanted={"posts": POST_COLUMNS}))
    return NO_POSTS.followed_by([table for table in tables if table is not None])


STATES_MAX = 65_535  # the most states of a run that are told apart

Moved = tuple[Ints, Ints, NDArray[np.intp]]
"""The tick, the agent and the number of the move of each update that has moved its agent."""


class States:
    """The states of agents after the ticks that were added.

    `names`: the states, the first one that in which everybody begins; empty if they are not known: then they are those
    that updates name.
    """

    def __init__(self, agents: int, names: Sequence[str] = ()) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        self.of_agents = np.zeros(agents, dtype=np.uint16)  # the number of each agent's state
        self.counts = np.array([agents])
        """The number of agents in each state; before a first update names a state, all are in the first one."""
        self.moves: dict[tuple[int, int], int] = {}  # `{(state before, state after): the number of the move}`
        self._of_kind: list[int] = []  # the move of each kind of update; -1 for none
        for name in names:
            self._number_of(name)

    def moved(self, block: Block, kinds: Sequence[Kind]) -> Moved:
        """Return the moves in a block, to be added."""
        table = block.tables["updates"]
        codes = table.columns["kind"]
        if not self.names and len(codes):
            self._number_of(kinds[codes[0]].from_state)
        for kind in kinds[len(self._of_kind) :]:
            if kind.source in MOVED:
                move = self._number_of(kind.from_state), self._number_of(kind.to_state)
                self._of_kind.append(self.moves.setdefault(move, len(self.moves)))
            else:
                self._of_kind.append(-1)
        moves = np.array(self._of_kind, dtype=np.intp)[codes]
        ticks, agents = tick_of_rows(table), table.columns["agent"]
        if len(moves) and moves.min() < 0:
            is_moved = moves >= 0
            return ticks[is_moved], agents[is_moved], moves[is_moved]
        return ticks, agents, moves

    def add(self, block: Block, moved: Moved) -> NDArray[np.int64]:
        """Add the moves of a block, and return how many agents are in each state after each of its ticks."""
        self.enter(moved)
        ticks, _, moves = moved
        times = np.bincount((ticks - block.first) * len(self.moves) + moves, minlength=block.ticks * len(self.moves))
        changes = np.zeros((len(self.moves), len(self.counts)))
        for (before, after), move in self.moves.items():
            changes[move, before] -= 1
            changes[move, after] += 1
        # As floats, which are exact here: NumPy multiplies matrices of whole numbers many times more slowly.
        changed = times.reshape(block.ticks, len(self.moves)).astype(np.float64) @ changes
        found: Ints = changed.astype(np.int64).cumsum(axis=0) + self.counts
        if block.ticks:
            self.counts = found[-1].copy()
        return found

    def enter(self, moved: Moved) -> None:
        """Put each agent into the state to which its last move leads."""
        _, agents, moves = moved
        after = np.array([after for _, after in self.moves], dtype=np.uint16)
        self.of_agents[agents] = after[moves]  # of several moves of an agent the last one stays

    def _number_of(self, name: str) -> int:
        """Return the number of a state; a new state gets the next number. Every agent begins in the first one."""
        if (number := self._numbers.get(name)) is not None:
            return number
        if len(self.names) == STATES_MAX:
            raise JournalError(f"{JOURNAL}: names more than {STATES_MAX:,} states")
        if self.names:
            self.counts = np.append(self.counts, 0)
        self.names.append(name)
        return self._numbers.setdefault(name, len(self.names) - 1)


def stacked(blocks: Sequence[Ints]) -> Ints:
    """Return counts of shape (ticks, states) one after the other. Before an update names a state, nobody is in it."""
    width = blocks[-1].shape[1]
    return np.concatenate([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in blocks])


K = TypeVar("K")

POINTS_MAX = 200  # the most points of a line over time
ROUNDS_MIN = 12  # the fewest rounds of a run whose points are whole rounds: within a round people come and go
COUNTED: Final[dict[str, tuple[str, ...]]] = {
    "updates": ("agent", "kind"),
    "questions": (),
    "interventions": ("kind",),
    "posts": POST_COLUMNS,
    "likes": ("agent", "post"),
    "attributes": ("name",),
}
"""`{table: the columns that are counted}`."""


class Step(NamedTuple):
    """A step of agents: from one state to another, by a trigger, and decided by a rule or by a choice."""

    before: str
    trigger: str
    after: str
    is_decided: bool


def point_ticks(ticks: int, ticks_per_round: int) -> int:
    """Return the ticks of a point in time, so that a run has at most `POINTS_MAX`; in a long run, whole rounds."""
    rounds = ticks // ticks_per_round
    if rounds >= ROUNDS_MIN:
        return ticks_per_round * -(-rounds // POINTS_MAX)
    return max(1, -(-ticks // POINTS_MAX))


def read_course(path: Path, *tables: str, initial: str | None = None, each_ticks: int = 0) -> Course:
    """Return the course of the run in a directory. It reads the whole record once, up to its last whole tick.

    Args:
        tables: the tables that are counted, which saves time; all of `COUNTED` by default.
        initial: the state in which every agent starts. None if the chart cannot be read: then it is the state that the
            first agent leaves.
        each_ticks: ticks of a point in time; 0 for no points.
    """
    course = Course(Record(path), initial, each_ticks)
    for block in course.record.blocks(wanted={name: COUNTED[name] for name in tables or COUNTED}):
        with readable(block):
            course.add(block)
    course.end()
    return course


class Course:
    """The events of a run, up to its last whole tick. `initial`, `point_ticks`: as of `read_course`."""

    def __init__(self, record: Record, initial: str | None, point_ticks: int) -> None:
        self.record, self.header, self.point_ticks = record, record.header, point_ticks
        self.ticks = 0  # the ticks that were read
        self.is_damaged = False  # True if something other than a whole tick follows them
        self.people: list[dict[str, float]] = []
        """For each point in time, the agents in each state on average; the last point may be shorter."""
        self.questions = 0
        self.interventions: list[tuple[int, str]] = []  # `(tick, kind)` of each
        self.attributes_changed: set[str] = set()
        self._states = States(self.header.agents, () if initial is None else (initial,))
        self._entered = np.zeros(self.header.agents, np.int64)
        self._times, self._move_ticks = np.zeros(0, np.int64), np.zeros(0)
        """The number of updates of each kind; for each move the sum of the ticks in which it took place."""
        self._inside = list[Ints]()
        """The agents in each state after each tick, of shape (ticks, states); empty without points in time."""
        self._rows: dict[str, list[TableRows]] = {"posts": [], "likes": []}

    @property
    def inside(self) -> dict[str, int]:
        """Agents in each state after the last tick."""
        return dict(zip(self._states.names, self._states.counts.tolist(), strict=False))

    @property
    def turns(self) -> int:
        """Triggers that agents have answered: with a transition, without one, or with a question."""
        return self.sources.total() + self.unmoved.total() + self.open_questions

    @property
    def open_questions(self) -> int:
        """Questions to the oracle without a decision yet."""
        settled = (n for kind, n in self._updates if kind.source in DECIDED or kind.reason == STALE)
        return max(0, self.questions - sum(settled))

    @property
    def _updates(self) -> Iterable[tuple[Kind, int]]:
        """The kinds of updates that took place, each with how often."""
        return ((kind, n) for kind, n in zip(self.record.kinds, self._times.tolist(), strict=False) if n)

    @cached_property
    def steps(self) -> Counter[Step]:
        return _total(
            (Step(kind.from_state, kind.trigger, kind.to_state, kind.source in DECIDED), n)
            for kind, n in self._updates
            if kind.source in MOVED
        )

    @cached_property
    def sources(self) -> Counter[str]:
        """Transitions by what decided them."""
        return _total((kind.source, n) for kind, n in self._updates if kind.source in MOVED)

    @cached_property
    def unmoved(self) -> Counter[str]:
        """Turns without a transition, by the reason."""
        return _total((kind.source, n) for kind, n in self._updates if kind.source not in MOVED)

    @cached_property
    def fallbacks(self) -> Counter[str]:
        """Choices that were made without the oracle, by the reason."""
        return _total((kind.reason, n) for kind, n in self._updates if kind.source in FALLBACKS)

    @cached_property
    def activity(self) -> Activity:
        """The steps and stays of the agents, as the drawing of a chart wants them."""
        states = self._states
        # A stay lasts from the tick in which its state was entered to that in which it was left: of all stays that have
        # ended, the sum is that of the latter ticks without that of the former, but for those whose stay goes on.
        stays = np.bincount(states.of_agents, self._entered, len(states.names))
        for (before, after), move in states.moves.items():
            stays[before] += self._move_ticks[move]
            stays[after] -= self._move_ticks[move]
        lasting = np.bincount(states.of_agents, self.ticks - self._entered, len(states.names))
        left = _total((step.before, n) for step, n in self.steps.items())
        whole = max(1, self.header.agents * self.ticks)
        return Activity(
            agents=self.header.agents,
            ticks=self.ticks,
            taken=dict(_total(((step.before, step.trigger, step.after), n) for step, n in self.steps.items())),
            dwell_ticks={state: float(stays[states.names.index(state)]) / count for state, count in left.items()},
            shares={state: time / whole for state, time in zip(states.names, (stays + lasting).tolist(), strict=True)},
        )

    @cached_property
    def posts(self) -> Posts:
        return NO_POSTS.followed_by(self._rows["posts"])

    @cached_property
    def likes(self) -> Counter[int]:
        """`{post: its likes}`."""
        posts, likes = np.unique(np.concatenate(self._of("likes", "post")), return_counts=True)
        return Counter(dict(zip(posts.tolist(), likes.tolist(), strict=True)))

    @property
    def likers(self) -> Ints:
        return np.concatenate(self._of("likes", "agent"))

    @cached_property
    def activity_ticks(self) -> Ints:
        """The tick of each post and like, ascending."""
        return np.sort(np.concatenate([self.posts.ticks, *map(tick_of_rows, self._rows["likes"])]))

    def add(self, block: Block) -> None:
        tables, kinds = block.tables, self.record.kinds
        if "updates" in tables:
            codes, moved = tables["updates"].columns["kind"], self._states.moved(block, kinds)
            self._times = _added(self._times, np.bincount(codes, minlength=len(kinds)))
            ticks, agents, moves = moved
            self._entered[agents] = ticks  # of several moves of an agent the last one stays
            self._move_ticks = _added(self._move_ticks, np.bincount(moves, ticks, len(self._states.moves)))
            inside = self._states.add(block, moved)
            if self.point_ticks and len(inside):
                self._inside.append(inside)
        if "questions" in tables:
            self.questions += int(tables["questions"].rows.sum())
        for table in tables.keys() & self._rows.keys():
            self._rows[table].append(tables[table])
        if "interventions" in tables and isinstance(done := tables["interventions"].columns["kind"], Heap):
            self.interventions += zip(tick_of_rows(tables["interventions"]).tolist(), done.texts(), strict=True)
        if "attributes" in tables and isinstance(names := tables["attributes"].columns["name"], Heap):
            self.attributes_changed |= {*names.numbered()[0]}
        self.ticks += block.ticks
        self.is_damaged = block.damage is not None

    def end(self) -> None:
        if self._inside:
            whole = stacked(self._inside)
            starts = np.arange(0, len(whole), self.point_ticks)
            means = np.add.reduceat(whole, starts) / np.diff(starts, append=len(whole))[:, None]
            self.people = [dict(zip(self._states.names, each, strict=True)) for each in means.tolist()]
        if not self._states.names:
            self._states = States(self.header.agents, ("not known",))

    def _of(self, table: str, column: str) -> list[Ints]:
        """Return a column of the blocks that were read, after an empty one."""
        return [np.empty(0, np.int64), *(np.asarray(each.columns[column]) for each in self._rows[table])]


def _added(before: Any, more: Any) -> Any:
    return np.pad(before, (0, len(more) - len(before))) + more


def _total(counts: Iterable[tuple[K, int]]) -> Counter[K]:
    found = Counter[K]()
    for key, count in counts:
        found[key] += count
    return found

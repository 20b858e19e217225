"""The course of a run: one reading of its journal that gives all counts, curves and cascades."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from actors.core.frames import Damage
from actors.core.messages import Message
from actors.persistence.disk import RealDisk
from actors.persistence.journal import Header, read_header, read_ticks
from actors.record.messages import encoded_in, messages_in, those_of
from prism.agents import DECIDED, FALLBACKS, MOVED, STALE, Question, Update
from prism.drawing import Activity
from prism.events import AttributeSet, FeedShown, Intervened, PostEvent

K = TypeVar("K")

POINTS_MAX = 200
"""The most points of a line over time."""
ROUNDS_MIN = 12
"""The fewest rounds of a run whose points are whole rounds: within a round people come and go."""
LIKE = "like"


class Step(NamedTuple):
    """A step of agents: from one state to another, by a trigger, and decided by a rule or by a choice."""

    before: str
    trigger: str
    after: str
    is_decided: bool


class MadePost(NamedTuple):
    """A post: its id, the tick in which it was made, its author, its kind, and the post that it answers or reshares."""

    post: int
    tick: int
    author: int
    kind: str
    parent: int | None


def point_ticks(ticks: int, ticks_per_round: int) -> int:
    """Return the ticks of a point in time, so that a run has at most `POINTS_MAX`; in a long run, whole rounds."""
    rounds = ticks // ticks_per_round
    if rounds >= ROUNDS_MIN:
        return ticks_per_round * -(-rounds // POINTS_MAX)
    return max(1, -(-ticks // POINTS_MAX))


def read_course(
    path: Path,
    *kinds: type[Message],
    initial: str | None = None,
    each_ticks: int = 0,
    on_tick: Callable[[int], None] = lambda _: None,
) -> Course:
    """Return the course of the run in a directory. It reads the whole journal once, up to its last whole tick.

    Args:
        kinds: the kinds of messages that are counted, which saves time; all by default.
        initial: the state in which every agent starts. None if the chart cannot be read: then it is the state that the
            first agent leaves.
        each_ticks: ticks of a point in time; 0 for no points.
        on_tick: called with the ticks that have been read.

    Raises:
        JournalError: the journal cannot be read.
    """
    disk = RealDisk(path)
    course = Course(read_header(disk)[0], kinds, initial, each_ticks)
    for frame in read_ticks(disk):
        if isinstance(frame, Damage):
            course.is_damaged = True
            break
        course.add(frame.payload)
        on_tick(course.ticks)
    course.end()
    return course


class Course:
    """The events of a run, up to its last whole tick.

    Args:
        kinds: the kinds of messages that are counted; empty for all kinds.
        initial: the state in which every agent starts; None if it is not known.
        point_ticks: ticks of a point of `people`; 0 for no points.
    """

    def __init__(self, header: Header, kinds: Iterable[type[Message]], initial: str | None, point_ticks: int) -> None:
        self.header, self.point_ticks = header, point_ticks
        self.ticks = 0
        """The ticks that were read."""
        self.is_damaged = False
        """True if something other than a whole tick follows them."""
        self.people: list[dict[str, float]] = []
        """For each point in time, the agents in each state on average; the last point may be shorter."""
        self.inside = Counter[str]()
        """Agents in each state after the last tick."""
        self.questions = 0
        self.posts: list[MadePost] = []
        """Posts in the order in which they were made."""
        self.likes, self.roots = Counter[int](), dict[int, int]()
        """`{post: its likes}` and `{post: the original of its cascade}`."""
        self.shown: defaultdict[int, set[int]] = defaultdict(set)
        """By root, the people to whom a feed showed a post of the cascade; empty unless feeds were recorded."""
        self.engaged: defaultdict[int, set[int]] = defaultdict(set)
        """By root, the people who liked, answered or reshared a post of the cascade, except its author."""
        self.activity_ticks: list[int] = []
        self.interventions: list[tuple[int, str]] = []
        """`(tick, kind)` of each."""
        self.attributes_changed: set[str] = set()
        self._updates = Counter[tuple[str, str, str, str, str]]()
        """`{(state before, trigger, state after, source, reason): times}`: summed up at the end, in 0.7 of the time."""
        self._sum, self._summed = Counter[str](), 0
        self._states, self._entered = list[str](), [0] * header.agents
        self._stay_ticks = Counter[str]()

        def count_question(_: Question[Any]) -> None:
            self.questions += 1

        def add_feed(feed: FeedShown) -> None:
            for post in feed.posts:
                self.shown[self.roots.get(post, post)].add(feed.agent)

        takers: dict[Any, Callable[[Any], None]] = {
            Update: self._add_update,
            Question: count_question,
            PostEvent: self._add_post,
            FeedShown: add_feed,
            Intervened: lambda done: self.interventions.append((done.tick, done.kind)),
            AttributeSet: lambda change: self.attributes_changed.add(change.name),
        }
        self._takers = {kind: takers[kind] for kind in kinds or takers}
        if initial is not None:
            self._begin(initial)

    @property
    def turns(self) -> int:
        """Triggers that agents have answered: with a transition, without one, or with a question."""
        return self.sources.total() + self.unmoved.total() + self.open_questions

    @property
    def open_questions(self) -> int:
        """Questions to the oracle without a decision yet."""
        settled = (n for (*_, source, reason), n in self._updates.items() if source in DECIDED or reason == STALE)
        return max(0, self.questions - sum(settled))

    @cached_property
    def steps(self) -> Counter[Step]:
        return _total(
            (Step(before, trigger, after, source in DECIDED), n)
            for (before, trigger, after, source, _), n in self._updates.items()
            if source in MOVED
        )

    @cached_property
    def sources(self) -> Counter[str]:
        """Transitions by what decided them."""
        return _total((source, n) for (*_, source, _), n in self._updates.items() if source in MOVED)

    @cached_property
    def unmoved(self) -> Counter[str]:
        """Turns without a transition, by the reason."""
        return _total((source, n) for (*_, source, _), n in self._updates.items() if source not in MOVED)

    @cached_property
    def fallbacks(self) -> Counter[str]:
        """Choices that were made without the oracle, by the reason."""
        return _total((reason, n) for (*_, source, reason), n in self._updates.items() if source in FALLBACKS)

    @cached_property
    def activity(self) -> Activity:
        """The steps and stays of the agents, as the drawing of a chart wants them."""
        stays, spent = _total((step.before, n) for step, n in self.steps.items()), Counter(self._stay_ticks)
        for state, since in zip(self._states, self._entered, strict=True):
            spent[state] += self.ticks - since
        whole = max(1, self.header.agents * self.ticks)
        return Activity(
            agents=self.header.agents,
            ticks=self.ticks,
            taken=dict(_total(((step.before, step.trigger, step.after), n) for step, n in self.steps.items())),
            dwell_ticks={state: self._stay_ticks[state] / count for state, count in stays.items()},
            shares={state: time / whole for state, time in spent.items()},
        )

    def add(self, payload: bytes) -> None:
        """Count the messages of the next tick.

        Raises:
            JournalError: the payload holds no tick.
        """
        takers = self._takers
        of_all = Update in takers  # most messages are of these kinds, so decoding the tick as a whole takes less time
        for message in messages_in(payload) if of_all else those_of(encoded_in(payload), *takers):
            if (take := takers.get(message.__class__)) is not None:
                take(message)
        self.ticks += 1
        if self.point_ticks:
            self._sum.update(self.inside)
            self._summed += 1
            if self._summed == self.point_ticks:
                self._end_point()

    def end(self) -> None:
        """End the last point in time."""
        self._end_point()
        if not self._states:
            self._begin("not known")

    def _begin(self, state: str) -> None:
        """Put everybody into the state in which all of them start."""
        self.inside[state] = self.header.agents
        self._states = [state] * self.header.agents

    def _add_update(self, update: Update[Any]) -> None:
        agent, before, after, source = update.agent, update.from_state, update.to_state, update.source
        self._updates[before, update.trigger, after, source, update.reason] += 1
        if source in MOVED:
            if not self._states:
                self._begin(before)
            self._stay_ticks[before] += self.ticks - self._entered[agent]
            self.inside[before] -= 1
            self.inside[after] += 1
            self._states[agent], self._entered[agent] = after, self.ticks

    def _add_post(self, event: PostEvent) -> None:
        self.activity_ticks.append(event.tick)
        if event.kind == LIKE:
            self.likes[event.post] += 1
            self.engaged[self.roots.get(event.post, event.post)].add(event.agent)
            return
        self.posts.append(MadePost(event.post, event.tick, event.agent, event.kind, event.parent))
        if event.parent is None:
            self.roots[event.post] = event.post
        else:
            root = self.roots[event.post] = self.roots.get(event.parent, event.parent)
            self.engaged[root].add(event.agent)

    def _end_point(self) -> None:
        if self._summed:
            self.people.append({state: total / self._summed for state, total in self._sum.items()})
            self._sum.clear()
            self._summed = 0


def _total(counts: Iterable[tuple[K, int]]) -> Counter[K]:
    found = Counter[K]()
    for key, count in counts:
        found[key] += count
    return found

"""The course of a run: one reading of its journal that gives all that is counted, drawn and judged of it."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from actors.core.frames import Damage
from actors.core.messages import Message
from actors.persistence.disk import RealDisk
from actors.persistence.journal import Header, journal_frames, read_header
from actors.record.messages import encoded_in, messages_in, those_of
from prism.agents import DECIDED, FALLBACKS, MOVED, STALE, Question, Update
from prism.drawing import Activity
from prism.events import AttributeSet, FeedShown, Intervened, PostEvent

POINTS_MAX = 200
"""The most points of a line over time."""
ROUNDS_MIN = 12
"""The fewest rounds of a run whose points are whole rounds: within a round people come and go."""
LIKE = "like"


class Step(NamedTuple):
    """A way that agents went: from one state to another, by a trigger, as a rule said or as a choice was decided."""

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


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """The events of a run, up to its last whole tick.

    Args:
        header: of the journal.
        ticks: the ticks that were read.
        is_damaged: whether something else than a whole tick follows them.
        point_ticks: ticks of a point of `people`; the last one may be shorter.
        people: for each point, the agents in each state on average: `{state: agents}`.
        inside: agents in each state after the last tick.
        steps: `{step: times}`; `activity`: the same as the drawing of a chart wants it.
        sources: transitions by what decided them; `unmoved`: turns without a transition, by the reason.
        fallbacks: choices that were made without the oracle, by the reason.
        questions: questions to the oracle; `open_questions`: those that nobody has settled yet.
        posts: posts in the order in which they were made; `likes`: likes of each post; `shown`: by root, the people
            to whom a feed showed a post of the cascade; empty unless feeds were recorded.
        engaged: by root, the people who liked, answered or reshared something of the cascade, but for its author.
        interventions: `(tick, kind)` of each.
        attributes_changed: the attributes that people have changed.
    """

    header: Header
    ticks: int
    is_damaged: bool
    point_ticks: int
    people: list[dict[str, float]]
    inside: dict[str, int]
    steps: Counter[Step]
    activity: Activity
    sources: Counter[str]
    unmoved: Counter[str]
    fallbacks: Counter[str]
    questions: int
    open_questions: int
    posts: list[MadePost]
    likes: Counter[int]
    roots: dict[int, int]
    shown: dict[int, set[int]]
    engaged: dict[int, set[int]]
    activity_ticks: list[int]
    interventions: list[tuple[int, str]]
    attributes_changed: set[str]

    @property
    def turns(self) -> int:
        """Triggers that agents have answered: with a transition, without one, or with a question."""
        return self.sources.total() + self.unmoved.total() + self.open_questions


def point_ticks(ticks: int, ticks_per_round: int) -> int:
    """Return the ticks of a point in time, so that there are at most `POINTS_MAX`: whole rounds, of a long run."""
    rounds = ticks // ticks_per_round
    if rounds >= ROUNDS_MIN:
        return ticks_per_round * -(-rounds // POINTS_MAX)
    return max(1, -(-ticks // POINTS_MAX))


def read_course(
    path: Path,
    *kinds: type[Message],
    initial: str | None = None,
    each_ticks: int = sys.maxsize,
    on_tick: Callable[[int], None] = lambda _: None,
) -> Course:
    """Return the course of the run in a directory. It reads the whole journal once, up to its last whole tick.

    Args:
        path: the run's directory.
        kinds: the kinds of messages that are counted, which saves time; all by default.
        initial: the state in which every agent starts; None if the chart cannot be read: then it is the state from
            which the first of them goes.
        each_ticks: ticks of a point in time; by default the whole run is one.
        on_tick: called with the ticks that have been read.

    Raises:
        JournalError: the journal cannot be read.
    """
    disk = RealDisk(path)
    header, offset = read_header(disk)
    reader = _Reader(header.agents, initial, each_ticks)
    for messages in _ticks(disk, offset, reader, kinds):
        reader.add(messages)
        on_tick(reader.ticks)
    return reader.course(header)


def _ticks(disk: RealDisk, offset: int, reader: _Reader, kinds: Sequence[type[Message]]) -> Iterator[Iterable[Message]]:
    for _, frame in journal_frames(disk, offset):
        if isinstance(frame, Damage):
            reader.is_damaged = True
            return
        yield those_of(encoded_in(frame.payload), *kinds) if kinds else messages_in(frame.payload)


class _Reader:
    """The counts while a journal is read."""

    def __init__(self, agents: int, initial: str | None, each_ticks: int) -> None:
        self.ticks = 0
        self.is_damaged = False
        self._agents, self._each = agents, each_ticks
        self._initial = initial
        self._counter: ActivityCounter | None = None if initial is None else ActivityCounter(agents, initial)
        self._points: list[dict[str, float]] = []
        self._sum = Counter[str]()
        self._summed = 0
        self.sources, self.unmoved, self.fallbacks = Counter[str](), Counter[str](), Counter[str]()
        self.questions = self.settled = 0
        self.posts: list[MadePost] = []
        self.likes = Counter[int]()
        self.roots: dict[int, int] = {}
        self.shown: defaultdict[int, set[int]] = defaultdict(set)
        self.engaged: defaultdict[int, set[int]] = defaultdict(set)
        self.acted: list[int] = []
        self.interventions: list[tuple[int, str]] = []
        self.attributes_changed: set[str] = set()

    def add(self, messages: Iterable[Message]) -> None:
        """Count the messages of the next tick."""
        for message in messages:
            if isinstance(message, Update):
                self._add_update(message)
            elif isinstance(message, Question):
                self.questions += 1
            elif isinstance(message, PostEvent):
                self._add_post(message)
            elif isinstance(message, FeedShown):
                for post in message.posts:
                    self.shown[self.roots.get(post, post)].add(message.agent)
            else:
                self._add_change(message)
        self._end_tick()

    def _add_change(self, message: Message) -> None:
        if isinstance(message, Intervened):
            self.interventions.append((message.tick, message.kind))
        elif isinstance(message, AttributeSet):
            self.attributes_changed.add(message.name)

    def _add_update(self, update: Update[Any]) -> None:
        source = str(update.source)
        if source in DECIDED or update.reason == STALE:
            self.settled += 1
        if source in MOVED:
            if self._counter is None:
                self._counter = ActivityCounter(self._agents, update.from_state)
            self._counter.count(self.ticks, update)
            self.sources[source] += 1
            if source in FALLBACKS:
                self.fallbacks[update.reason] += 1
        else:
            self.unmoved[source] += 1

    def _add_post(self, event: PostEvent) -> None:
        self.acted.append(event.tick)
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

    def _end_tick(self) -> None:
        self.ticks += 1
        if self._counter is not None:
            for state, count in self._counter.inside.items():
                self._sum[state] += count
        self._summed += 1
        if self._summed == self._each:
            self._end_point()

    def _end_point(self) -> None:
        if self._summed:
            self._points.append({state: total / self._summed for state, total in self._sum.items()})
            self._sum.clear()
            self._summed = 0

    def course(self, header: Header) -> Course:
        """Return all that was counted."""
        self._end_point()
        counter = self._counter or ActivityCounter(self._agents, self._initial or "not known")
        return Course(
            header=header,
            ticks=self.ticks,
            is_damaged=self.is_damaged,
            point_ticks=self._each,
            people=self._points,
            inside=dict(counter.inside),
            steps=counter.steps,
            activity=counter.activity(self.ticks),
            sources=self.sources,
            unmoved=self.unmoved,
            fallbacks=self.fallbacks,
            questions=self.questions,
            open_questions=max(0, self.questions - self.settled),
            posts=self.posts,
            likes=self.likes,
            roots=self.roots,
            shown=dict(self.shown),
            engaged=dict(self.engaged),
            activity_ticks=self.acted,
            interventions=self.interventions,
            attributes_changed=self.attributes_changed,
        )


class ActivityCounter:
    """Counts of what agents do on a chart, tick by tick.

    Args:
        agents: the number of agents.
        initial: the state in which every agent starts.
    """

    def __init__(self, agents: int, initial: str) -> None:
        self.inside = Counter({initial: agents})
        """Agents in each state now."""
        self.steps = Counter[Step]()
        self._entered = [0] * agents
        self._states = [initial] * agents
        self._stays = Counter[str]()
        self._stay_ticks = Counter[str]()

    def count(self, tick: int, update: Update[object]) -> None:
        """Count an update of a tick; one that has moved nobody is left out."""
        if update.source not in MOVED:
            return
        agent, before, after = update.agent, update.from_state, update.to_state
        self.steps[Step(before, update.trigger, after, update.source in DECIDED)] += 1
        self._stays[before] += 1
        self._stay_ticks[before] += tick - self._entered[agent]
        self.inside[before] -= 1
        self.inside[after] += 1
        self._states[agent], self._entered[agent] = after, tick

    def activity(self, ticks: int) -> Activity:
        """Return the numbers that a drawing shows, after so many ticks."""
        spent = Counter(self._stay_ticks)
        for state, since in zip(self._states, self._entered, strict=True):
            spent[state] += ticks - since
        whole = max(1, len(self._states) * ticks)
        return Activity(
            agents=len(self._states),
            ticks=ticks,
            taken=_taken(self.steps),
            dwell_ticks={state: self._stay_ticks[state] / count for state, count in self._stays.items()},
            shares={state: time / whole for state, time in spent.items()},
        )


def _taken(steps: Counter[Step]) -> dict[tuple[str, str, str], int]:
    taken = Counter[tuple[str, str, str]]()
    for step, times in steps.items():
        taken[step.before, step.trigger, step.after] += times
    return dict(taken)

"""The track of a future as far as its measures need it, and the values of these measures at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from actors.core.errors import RunDirectoryError
from actors.core.frames import HEAD
from actors.record.messages import encoded_in, those_of, ticks_of
from actors.record.rounds import RoundsTable
from actors.results.measures import BY, CASCADES, ROUNDS_PREFIX, SHAPES, SHORT, Feed, RunNumbers, personas_of
from actors.results.retrace import OpenRun
from actors.runs.rounds_csv import round_of
from actors.runs.summary import summarise
from actors.runtime.simulation import Simulation
from actors.studies.experiments.run_measures import known_measures
from prism.events import PostEvent

CASCADE = "cascade:"
LIKE = "like"
STATES = "states."  # the beginning of the names of columns that count the agents in a state
OF_POSTS = (BY, *(f"{CASCADES}{shape}." for shape in SHAPES if shape != "size"))
"""The beginnings of measures that are computed from all posts and likes."""


class Root(NamedTuple):
    """The post that a cascade grows from, by who made it when: ids differ between futures."""

    tick: int
    agent: int
    kind: str
    place: int  # of the post among those of its kind that the person made in the tick


class Track:
    """The track of a future so far.

    Args:
        of: the measures.
        root: the root of a cascade, if its size is the only measure; None for other measures.
        over_time: whether to keep all columns of the rounds, and the number of agents in each state after each round.
    """

    def __init__(self, of: Sequence[str], root: Root | None = None, *, over_time: bool = False) -> None:
        self.root = root
        self.of = of
        self.over_time = over_time
        self.rounds: RoundsTable = {}  # the numbers after each round; empty if no measure needs them
        self._tree: set[int] = set()
        self._events: list[PostEvent] = []

    @property
    def latest_start(self) -> float:
        """The latest tick from which the measure can be had without the ticks before it."""
        if self._has_rounds or self._has_posts:
            return 0
        return math.inf if self.root is None else self.root.tick

    def copy(self) -> Track:
        other = Track(self.of, self.root, over_time=self.over_time)
        other.rounds = {name: [*values] for name, values in self.rounds.items()}
        other._tree, other._events = {*self._tree}, [*self._events]
        return other

    def add_round(self, simulation: Simulation) -> None:
        if self._has_rounds:
            states = {f"{STATES}{state}": count for state, count in simulation.counters.agents_by_state().items()}
            for name, value in (round_of(simulation) | states).items():
                self.rounds.setdefault(name, []).append(value)

    def add_tick(self, tick: int, frame: bytes) -> None:
        if self._has_posts:
            self._events += those_of(encoded_in(frame[HEAD.size :]), PostEvent)
        if self.root is None or tick < self.root.tick or (tick > self.root.tick and not self._tree):
            return
        place = 0
        for event in those_of(encoded_in(frame[HEAD.size :]), PostEvent):
            if (event.tick, event.agent, event.kind) == self.root[:3]:
                if place == self.root.place:
                    self._tree.add(event.post)
                place += 1
            if event.kind != LIKE and event.parent in self._tree:
                self._tree.add(event.post)

    def values(self, simulation: Simulation) -> tuple[float, ...]:
        if self.root is not None:
            return (float(len(self._tree)),)
        fields: dict[str, Any] = simulation.domain.world.totals()
        in_summary = (of for of in self.of if not of.startswith((ROUNDS_PREFIX, CASCADES, BY)))
        if any(SHORT.get(of, of).split(".")[0] not in fields for of in in_summary):
            fields |= msgspec.to_builtins(summarise(simulation, 0.0))
        feed = Feed(self._events, personas_of(simulation.domain)) if self._has_posts else None
        numbers = RunNumbers(fields, lambda: self.rounds, None, feed)
        return tuple(numbers.value(of) for of in self.of)

    @property
    def _has_rounds(self) -> bool:
        return self.over_time or any(of.startswith(ROUNDS_PREFIX) for of in self.of)

    @property
    def _has_posts(self) -> bool:
        return any(of.startswith(OF_POSTS) for of in self.of)


def track_of(run: OpenRun, of: Sequence[str], *, over_time: bool = False) -> Track:
    """Return the track of a run before its first tick. It may read the whole journal, and blocks."""
    if len(of) == 1 and of[0].startswith(CASCADE):
        return Track(of, _root(run, of[0].removeprefix(CASCADE)), over_time=over_time)
    known = known_measures(run.config)
    for each in of:
        if known is not None and (problem := known.problem(each, (f"{CASCADE}POST",))):
            raise RunDirectoryError(f"{run.path}: {problem}")
    return Track(of, over_time=over_time)


def _root(run: OpenRun, post: str) -> Root:
    for messages in ticks_of(run.path, until=run.length) if post.isdecimal() else ():
        made = [event for event in those_of(messages, PostEvent) if event.kind != LIKE]
        for event in made:
            if event.post == int(post):
                same = [each for each in made if (each.agent, each.kind) == (event.agent, event.kind)]
                return Root(event.tick, event.agent, event.kind, same.index(event))
    problem = f"there is no post {post} in the ticks 0 to {run.length - 1:,}; expected {CASCADE}POST with a post's id"
    raise RunDirectoryError(f"{run.path}: {problem}")

"""The measure of a future: what it needs of the ticks, and its value at the end."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from actors.core.errors import RunDirectoryError
from actors.core.frames import HEAD
from actors.core.state import RoundsTable
from actors.explain.futures import Futures, Track
from actors.explain.retrace import OpenRun
from actors.results.measures import BY, CASCADES, ROUNDS_PREFIX, SHAPES, SHORT, Feed, RunNumbers, personas_of
from actors.runs.summary import summarise
from actors.runtime.simulation import Simulation
from actors.store.course import NO_POSTS, posts_until
from actors.store.record import Record
from actors.studies.experiments.run_measures import known_measures
from prism.events import MADE
from prism.rows import Tick, read_rows

CASCADE = "cascade:"
OF_POSTS = (BY, *(f"{CASCADES}{shape}." for shape in SHAPES if shape != "size"))
"""The beginnings of measures that are computed from all posts and likes."""
_READ = ("posts", "likes")


class Root(NamedTuple):
    """The post that a cascade grows from, by who made it when: ids differ between futures."""

    tick: int
    agent: int
    kind: str
    place: int  # of the post among those of its kind that the person made in the tick


class MeasureTrack(Track):
    """The data of a future that its measure needs; `root` is that of a cascade whose size is the measure."""

    def __init__(self, record: Record, of: str, root: Root | None = None) -> None:
        self.record, self.root, self.of = record, root, of
        self.rounds: RoundsTable = {}  # the numbers after each round; empty if no measure needs them
        self._tree: set[int] = set()
        self._ticks: list[Tick] = []  # those that were run, if a measure needs posts
        self._has_rounds, self._has_posts = of.startswith(ROUNDS_PREFIX), of.startswith(OF_POSTS)
        if self._has_rounds or self._has_posts:
            self.latest_start = 0
        elif root is not None:
            self.latest_start = root.tick

    def copy(self) -> MeasureTrack:
        other = MeasureTrack(self.record, self.of, self.root)
        other.rounds = {name: [*values] for name, values in self.rounds.items()}
        other._tree, other._ticks = {*self._tree}, [*self._ticks]
        return other

    def add_round(self, simulation: Simulation) -> None:
        if self._has_rounds:
            for name, value in simulation.round_now().items():
                self.rounds.setdefault(name, []).append(value)

    def add_tick(self, tick: int, frame: bytes) -> None:
        root = self.root
        if not self._has_posts and (root is None or tick < root.tick or (tick > root.tick and not self._tree)):
            return
        rows = read_rows(frame[HEAD.size :], self.record.shapes)
        if self._has_posts:  # copies, because the columns of a frame keep all its bytes
            kept = {name: deepcopy(rows.tables[name]) for name in _READ if name in rows.tables}
            self._ticks.append(rows._replace(tables=kept))
        if root is not None and "posts" in rows.tables:
            agents, whats, posts, parents, *_ = rows.tables["posts"].columns
            if tick == root.tick:
                of_root = posts[(agents == root.agent) & (whats == MADE.index(root.kind))]
                self._tree.update(of_root[root.place : root.place + 1].tolist())
            for post, parent in zip(posts.tolist(), parents.tolist(), strict=True):
                if parent in self._tree:
                    self._tree.add(post)

    def value(self, simulation: Simulation) -> float:
        if self.root is not None:
            return float(len(self._tree))
        fields: dict[str, Any] = simulation.domain.world.totals()
        in_summary = not self.of.startswith((ROUNDS_PREFIX, CASCADES, BY))
        if in_summary and SHORT.get(self.of, self.of).split(".")[0] not in fields:
            fields |= msgspec.to_builtins(summarise(simulation, 0.0))
        feed = None
        if self._has_posts:
            rows = self.record.together(self._ticks, self.record.all_of(*_READ))
            posts = NO_POSTS.followed_by([rows["posts"]])
            feed = Feed(posts, np.asarray(rows["likes"].columns["agent"]), personas_of(simulation.domain))
        return RunNumbers(fields, lambda: self.rounds, None, feed).value(self.of)


def futures_of(path: Path, of: str, ticks: int | None = None) -> Futures[MeasureTrack]:
    """Return the futures of a run with a measure."""
    return Futures(path, lambda run: track_of(run, of), ticks)


def track_of(run: OpenRun, of: str) -> MeasureTrack:
    """Return the track of a run before its first tick. It may read the whole record, and blocks."""
    if of.startswith(CASCADE):
        return MeasureTrack(run.record, of, _root(run, of.removeprefix(CASCADE)))
    known = known_measures(run.config)
    if known is not None and (problem := known.problem(of, (f"{CASCADE}POST",))):
        raise RunDirectoryError(f"{run.path}: {problem}")
    return MeasureTrack(run.record, of)


def _root(run: OpenRun, post: str) -> Root:
    posts = posts_until(run.record, run.length)
    [place] = posts.places(np.array([int(post)])).tolist() if post.isdecimal() else [-1]
    if place >= 0:
        columns = posts.ticks, posts.authors, posts.kinds
        tick, author, kind = (int(each[place]) for each in columns)
        before = np.logical_and.reduce([each[:place] == each[place] for each in columns])
        return Root(tick, author, MADE[kind], int(before.sum()))
    problem = f"there is no post {post} in the ticks 0 to {run.length - 1:,}; expected {CASCADE}POST with a post's id"
    raise RunDirectoryError(f"{run.path}: {problem}")

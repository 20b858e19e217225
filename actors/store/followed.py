"""A run's record, read to its end and further as it grows: states over time, and the states of any tick.

But for the posts memory is bounded, whatever the record's length. Nothing is written, and no lock is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.core.errors import JournalError
from actors.core.frames import Damage
from actors.store.course import NO_POSTS, POST_COLUMNS, Posts, States, stacked
from actors.store.journal import JOURNAL, journal_size
from actors.store.record import Block, Record, readable, tick_of_rows
from actors.store.segments import TableRows
from prism.agents import DECIDED, FALLBACKS
from prism.columns import Ints

StateNumbers = NDArray[np.uint8]  # the number of each agent's state, in the order of agents

SAMPLES_MAX = 2_048  # ticks of the course: more than a screen has columns
KEY_FRAMES_MAX = 128
KEY_FRAMES_BYTES = 32 << 20  # bytes of all key frames, a byte for each agent in each
SPACING_BYTES = 1 << 20  # bytes of the journal between two key frames, at first
STATES_MAX = 255

COUNTED = ("questions", "answered", "fallbacks")
"""The counts of a course beside its states, each from the beginning of the run."""
_WANTED = {"updates": ("agent", "kind"), "questions": (), "posts": POST_COLUMNS}


class Samples(NamedTuple):
    """Counts of a run, at some of its ticks."""

    ticks: list[int]  # the ticks after whose end the counts hold, ascending
    states: list[list[int]]  # for each of them the number of agents in each state
    counted: list[list[int]]  # the counts of `COUNTED` so far


class _KeyFrame(NamedTuple):
    tick: int  # whole ticks before it
    offset: int  # of its frame, or of one shortly before
    states: StateNumbers


class Followed:
    """The record of one run. It raises the errors of `Record`.

    `states`: the chart's, the first one that in which everybody begins; empty if the chart is not known here: then they
    are those that the journal names.
    """

    def __init__(self, path: Path, states: Sequence[str] = ()) -> None:
        self.record = Record(path)
        self.header = self.record.header
        self.agents = self.header.agents
        self.damage: Damage | None = None
        """The reason for which reading has stopped before the end of the file; None if it has not."""
        self.ticks = 0  # whole ticks that were read
        self._end = self.record.place_before(0)
        self._states = States(self.agents, states)
        self._posts, self._new_posts = NO_POSTS, list[TableRows]()
        self._lock = Lock()
        self._counted = np.zeros(len(COUNTED), np.int64)
        self._counts, self._stride, self._latest = list[Ints](), 1, np.empty((0, len(COUNTED)), np.int64)
        """The counts of `COUNTED` and of each state after each `_stride` ticks, a row each, and after the last tick."""
        self._spacing = SPACING_BYTES
        self._key_frames = [self._key_frame()]
        self._cursor = self._key_frames[0]

    @property
    def states(self) -> list[str]:
        return self._states.names

    @property
    def read_bytes(self) -> int:
        return self._end.offset

    @property
    def all_bytes(self) -> int:
        return journal_size(self.record.disk)

    @property
    def posts(self) -> Posts:
        with self._lock:
            self._posts, self._new_posts = self._posts.followed_by(self._new_posts), []
            return self._posts

    def is_behind(self) -> bool:
        """Return whether there is more to read. Reading stops at damage, unless the file ended in it and has grown."""
        if self.damage is not None and not self.damage.is_end:
            return False
        return self.all_bytes > (self._end.offset if self.damage is None else self._damaged_size)

    def read_on(self) -> bool:
        """Read a block more, and return whether there may be more after it."""
        with self._lock:
            size = self.all_bytes
            block = next(self.record.blocks(self.ticks, wanted=_WANTED), None)
            self.damage, self._damaged_size = None if block is None else block.damage, size
            if block is not None:
                with readable(block):
                    self._add(block)
            return block is not None and block.damage is None

    def course(self) -> Samples:
        """Return the course so far, fewer than SAMPLES_MAX ticks and the last tick that was read."""
        with self._lock:
            ticks, latest = [*range(self._stride - 1, self.ticks, self._stride)], self._latest[:0]
            if self.ticks % self._stride:
                ticks, latest = [*ticks, self.ticks - 1], self._latest
            rows = stacked([*self._counts, latest])
        return Samples(ticks, rows[:, len(COUNTED) :].tolist(), rows[:, : len(COUNTED)].tolist())

    def states_at(self, tick: int) -> StateNumbers:
        """Return the states at the end of a tick, from -1, before the first tick, to the last that was read."""
        with self._lock:
            if not -1 <= tick < self.ticks:
                raise ValueError(f"expected a tick from -1 to {self.ticks - 1}, got {tick}")
            before = [key for key in [*self._key_frames, self._cursor] if key.tick <= tick + 1]
            start = max(before, key=lambda key: key.tick)
        at = States(self.agents, self.states)
        at.of_agents[:] = start.states
        for block in self.record.blocks(start.tick, tick + 1, {"updates": _WANTED["updates"]}):
            if block.damage is not None:
                raise JournalError(f"{JOURNAL}: has changed while it was read: {block.damage.problem}")
            at.enter(at.moved(block, self.record.kinds))
        found: StateNumbers = at.of_agents.astype(np.uint8)
        with self._lock:
            self._cursor = _KeyFrame(tick + 1, 0, found)
        return found.copy()

    def _key_frame(self) -> _KeyFrame:
        return _KeyFrame(self.ticks, self._end.offset, self._states.of_agents.astype(np.uint8))

    def _add(self, block: Block) -> None:
        tables, kinds = block.tables, self.record.kinds
        inside = self._states.add(block, self._states.moved(block, kinds))
        if len(self.states) > STATES_MAX:
            raise JournalError(f"{JOURNAL}: names more than {STATES_MAX} states, and no more can be shown")
        # 1. The counts after each tick, of shape (ticks, counts).
        ticks, codes = tick_of_rows(tables["updates"]) - block.first, tables["updates"].columns["kind"]
        asked = tables["questions"]
        columns = [np.bincount(asked.ticks - block.first, asked.rows, block.ticks).astype(np.int64)]
        for sources in (DECIDED - FALLBACKS, FALLBACKS):
            is_counted = np.array([kind.source in sources for kind in kinds], np.bool_)[codes]
            columns.append(np.bincount(ticks[is_counted], minlength=block.ticks))
        counted = np.column_stack(columns).cumsum(axis=0) + self._counted
        if (posts := tables.get("posts")) is not None:
            self._new_posts.append(posts)
        rows = np.hstack((counted, inside))
        self._counts.append(rows[-(block.first + 1) % self._stride :: self._stride].copy())
        self._latest = stacked([self._latest, rows])[-1:].copy()
        if block.ticks:
            self._counted = counted[-1]
        self.ticks = block.first + block.ticks
        while self.ticks // self._stride >= SAMPLES_MAX:
            self._counts, self._stride = [stacked(self._counts)[1::2].copy()], 2 * self._stride
        self._end = block.end or self._end
        # 2. A key frame, if it is its turn.
        if self._end.offset - self._key_frames[-1].offset >= self._spacing:
            self._key_frames.append(self._key_frame())
            if len(self._key_frames) > max(8, min(KEY_FRAMES_MAX, KEY_FRAMES_BYTES // max(self.agents, 1))):
                self._key_frames = self._key_frames[::2]
                self._spacing *= 2

"""A run's journal, read to its end and further as it grows: states over time, and the states of any tick.

Memory is bounded whatever the journal's length: the course keeps a bounded number of ticks, and so do the key frames,
from which the states of a tick are worked out. Nothing is written, and no lock is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import ORIGIN, Damage, digest_of
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL, TickFrame, journal_size, read_header, read_ticks
from actors.record.messages import encoded_in, messages_in
from prism.agents import Question, Update
from prism.events import Intervened, PostEvent

States = NDArray[np.uint8]
"""The number of each agent's state, in the order of agents."""

SAMPLES_MAX = 2_048
"""Ticks of the course: more than a screen has columns."""
KEY_FRAMES_MAX = 128
KEY_FRAMES_BYTES = 32 << 20
"""Bytes of all key frames, a byte for each agent in each."""
SPACING_BYTES = 1 << 20
"""Bytes of the journal between two key frames, at first."""
STATES_MAX = 255
POSTS_MAX = 1_000_000
"""Posts that are kept, about 250 bytes each; the page says so if there are more."""

COUNTED = ("questions", "oracle", "llm", "fallback", "timeout", "publish", "reply", "reshare", "like")
"""The counts of a course beside its states, each from the beginning of the run."""


class Samples(NamedTuple):
    """The course of a run, at some of its ticks.

    Args:
        ticks: the ticks after whose end the counts hold, ascending.
        states: for each of them the number of agents in each state; `counted`: the counts of `COUNTED` so far.
        interventions: `(tick, kind)` of each intervention, at most `SAMPLES_MAX`.
    """

    ticks: list[int]
    states: list[list[int]]
    counted: list[list[int]]
    interventions: list[tuple[int, str]]


class _KeyFrame(NamedTuple):
    tick: int  # whole ticks before it
    offset: int
    link: bytes
    states: States


class Followed:
    """The journal of one run.

    Args:
        states: the chart's states, the first one that in which everybody begins; empty if the chart is not known here:
            then the states are those that the journal names.

    Raises:
        JournalError: there is no journal, or it has another format.
        DamagedError: its header cannot be read.
    """

    def __init__(self, path: Path, states: Sequence[str] = ()) -> None:
        self.path = path
        self._disk = RealDisk(path)
        self.header, self._first = read_header(self._disk)
        self.agents = self.header.agents
        self.states: list[str] = []
        self._numbers: dict[str, int] = {}
        self._by_state: list[int] = []
        for state in states:
            self._number_of(state)
        self.posts = Posts()
        self.damage: Damage | None = None
        """The reason for which reading has stopped before the end of the file; None if it has not."""
        self._lock = Lock()
        self._at = _KeyFrame(0, self._first, ORIGIN, np.zeros(self.agents, dtype=np.uint8))
        self._counted = dict.fromkeys(COUNTED, 0)
        self._stride = 1
        self._course = Samples([], [], [], [])
        self._spacing = SPACING_BYTES
        self._key_frames = [self._copied()]
        self._cursor = self._copied()

    @property
    def ticks(self) -> int:
        return self._at.tick

    @property
    def digest(self) -> str:
        return digest_of(self._at.link)

    @property
    def read_bytes(self) -> int:
        return self._at.offset

    @property
    def all_bytes(self) -> int:
        return journal_size(self._disk)

    def is_behind(self) -> bool:
        """Return whether there is more to read. Reading stops at damage, unless the file ended in it and has grown."""
        if self.damage is not None and not self.damage.is_end:
            return False
        return self.all_bytes > (self._at.offset if self.damage is None else self._damaged_size)

    def read_on(self, ticks: int) -> bool:
        """Read up to so many ticks more, and return whether there may be more after them.

        Raises:
            JournalError: the journal cannot be read.
        """
        with self._lock:
            self.damage, size, count = None, self.all_bytes, 0
            for frame in islice(self._frames(self._at), ticks):
                if isinstance(frame, Damage):
                    self.damage, self._damaged_size = frame, size
                    return False
                self._add(frame)
                count += 1
            return count == ticks

    def course(self) -> Samples:
        """Return the course so far; its last entry is the last tick that was read."""
        with self._lock:
            ticks, states = list(self._course.ticks), list(self._course.states)
            counted, interventions = list(self._course.counted), list(self._course.interventions)
            if self._at.tick and (not ticks or ticks[-1] != self._at.tick - 1):
                ticks.append(self._at.tick - 1)
                states.append(list(self._by_state))
                counted.append(list(self._counted.values()))
            # A row has all states: before a first update names a state, every agent is in the first one.
            known = [row or [self.agents] for row in states]
            rows = [[*row, *[0] * (len(self.states) - len(row))][: len(self.states)] for row in known]
            return Samples(ticks, rows, counted, interventions)

    def states_at(self, tick: int) -> States:
        """Return the states at the end of a tick.

        Args:
            tick: from -1, before the first tick, to the last that was read.

        Raises:
            ValueError: there is no such tick.
            JournalError: the journal cannot be read.
        """
        with self._lock:
            if not -1 <= tick < self._at.tick:
                raise ValueError(f"expected a tick from -1 to {self._at.tick - 1}, got {tick}")
            before = [key for key in [*self._key_frames, self._cursor] if key.tick <= tick + 1]
            start = max(before, key=lambda key: key.tick)
            states = start.states.copy()
        at = start
        for frame in islice(self._frames(start), tick + 1 - start.tick):
            if isinstance(frame, Damage):
                raise JournalError(f"{JOURNAL}: has changed while it was read: {frame.problem}")
            for message in messages_in(frame.payload):
                if type(message) is Update:
                    states[message.agent] = self._numbers[message.to_state]
            at = _KeyFrame(frame.tick + 1, frame.end, frame.link, states)
        with self._lock:
            self._cursor = at._replace(states=states)
        return states.copy()

    def messages(self, first: int, last: int) -> Iterator[tuple[int, list[bytes]]]:
        """Yield `(tick, its messages as they were encoded)` from `first` to `last`, as far as there are any.

        Raises:
            JournalError: the journal cannot be read.
        """
        with self._lock:
            start = max((key for key in self._key_frames if key.tick <= max(first, 0)), key=lambda key: key.tick)
        for frame in self._frames(start):
            if isinstance(frame, Damage) or frame.tick > last:
                return
            if frame.tick >= first:
                yield frame.tick, encoded_in(frame.payload)

    def start_before(self, tick: int, bytes_max: int) -> int:
        """Return the first tick of a stretch that ends with `tick`, and has about so many bytes at most."""
        with self._lock:
            keys = [key for key in self._key_frames if key.tick <= tick]
            end = max(key.offset for key in keys)
            return min(key.tick for key in keys if end - key.offset <= bytes_max)

    def links(self) -> Iterator[bytes]:
        """Yield the link of each whole tick, from the first on."""
        for frame in self._frames(self._key_frames[0]):
            if isinstance(frame, Damage):
                return
            yield frame.link

    def _frames(self, start: _KeyFrame) -> Iterator[TickFrame | Damage]:
        return read_ticks(self._disk, start.offset, tick=start.tick, link=start.link)

    def _copied(self) -> _KeyFrame:
        return self._at._replace(states=self._at.states.copy())

    def _add(self, frame: TickFrame) -> None:
        states, messages = self._at.states, messages_in(frame.payload)
        for message in messages:  # before anything of the tick is counted
            if type(message) is Update and not 0 <= message.agent < self.agents:
                problem = f"tick {frame.tick} names agent {message.agent} of {self.agents}"
                raise DamagedError(JOURNAL, frame.start, problem)
        for message in messages:
            if type(message) is Update:
                if not self.states:
                    self._number_of(message.from_state)
                number, before = self._number_of(message.to_state), states[message.agent]
                if number != before:
                    self._by_state[before] -= 1
                    self._by_state[number] += 1
                    states[message.agent] = number
                if message.source in self._counted:
                    self._counted[message.source] += 1
            elif type(message) is Question:
                self._counted["questions"] += 1
            elif type(message) is PostEvent:
                self._counted[message.kind] = self._counted.get(message.kind, 0) + 1
                self.posts.add(message.tick, message.kind, message.post, message.parent)
            elif type(message) is Intervened and len(self._course.interventions) < SAMPLES_MAX:
                self._course.interventions.append((message.tick, message.kind))
        self._at = _KeyFrame(frame.tick + 1, frame.end, frame.link, states)
        # Keep the tick in the course and as a key frame, if it is its turn.
        course = self._course
        if (frame.tick + 1) % self._stride == 0:
            course.ticks.append(frame.tick)
            course.states.append(list(self._by_state))
            course.counted.append([self._counted[name] for name in COUNTED])
            if len(course.ticks) == SAMPLES_MAX:
                self._stride *= 2
                halves = (course.ticks[1::2], course.states[1::2], course.counted[1::2])
                self._course = Samples(*halves, course.interventions)
        if self._at.offset - self._key_frames[-1].offset >= self._spacing:
            self._key_frames.append(self._copied())
            if len(self._key_frames) > max(8, min(KEY_FRAMES_MAX, KEY_FRAMES_BYTES // max(self.agents, 1))):
                self._key_frames = self._key_frames[::2]
                self._spacing *= 2

    def _number_of(self, state: str) -> int:
        """Return the number of a state; a new state gets the next number. Every agent begins in the first one."""
        if (number := self._numbers.get(state)) is not None:
            return number
        if len(self.states) == STATES_MAX:
            raise JournalError(f"{JOURNAL}: names more than {STATES_MAX} states, and no more can be shown")
        self._by_state.append(0 if self.states else self.agents)
        self.states.append(state)
        return self._numbers.setdefault(state, len(self.states) - 1)


class TreePost(NamedTuple):
    """A post of a tree.

    Args:
        parent: the place of its parent in the tree; -1 for the original.
    """

    post: int
    parent: int
    tick: int
    kind: str


class Posts:
    """Posts in the order in which they were made."""

    def __init__(self) -> None:
        self._trees: dict[int, list[TreePost]] = {}
        """`{original: the posts of its tree, in the order in which they were made}`."""
        self._places: dict[int, tuple[int, int]] = {}
        """`{post: its original, and its place in the tree}`."""
        self.left_out = 0
        """Posts that came after `POSTS_MAX` others."""

    def __len__(self) -> int:
        return len(self._places)

    def add(self, tick: int, kind: str, post: int, parent: int | None) -> None:
        """Add a post; likes are not posts. A post whose parent was left out is left out, too."""
        if kind == "like":
            return
        root, above = (post, -1) if parent is None else self._places.get(parent, (post, None))
        if above is None or len(self._places) >= POSTS_MAX:
            self.left_out += 1
            return
        tree = self._trees.setdefault(root, [])
        self._places[post] = root, len(tree)
        tree.append(TreePost(post, above, tick, kind))

    def largest(self, count: int) -> list[tuple[int, int, int]]:
        """Return `(original, posts of its tree, tick)` of the largest trees, the largest first, equal ones by age.

        A tree has more posts than its original.
        """
        trees = [tree for tree in self._trees.copy().values() if len(tree) > 1]
        return [(tree[0].post, len(tree), tree[0].tick) for tree in sorted(trees, key=lambda tree: -len(tree))[:count]]

    def tree(self, original: int) -> list[TreePost]:
        """Return the tree of an original, in the order in which its posts were made.

        Raises:
            LookupError: there is no such original.
        """
        return [*self._trees[original]]

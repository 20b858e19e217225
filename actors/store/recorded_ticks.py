"""The recorded ticks of a run: they are run again and compared with the journal, before a new one is written."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from actors.core.errors import DivergedError
from actors.core.frames import HEAD, ORIGIN
from actors.core.messages import LATE, Message
from actors.core.state import Effort
from actors.store.disk import Disk
from actors.store.journal import TickFrame, read_ticks
from actors.store.messages import messages_in
from actors.store.oracle_log import RecordedAnswers
from prism.agents import Question, Source, Update
from prism.agents.waves import Kind
from prism.events import KINDS, UPDATES, Intervened
from prism.rows import Tick, read_rows, rows_of_texts
from prism.tables import Shape

_READ_BYTES = 1 << 20
"""Bytes of ticks that are read at a time."""


class RecordedTicks:
    """The recorded ticks from an offset of the journal on, read as they are needed.

    Args:
        tick: the first tick that is run again.
        start: the offset of its frame.
        link: the link of the frame before it; `kinds`: the kinds that are known before it.
        shapes: the tables of the run.
        end: the end of the journal's whole frames.
        ticks: whole ticks in the journal.
        asked_from: the first tick whose answers are needed again; `answers_end`: the end of the log's whole records.
        effort: the calls and retries that its records after the checkpoint name.
    """

    def __init__(  # noqa: PLR0913  # its place in two files
        self,
        disk: Disk,
        *,
        tick: int = 0,
        start: int,
        link: bytes = ORIGIN,
        kinds: Sequence[Sequence[str]] = (),
        shapes: Sequence[Shape] = (),
        end: int,
        ticks: int = 0,
        asked_from: int = 0,
        answers_end: int = 0,
        effort: Effort = Effort(),  # noqa: B008  # never changes
    ) -> None:
        self.tick = tick
        self._disk = disk
        self.start = start
        self.shapes = shapes
        self._kinds = [Kind(*each) for each in kinds]
        self.end = end
        self.ticks = ticks
        self._asked_from = asked_from
        self.answers_end = answers_end
        self.effort = effort
        self._frames = read_ticks(disk, start, tick=tick, link=link)
        self._read: deque[TickFrame] = deque()
        self._has_more = start < end
        self.read_on()

    def answers(self) -> RecordedAnswers:
        return RecordedAnswers(self._disk, self.answers_end, self._asked_from)

    def late_agents(self, tick: int) -> frozenset[int] | None:
        """Return the agents whose decisions came too late in this tick; None if the tick is not recorded."""
        if not self._read or self._read[0].tick != tick:
            return None
        updates = self._rows(self._read[0].payload).tables.get(UPDATES.name)
        late = [place for place, kind in enumerate(self._kinds) if (kind.source, kind.reason) == (Source.TIMEOUT, LATE)]
        if updates is None or not late:
            return frozenset()
        agents, kinds = updates.columns
        return frozenset(agents[np.isin(kinds, late)].tolist())

    def _rows(self, payload: bytes) -> Tick:
        """Return the rows of the next tick, and note the kinds that are new in it."""
        rows = read_rows(payload, self.shapes)
        del self._kinds[rows.known :]
        if (new := rows.tables.get(KINDS.name)) is not None:
            self._kinds += map(Kind._make, rows_of_texts(new.columns))
        return rows

    def compare(self, tick: int, frame: bytes) -> bool:
        """Compare a tick with its record; return whether it has one.

        Raises:
            DivergedError: the record differs.
        """
        if not self._read:
            return False
        payload = frame[HEAD.size :]
        recorded = self._read.popleft().payload
        rows = self._rows(recorded)
        if recorded != payload:
            was: list[Message] = messages_in(rows, self.shapes, self._kinds)
            raise DivergedError(tick, difference(was, messages_in(self._rows(payload), self.shapes, self._kinds)))
        return True

    @property
    def must_read_on(self) -> bool:
        """True if the next ticks must be read before anything is compared with them."""
        return self._has_more and not self._read

    def read_on(self) -> None:
        """Read some ticks more. Blocks."""
        size = 0
        while self._has_more and size < _READ_BYTES:
            frame = next(self._frames, None)
            if isinstance(frame, TickFrame) and frame.end <= self.end:
                self._read.append(frame)
                size += len(frame.payload)
            else:
                self._has_more = False
                self._frames.close()


def difference(recorded: Sequence[Message], new: Sequence[Message]) -> str:
    """Return the first agent and field in which two records of a tick differ, in words."""
    for was, now in zip_longest(recorded, new):
        if repr(was) == repr(now):  # 0.0 and -0.0 are equal, and so are 1 and 1.0, but their bytes differ
            continue
        if isinstance(was, Update | Question) and type(was) is type(now) and was.agent == now.agent:
            for name in was.__struct_fields__:
                old, other = getattr(was, name), getattr(now, name)
                if repr(old) != repr(other):
                    return f"agent {was.agent}: {name} is {old!r} in the journal and {other!r} in the new run"
        return f"the journal has {_shown(was)}, the new run {_shown(now)}"
    return "the values are the same, and encoded otherwise"


def _shown(message: Message | None) -> str:
    """Return a row of a tick in words: what took place in full, an answer by its agent and kind."""
    if message is None:
        return "nothing more"
    if isinstance(message, Intervened):
        return f"intervention {message.number}: {message.content!r}"
    if isinstance(message, Update | Question):
        return f"{type(message).__name__} of agent {message.agent} to {message.trigger!r}"
    told = ", ".join(f"{name} {getattr(message, name)!r}" for name in message.__struct_fields__[2:])
    return f"agent {message.agent}'s {type(message).__name__} ({told})"

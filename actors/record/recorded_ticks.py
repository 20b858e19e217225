"""The recorded ticks of a run: they are run again and compared with the journal, before a new one is written."""

from __future__ import annotations

from collections import deque
from itertools import zip_longest
from typing import Any

import msgspec

from actors.core.errors import DivergedError
from actors.core.frames import HEAD, ORIGIN
from actors.core.messages import KINDS, LATE
from actors.core.state import Effort
from actors.persistence.disk import Disk
from actors.persistence.journal import TickFrame, answers_of, read_ticks
from actors.record.answers import RecordedAnswers
from prism.agents import Source
from prism.events import Event, Intervened

_AGENT = 2
"""The index of the agent in every message but an intervention, after the tag and the tick."""

_READ_BYTES = 1 << 20
"""Bytes of ticks that are read at a time."""


class RecordedTicks:
    """The recorded ticks from an offset of the journal on, read as they are needed.

    Args:
        tick: the first tick that is run again.
        start: the offset of its frame.
        link: the link of the frame before it.
        end: the end of the journal's whole frames.
        ticks: whole ticks in the journal.
        answers_from: the first offset of the oracle's log that is read; `answers_end`: the end of its whole records.
        effort: the calls and retries that its records after the checkpoint name.
    """

    def __init__(  # noqa: PLR0913  # its place in two files
        self,
        disk: Disk,
        *,
        tick: int = 0,
        start: int,
        link: bytes = ORIGIN,
        end: int,
        ticks: int = 0,
        answers_from: int = 0,
        answers_end: int = 0,
        effort: Effort = Effort(),  # noqa: B008  # never changes
    ) -> None:
        self.tick = tick
        self._disk = disk
        self.start = start
        self.end = end
        self.ticks = ticks
        self.answers_from = answers_from
        self.answers_end = answers_end
        self.effort = effort
        self._frames = read_ticks(disk, start, tick=tick, link=link)
        self._read: deque[TickFrame] = deque()
        self._has_more = start < end
        self.read_on()

    def answers(self) -> RecordedAnswers:
        return RecordedAnswers(self._disk, self.answers_from, self.answers_end)

    def late_agents(self, tick: int) -> frozenset[int] | None:
        """Return the agents whose decisions came too late in this tick; None if the tick is not recorded."""
        if not self._read or self._read[0].tick != tick:
            return None
        answers = msgspec.msgpack.decode(answers_of(self._read[0].payload))
        return frozenset(answer[_AGENT] for answer in answers if _is_late(answer))

    def compare(self, tick: int, frame: bytes) -> bool:
        """Compare a tick with its record; return whether it has one.

        Raises:
            DivergedError: the record differs.
        """
        if not self._read:
            return False
        payload = frame[HEAD.size :]
        if self._read[0].payload != payload:
            raise DivergedError(tick, difference(self._read[0].payload, payload))
        self._read.popleft()
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


def difference(recorded: bytes, new: bytes) -> str:
    """Return the first agent and field in which two payloads of a tick differ, in words."""
    before, after = (msgspec.msgpack.decode(answers_of(payload)) for payload in (recorded, new))
    for was, now in zip_longest(before, after):
        if repr(was) == repr(now):  # 0.0 and -0.0 are equal, and so are 1 and 1.0, but their bytes differ
            continue
        if was and now and was[0] == now[0] and was[_AGENT] == now[_AGENT] and not _is_event(was):
            names = ("kind", *KINDS[was[0]].__struct_fields__)
            for name, old, other in zip(names, was, now, strict=False):
                if repr(old) != repr(other):
                    return f"agent {was[_AGENT]}: {name} is {old!r} in the journal and {other!r} in the new run"
        return f"the journal has {_shown(was)}, the new run {_shown(now)}"
    return "the values are the same, and encoded otherwise"


def _is_event(message: list[Any]) -> bool:
    return issubclass(KINDS[message[0]], Intervened | Event)


def _shown(message: list[Any] | None) -> str:
    """Return a message of a tick in words: an event in full, an answer by its agent and kind."""
    if message is None:
        return "nothing more"
    record = KINDS[message[0]]
    values = dict(zip(record.__struct_fields__, message[1:], strict=False))
    if record is Intervened:
        return f"intervention {values['number']}: {values['content']!r}"
    if _is_event(message):
        told = ", ".join(f"{name} {value!r}" for name, value in [*values.items()][2:])
        return f"agent {values['agent']}'s {record.__name__} ({told})"
    return f"{record.__name__} of agent {values['agent']} to {values.get('trigger')!r}"


def _is_late(answer: list[Any]) -> bool:
    fields = dict(zip(KINDS[answer[0]].__struct_fields__, answer[1:], strict=False))
    return fields.get("source") == Source.TIMEOUT and fields.get("reason") == LATE

"""A run's past as its journal has it: done again, tick by tick, and compared, before anything new is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from actors.core.errors import DivergedError
from actors.core.frames import HEAD, ORIGIN, Damage
from actors.core.messages import LATE
from actors.persistence.disk import Disk
from actors.persistence.journal import TickFrame, answers_of, read_ticks
from prism.agents import Question, Source, Update

_KINDS: dict[int, type[msgspec.Struct]] = {2: Update, 3: Question}
"""`{tag: message}`: what a tick's answers can be."""

_AGENT = 2
"""The place of the agent in every answer: behind the tag and the tick."""


class RecordedTicks:
    """The recorded ticks from a place in the journal on, read as they are needed.

    Args:
        disk: where the journal is.
        tick: the first tick to be done again.
        start: where its frame begins.
        link: of the frame before it.
        end: where the whole frames end.
        ticks: whole ticks in the journal.
        answers_from: from where on the oracle's log matters; `answers_end`: where its whole records end.
    """

    def __init__(  # noqa: PLR0913  # where it stands in two files
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
    ) -> None:
        self.tick = tick
        self.start = start
        self.end = end
        self.ticks = ticks
        self.answers_from = answers_from
        self.answers_end = answers_end
        self._frames: Iterator[TickFrame | Damage] = iter(())
        if start < end:
            self._frames = read_ticks(disk, start, tick=tick, link=link)
        self._next: TickFrame | None = self._read()

    def late_agents(self, tick: int) -> frozenset[int] | None:
        """The agents whose decision came too late in this tick; None if the tick is not recorded."""
        if self._next is None or self._next.tick != tick:
            return None
        answers = msgspec.msgpack.decode(answers_of(self._next.payload))
        return frozenset(answer[_AGENT] for answer in answers if _is_late(answer))

    def compare(self, tick: int, frame: bytes) -> bool:
        """Whether this tick is recorded.

        Raises:
            DivergedError: it is, and it was different.
        """
        recorded = self._next
        if recorded is None:
            return False
        payload = frame[HEAD.size :]
        if recorded.payload != payload:
            raise DivergedError(tick, difference(recorded.payload, payload))
        self._next = self._read()
        return True

    def _read(self) -> TickFrame | None:
        frame = next(self._frames, None)
        return frame if isinstance(frame, TickFrame) and frame.end <= self.end else None


def difference(recorded: bytes, made: bytes) -> str:
    """The first agent and field in which two payloads of a tick differ, in words."""
    before, after = (msgspec.msgpack.decode(answers_of(payload)) for payload in (recorded, made))
    for old, new in zip(before, after, strict=False):
        if repr(old) != repr(new):  # 0.0 and -0.0 are equal, and so are 1 and 1.0; their bytes are not
            return _differ(old, new)
    if len(before) == len(after):
        return "the values are the same, and encoded otherwise"
    longer, where = (before, "journal") if len(before) > len(after) else (after, "new run")
    extra = longer[min(len(before), len(after))]
    return f"agent {extra[_AGENT]} answers only in the {where}, with {_kind(extra)}"


def _differ(old: list[Any], new: list[Any]) -> str:
    agent = f"agent {old[_AGENT]}"
    if old[_AGENT] != new[_AGENT]:
        return f"{agent} answers in the journal where agent {new[_AGENT]} does in the new run"
    if old[0] != new[0]:
        return f"{agent}: the journal has {_kind(old)}, the new run {_kind(new)}"
    names = _fields(old)
    for place, (was, now) in enumerate(zip(old, new, strict=False)):
        if repr(was) != repr(now):
            return f"{agent}: {names[place]} is {was!r} in the journal and {now!r} in the new run"
    return f"{agent}: its answer has {len(old)} fields in the journal and {len(new)} in the new run"


def _fields(answer: list[Any]) -> tuple[str, ...]:
    """The names of an answer's fields, the tag first."""
    return ("kind", *_KINDS[answer[0]].__struct_fields__)


def _kind(answer: list[Any]) -> str:
    trigger = dict(zip(_fields(answer), answer, strict=False)).get("trigger")
    return f"{_KINDS[answer[0]].__name__} to {trigger!r}"


def _is_late(answer: list[Any]) -> bool:
    fields = dict(zip(_fields(answer), answer, strict=False))
    return fields.get("source") == Source.TIMEOUT and fields.get("reason") == LATE

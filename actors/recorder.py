"""Where the record of a run goes: nowhere, to a disk, or next to an earlier record for comparison."""

from __future__ import annotations

from typing import Any, Protocol

from actors.messages import Decided
from prism.agents import Question


class Recorder(Protocol):
    """What the engine tells of each tick, and asks about a tick that has been run before."""

    def late(self, tick: int) -> frozenset[int] | None:  # noqa: ARG002  # nothing was run before
        """The agents whose decisions came too late in this tick when it was first run; None if this is the first time.

        In real time that depends on a clock, so it cannot be worked out again.
        """
        return None

    def is_recorded(self, tick: int) -> bool:  # noqa: ARG002  # nothing was run before
        """Whether this tick was run before, so that it is only done again."""
        return False

    async def commit(self, tick: int, frame: bytes) -> None:
        """A tick's frame, before the next tick begins.

        Raises:
            JournalError: it cannot be kept, or it is not what was recorded.
        """


class Answers(Protocol):
    """What the oracle actor tells of each answer, and asks about a question that has been asked before."""

    def known(self, question: Question[Any]) -> Decided | None:  # noqa: ARG002  # nothing was asked before
        """The answer that came when this question was first asked; None if it has to be asked now."""
        return None

    async def keep(self, decided: bytes) -> None:
        """An answer, before anybody acts on it."""


class Record(Recorder, Answers, Protocol):
    """Where a whole run is kept."""


class Unrecorded(Record):
    """No record: a run in memory."""

    async def commit(self, tick: int, frame: bytes) -> None:
        """Let it go."""

    async def keep(self, decided: bytes) -> None:
        """Let it go."""

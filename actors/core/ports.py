"""The ports of a run: an observer that is told of every event, and a record that keeps ticks and answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from actors.core.messages import Decided
from prism.agents import Question
from prism.sharing.archetypes import Judged
from prism.tables import Shape


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a run's metrics, without a path: the content of `metrics.json` during a run."""

    url: str


class Observer:
    """An observer that keeps nothing. Every call comes on the run's thread. `actors.metrics.observer.Metrics` keeps.

    An observer must not raise, wait or change anything: a run is the same with and without it.
    """

    def run_built(self, run: Any) -> None:
        """Take the simulation of a run that is ready to begin. It may be read between two steps of the run."""

    async def run(self) -> None:
        """Run beside the simulation, until cancelled at its end."""

    def tick_ended(self, duration_s: float) -> None:
        """Note that a new tick was committed."""

    def tick_replayed(self) -> None:
        """Note that a resumed run has done again a tick that was in the journal already."""

    def asked(self, waited_s: float) -> None:
        """Note that a question is put to the oracle, and how long it has waited."""

    def answered(self, reason: str, duration_s: float) -> None:
        """Note that a call to the oracle ended, and why it failed, without the wait before it."""

    def computed(self, number: int, each_s: float) -> None:
        """Note that an embedded oracle has answered so many questions at once, in place of `asked` and `answered`."""

    def committed(self, duration_s: float, size: int, ticks: int = 1) -> None:
        """Note that frames of `ticks` ticks, `size` bytes in all, were written to the journal and synced."""

    def resumed(self, size: int, ticks: int) -> None:
        """Note that the journal holds `ticks` ticks in `size` bytes from an earlier process."""

    def checkpointed(self) -> None:
        """Note that a checkpoint was written and synced."""


class Record:
    """The record of a run, to which the engine commits ticks and the oracle actor answers; this one keeps nothing."""

    shapes: Sequence[Shape] = ()
    """The tables that the record has; empty if it takes those of the world."""

    def late_agents(self, tick: int) -> frozenset[int] | None:  # noqa: ARG002  # nothing was run before
        """Return the agents whose decisions came too late in this tick when it was first run; None if it is new.

        In `realtime` that depends on a clock, so it cannot be computed again.
        """
        return None

    def is_recorded(self, tick: int) -> bool:
        """Return whether this tick was run before, so that it is now compared with its record."""
        return tick < self.recorded_ticks()

    def recorded_ticks(self) -> int:
        """Return the number of ticks, from tick 0, that were run before."""
        return 0

    def stands_since(self) -> float | None:
        """Return the time since which one write has been under way; None while there is none."""
        return None

    async def commit(self, tick: int, frame: bytes) -> None:
        """Record a tick's frame before the next tick begins, or raise a JournalError if it differs from its record."""

    def recorded_answer(self, question: Question[Any]) -> Decided | None:  # noqa: ARG002  # nothing was asked before
        """Return the answer that came when this question was first asked; None if it must be asked now."""
        return None

    def has_answers(self) -> bool:
        """Return whether `recorded_answer` may find an answer from now on."""
        return False

    def judgements(self) -> Sequence[Judged]:
        return ()

    async def keep(self, *records: bytes) -> None:
        """Record answers, or a judgement and the answer that follows from it, before anything acts on them.

        They are taken before the first wait, so they are recorded even if the caller is cancelled while it waits.
        """

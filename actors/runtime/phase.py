"""The phase of a simulation, and the task that tells when it changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import anyio

from actors.core.events import Event, PhaseChanged, StallBegan, StallEnded, emit
from actors.core.phase import Phase

EVERY_S = 0.25
"""The time between two looks at the phase."""
DISK_S = 2.0
"""A write that takes longer than this means that the run waits for the disk."""
ORACLE_S = 10.0
"""A tick that waits longer for an answer means that the run waits for the oracle, even if no outage is known."""
STALL_S = 30.0
"""The time without a tick, beyond `run.tick_s`, after which the run has stalled."""


class Standing(NamedTuple):
    """The phase of a simulation now, and why it waits; the reason is empty if it does not."""

    phase: Phase
    reason: str = ""


def standing_of(
    now: float,
    *,
    is_recovering: bool,
    is_stopping: bool,
    outage: str | None,
    asks_since: float | None,
    writes_since: float | None,
) -> Standing:
    """Return the phase of a simulation, by the thing that it waits for.

    Args:
        outage: why the server is away; None if it is not.
        asks_since: the time since which the tick has waited for an answer; None if it does not.
        writes_since: the time since which one write has been under way; None if there is none.
    """
    waits = Standing(Phase.RUNNING)
    if writes_since is not None and now - writes_since >= DISK_S:
        waits = Standing(Phase.WAITING_FOR_DISK, "a write takes long")
    elif outage is not None:
        waits = Standing(Phase.WAITING_FOR_ORACLE, outage)
    elif asks_since is not None and now - asks_since >= ORACLE_S:
        waits = Standing(Phase.WAITING_FOR_ORACLE, "an answer takes long")
    if is_stopping:
        return Standing(Phase.STOPPING, waits.reason)
    return Standing(Phase.RECOVERING, waits.reason) if is_recovering else waits


class PhaseWatch:
    """A task that looks at the phase of a run, and tells when it changes and when the run stalls.

    Args:
        clock: seconds, from any start.
        tick_s: the least time between two ticks, which is no stall.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, tick_s: float = 0.0) -> None:
        self._stall_s = STALL_S + tick_s
        self.phase = Phase.STARTING
        self.reason = ""
        self._clock = clock
        self._since = self._moved = clock()
        self._tick: int | None = None
        self._has_stalled = False

    @property
    def lasted_s(self) -> float:
        return self._clock() - self._since

    def enter(self, phase: Phase, reason: str = "", say: Callable[[Event], None] = emit) -> None:
        """Note the phase now, and tell if it has changed.

        Args:
            say: tells of it; by default it is logged, too.
        """
        self.reason = reason
        if phase is self.phase:
            return
        before, after_s = self.phase, round(self.lasted_s, 3)
        self.phase, self._since = phase, self._clock()
        say(PhaseChanged(phase=phase, before=before, after_s=after_s, reason=reason))

    async def run(self, standing: Callable[[], Standing], tick: Callable[[], int]) -> None:
        """Look at the phase until cancelled.

        Args:
            tick: returns the number of ticks committed.
        """
        self._moved = self._clock()
        while True:
            self.enter(*standing())
            self._look_at(tick())
            await anyio.sleep(EVERY_S)

    def _look_at(self, tick: int) -> None:
        """Tell that the run has stalled, or that it goes on."""
        now = self._clock()
        since_s = now - self._moved
        if tick != self._tick:
            if self._has_stalled:
                emit(StallEnded(lasted_s=round(since_s, 3)))
            self._tick, self._moved, self._has_stalled = tick, now, False
        elif since_s >= self._stall_s and not self._has_stalled:
            self._has_stalled = True
            emit(StallBegan(phase=self.phase, since_s=round(since_s, 3)))

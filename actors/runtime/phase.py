"""The phase of a simulation, and the task that tells when it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import anyio

from actors.core.events import Event, PhaseChanged, emit
from actors.core.phase import Phase

EVERY_S = 0.25
"""The time between two looks at the phase."""
DISK_S = 2.0
"""A write that takes longer than this means that the run waits for the disk."""
ORACLE_S = 10.0
"""A tick that waits longer for an answer means that the run waits for the oracle, even if no outage is known."""


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
    """A task that looks at the phase of a run, and tells when it changes."""

    def __init__(self) -> None:
        self.phase = Phase.STARTING
        self._since = anyio.current_time()

    def enter(self, phase: Phase, reason: str = "", say: Callable[[Event], None] = emit) -> None:
        """Note the phase now, and tell if it has changed.

        Args:
            say: tells of it; by default it is logged, too.
        """
        if phase is self.phase:
            return
        before, since, now = self.phase, self._since, anyio.current_time()
        self.phase, self._since = phase, now
        say(PhaseChanged(phase=phase, before=before, after_s=round(now - since, 3), reason=reason))

    async def run(self, standing: Callable[[], Standing]) -> None:
        """Look at the phase until cancelled."""
        while True:
            self.enter(*standing())
            await anyio.sleep(EVERY_S)

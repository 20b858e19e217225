"""The phase and the events of a run, for other threads to read: from before the run is built until after its end."""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec

from actors.core.events import EVENTS, Event, PhaseChanged, RunEnded
from actors.core.phase import Phase


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """The phase at one instant. It never changes.

    Args:
        since: Unix time at which the phase began.
        ended: why the run has ended; empty until then.
        events: `{name: events so far}`, for every kind.
    """

    phase: Phase
    since: float
    reason: str = ""
    ended: str = ""
    events: Mapping[str, int]


class Lifecycle:
    """A listener of a run that keeps its phase and its counts of events. For any thread."""

    def __init__(self) -> None:
        counts = {event.name(): 0 for event in EVENTS}
        self.now = Moment(phase=Phase.STARTING, since=time.time(), events=counts)
        """The phase now."""

    def hear(self, event: Event) -> None:
        before, time_s = self.now, time.time()
        counts = {**before.events, event.name(): before.events[event.name()] + 1}
        now = msgspec.structs.replace(before, events=counts)
        if isinstance(event, PhaseChanged):
            now = msgspec.structs.replace(now, phase=event.phase, since=time_s, reason=event.reason)
        elif isinstance(event, RunEnded):
            now = msgspec.structs.replace(now, ended=event.reason)
        self.now = now

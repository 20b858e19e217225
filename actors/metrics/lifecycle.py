"""The phase and the events of a run, for other threads to read: from before the run is built until after its end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping

import msgspec

from actors.core.events import EVENTS, Event, PhaseChanged, RunEnded
from actors.core.phase import Phase

KEPT = 200
"""The latest events that are kept."""


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
    """A listener of a run that keeps its phase, its counts of events and the latest events. For any thread."""

    def __init__(self) -> None:
        counts = {event.name(): 0 for event in EVENTS}
        self.now = Moment(phase=Phase.STARTING, since=time.time(), events=counts)
        """The phase now."""
        self._latest: deque[tuple[float, Event]] = deque(maxlen=KEPT)

    def hear(self, event: Event) -> None:
        before, time_s = self.now, time.time()
        self._latest.append((time_s, event))
        counts = {**before.events, event.name(): before.events[event.name()] + 1}
        now = msgspec.structs.replace(before, events=counts)
        if isinstance(event, PhaseChanged):
            now = msgspec.structs.replace(now, phase=event.phase, since=time_s, reason=event.reason)
        elif isinstance(event, RunEnded):
            now = msgspec.structs.replace(now, ended=event.reason)
        self.now = now

    def latest(self) -> bytes:
        """Return the latest events, the oldest first, a JSON object a line."""
        lines = [{"timestamp": round(at, 3), **msgspec.to_builtins(event)} for at, event in list(self._latest)]
        return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)

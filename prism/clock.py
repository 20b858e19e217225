"""Simulated time: integer ticks, and the UTC instants they stand for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec


class SimulatedClock(msgspec.Struct, frozen=True):
    """Turns ticks into simulated UTC. No wall clock enters a result.

    Args:
        epoch: the instant of tick 0, with a UTC offset.
        tick_seconds: simulated seconds a tick.
    """

    epoch: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    tick_seconds: float = 60.0

    def at(self, tick: int) -> datetime:
        """The simulated instant of a tick, in UTC."""
        return (self.epoch + timedelta(seconds=tick * self.tick_seconds)).astimezone(UTC)


DEFAULT_CLOCK: Final = SimulatedClock()
"""For agents and components that nobody has given a clock."""

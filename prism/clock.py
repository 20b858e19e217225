"""Simulated time: integer ticks, and the UTC instant that each tick stands for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from msgspec import Meta

from prism.checked import Checked


class SimulatedClock(Checked, frozen=True):
    """A clock that turns ticks into simulated UTC. No wall clock enters a result.

    Args:
        epoch: the instant of tick 0, with a UTC offset.
        tick_seconds: simulated seconds a tick.
    """

    epoch: Annotated[datetime, Meta(tz=True)] = datetime(2026, 1, 1, tzinfo=UTC)
    tick_seconds: Annotated[float, Meta(gt=0.0)] = 60.0

    def at(self, tick: int) -> datetime:
        """Return the simulated instant of a tick, in UTC."""
        return (self.epoch + timedelta(seconds=tick * self.tick_seconds)).astimezone(UTC)


DEFAULT_CLOCK: Final = SimulatedClock()
"""The clock of agents and components that are given none."""

"""Simulated time: integer ticks, and the UTC instant that each tick stands for."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from msgspec import Meta

from prism.checked import Checked


def whole_ticks(minutes: float, tick_seconds: float) -> int:
    """Return simulated minutes in ticks, rounded up: 0 for 0, otherwise at least 1."""
    ticks = math.ceil(round(minutes * 60.0 / tick_seconds, 9))  # 1.1 minutes are 11 ticks of 6 s, in spite of rounding
    return max(ticks, 1) if minutes else 0


class SimulatedClock(Checked, frozen=True):
    """A clock that turns ticks into simulated UTC, from the instant of tick 0 on."""

    epoch: Annotated[datetime, Meta(tz=True)] = datetime(2026, 1, 1, tzinfo=UTC)
    tick_seconds: Annotated[float, Meta(gt=0.0)] = 60.0

    def at(self, tick: int) -> datetime:
        return (self.epoch + timedelta(seconds=tick * self.tick_seconds)).astimezone(UTC)

    def microseconds_at(self, tick: int) -> int:
        """Return the simulated instant of a tick, in microseconds since 1970."""
        moment = self.at(tick)
        return int(moment.timestamp()) * 1_000_000 + moment.microsecond


DEFAULT_CLOCK: Final = SimulatedClock()
"""The clock of agents and components that are given none."""

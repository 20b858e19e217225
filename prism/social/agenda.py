"""The agenda: the next trigger of each agent, found by its tick without looking at every agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prism.columns import Column, Columns, pack

NEVER: Final = -1


class Agenda:
    """The next trigger of every agent; an agent has at most one.

    Args:
        size: number of agents.
    """

    def __init__(self, size: int) -> None:
        self.ticks: list[int] = [NEVER] * size
        """The tick of each agent's next trigger, or NEVER."""
        self.names: list[str] = [""] * size
        """The name of each agent's next trigger."""
        self._buckets: dict[int, list[int]] = {}

    def put(self, agent: int, tick: int, name: str) -> None:
        """Make `name` at `tick` the agent's next trigger, in place of the one before."""
        self.ticks[agent] = tick
        self.names[agent] = name
        self._buckets.setdefault(tick, []).append(agent)

    def clear(self, agent: int) -> None:
        """Remove the agent's next trigger."""
        self.ticks[agent] = NEVER

    def take(self, tick: int) -> list[int]:
        """Return the agents due at `tick`, ascending, and remove their triggers."""
        due = sorted({agent for agent in self._buckets.pop(tick, ()) if self.ticks[agent] == tick})
        for agent in due:
            self.ticks[agent] = NEVER
        return due

    def columns(self) -> Iterator[Column]:
        """Yield the next triggers, for `restore`."""
        yield from pack("agenda_tick", self.ticks)
        yield from pack("agenda_name", self.names)

    def restore(self, columns: Columns) -> None:
        """Take over the agenda that these columns hold."""
        self.ticks = columns.values("agenda_tick", int)
        self.names = columns.values("agenda_name", str)
        self._buckets = {}
        for agent, tick in enumerate(self.ticks):
            if tick != NEVER:
                self._buckets.setdefault(tick, []).append(agent)

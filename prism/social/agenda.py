"""The agenda: the next trigger of each agent, found by its tick without looking at every agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from prism.columns import Column, Columns, Ints, distinct, pack_array

NEVER: Final = -1


class Agenda:
    """The next trigger of every agent; an agent has at most one.

    Args:
        size: number of agents.
    """

    def __init__(self, size: int) -> None:
        self.ticks: Ints = np.full(size, NEVER, dtype=np.int64)
        """The tick of each agent's next trigger, or NEVER."""
        self.names: list[str] = [""]
        """The names of all triggers so far."""
        self.codes = np.zeros(size, dtype=np.int16)
        """The number of the name of each agent's next trigger."""
        self._numbers = {"": 0}
        self._buckets: dict[int, list[Ints]] = {}

    def number(self, name: str) -> int:
        """Return the number of a trigger's name."""
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]

    def name(self, agent: int) -> str:
        """Return the name of the agent's next trigger, or of the latest one."""
        return self.names[int(self.codes[agent])]

    def put(self, agents: int | Ints, ticks: int | Ints, name: str) -> None:
        """Make `name` the next trigger of these agents, each once, in place of the one before.

        Args:
            ticks: one for all, or one for each.
        """
        if not isinstance(agents, np.ndarray):
            agents = np.array([agents])
        if not len(agents):
            return
        self.ticks[agents] = ticks
        self.codes[agents] = self.number(name)
        if isinstance(ticks, np.ndarray):
            self._file(agents, ticks)
        else:
            self._buckets.setdefault(ticks, []).append(agents)

    def _file(self, agents: Ints, ticks: Ints) -> None:
        """Put each agent into the bucket of its tick."""
        if len(ticks) == 1 or (ticks == ticks[0]).all():
            self._buckets.setdefault(int(ticks[0]), []).append(agents)
            return
        order = np.argsort(ticks, kind="stable")
        found, starts = np.unique(ticks[order], return_index=True)
        for tick, part in zip(found.tolist(), np.split(agents[order], starts[1:]), strict=True):
            self._buckets.setdefault(tick, []).append(part)

    def clear(self, agents: int | Ints) -> None:
        """Remove the next trigger of these agents."""
        self.ticks[agents] = NEVER

    def take(self, tick: int) -> Ints:
        """Return the agents due at `tick`, ascending, and remove their triggers."""
        filed = self._buckets.pop(tick, None)
        if filed is None:
            return np.empty(0, dtype=np.int64)
        due: Ints = distinct(np.concatenate(filed))
        due = due[self.ticks[due] == tick]
        self.ticks[due] = NEVER
        return due

    def columns(self) -> Iterator[Column]:
        """Yield the next triggers, for `restore`."""
        yield from pack_array("agenda_tick", self.ticks)
        yield from pack_array("agenda_name", self.codes, np.array(self.names, dtype=object).__getitem__)

    def restore(self, columns: Columns) -> None:
        """Take over the agenda that these columns hold."""
        self.ticks = columns.array("agenda_tick")
        names = columns.values("agenda_name", str)
        self.codes = np.fromiter(map(self.number, names), np.int16, len(names))
        self._buckets = {}
        waiting = np.flatnonzero(self.ticks != NEVER)
        if len(waiting):
            self._file(waiting, self.ticks[waiting])

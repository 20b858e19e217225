"""The states of a run's agents, worked out of its updates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from actors.core.errors import JournalError
from actors.store.journal import JOURNAL
from actors.store.record import Block, tick_of_rows
from prism.agents import MOVED
from prism.agents.waves import Kind
from prism.columns import Ints

STATES_MAX = 65_535
"""The most states of a run that are told apart."""

Moved = tuple[Ints, Ints, NDArray[np.intp]]
"""The tick, the agent and the number of the move of each update that has moved its agent."""


class States:
    """The states of agents after the ticks that were added.

    Args:
        agents: how many there are.
        names: the states, the first one that in which everybody begins; empty if they are not known: then they are
            those that updates name.
    """

    def __init__(self, agents: int, names: Sequence[str] = ()) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        self.of_agents = np.zeros(agents, dtype=np.uint16)
        """The number of each agent's state."""
        self.counts = np.array([agents])
        """The number of agents in each state; before a first update names a state, all are in the first one."""
        self.moves: dict[tuple[int, int], int] = {}
        """`{(state before, state after): the number of the move}`."""
        self._of_kind: list[int] = []  # the move of each kind of update; -1 for none
        for name in names:
            self._number_of(name)

    def moved(self, block: Block, kinds: Sequence[Kind]) -> Moved:
        """Return the moves in a block, to be added."""
        table = block.tables["updates"]
        codes = table.columns["kind"]
        if not self.names and len(codes):
            self._number_of(kinds[codes[0]].from_state)
        for kind in kinds[len(self._of_kind) :]:
            if kind.source in MOVED:
                move = self._number_of(kind.from_state), self._number_of(kind.to_state)
                self._of_kind.append(self.moves.setdefault(move, len(self.moves)))
            else:
                self._of_kind.append(-1)
        moves = np.array(self._of_kind, dtype=np.intp)[codes]
        ticks, agents = tick_of_rows(table), table.columns["agent"]
        if len(moves) and moves.min() < 0:
            is_moved = moves >= 0
            return ticks[is_moved], agents[is_moved], moves[is_moved]
        return ticks, agents, moves

    def add(self, block: Block, moved: Moved) -> NDArray[np.int64]:
        """Add the moves of a block, and return how many agents are in each state after each of its ticks."""
        self.enter(moved)
        ticks, _, moves = moved
        times = np.bincount((ticks - block.first) * len(self.moves) + moves, minlength=block.ticks * len(self.moves))
        changes = np.zeros((len(self.moves), len(self.counts)))
        for (before, after), move in self.moves.items():
            changes[move, before] -= 1
            changes[move, after] += 1
        # As floats, which are exact here: NumPy multiplies matrices of whole numbers many times more slowly.
        changed = times.reshape(block.ticks, len(self.moves)).astype(np.float64) @ changes
        found: Ints = changed.astype(np.int64).cumsum(axis=0) + self.counts
        if block.ticks:
            self.counts = found[-1].copy()
        return found

    def enter(self, moved: Moved) -> None:
        """Put each agent into the state to which its last move leads."""
        _, agents, moves = moved
        after = np.array([after for _, after in self.moves], dtype=np.uint16)
        self.of_agents[agents] = after[moves]  # of several moves of an agent the last one stays

    def _number_of(self, name: str) -> int:
        """Return the number of a state; a new state gets the next number. Every agent begins in the first one."""
        if (number := self._numbers.get(name)) is not None:
            return number
        if len(self.names) == STATES_MAX:
            raise JournalError(f"{JOURNAL}: names more than {STATES_MAX:,} states")
        if self.names:
            self.counts = np.append(self.counts, 0)
        self.names.append(name)
        return self._numbers.setdefault(name, len(self.names) - 1)

"""The rounds of a run as a table: the rows of its rounds.csv."""

from __future__ import annotations

from collections.abc import Sequence

from actors.record.rounds import ROUNDS
from actors.record.run import Recorded
from actors.results.rows import Rows
from prism.tables import Column, Kind

_OWN = ("round", "tick")
"""The columns that every run has."""


class RoundsTable:
    """The rows of a run's rounds.csv at the creation of this object: rows that a run adds later are not read."""

    def __init__(self, run: Recorded) -> None:
        self._run = run
        self.kinds = {name: _kind(column) for name, column in run.rounds.items() if column}
        """`{column: its kind}`."""

    def read(self) -> dict[str, list[float]]:
        """Return the columns of the rounds that end among the ticks that were read."""
        return self._run.rounds_until(self._run.length)

    def add_to(self, rows: Rows) -> None:
        """Add the rows of the rounds that end among the ticks that were read."""
        rounds = self.read()
        own = [(column.name, float if column.kind is Kind.NUMBER else int) for column in rows.table.columns[4:]]
        for place, number in enumerate(rounds.get("round", ())):
            tick = int(rounds["tick"][place])
            values = (number_of(rounds[name][place]) if name in rounds else None for name, number_of in own)
            rows.add(self._run.name, number, tick, self._run.time_at(tick), *values)
        if not rounds.get("round") and self._run.length >= self._run.config.simulation.ticks_per_round:
            self._run.notes.append(f"{ROUNDS} has no rows; `prism resume` writes them again")


def _kind(column: Sequence[float]) -> Kind:
    return Kind.INTEGER if all(isinstance(cell, int) for cell in column) else Kind.NUMBER


def columns_of(rounds: Sequence[RoundsTable]) -> list[Column]:
    """Return the columns that rows of rounds have beyond round, tick and time, for all runs together."""
    kinds: dict[str, Kind] = {}
    for each in rounds:
        for name, kind in each.kinds.items():
            if name not in _OWN:
                kinds[name] = Kind.NUMBER if Kind.NUMBER in (kind, kinds.get(name)) else kind
    return [Column(name=name, kind=kind, about="as in rounds.csv") for name, kind in kinds.items()]

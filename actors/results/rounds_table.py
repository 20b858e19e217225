"""The rounds of a run as a table: the rows of its rounds.csv."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from actors.core.errors import JournalError
from actors.record.run import Recorded
from actors.results.rows import Rows
from actors.results.schema import Column, Kind
from actors.runs.rounds_csv import ROUNDS, read_rows

_OWN = ("round", "tick")
"""The columns that every run has."""


class RoundsTable:
    """The rows of a run's rounds.csv, as it is when this is made: rows that a run under way adds are not read.

    Args:
        run: the run.

    Raises:
        JournalError: a cell is no number.
    """

    def __init__(self, run: Recorded) -> None:
        self._run = run
        self._count = sys.maxsize
        cells = self._cells(sys.maxsize)
        self._count = len(cells.get("tick", ()))
        self.kinds: dict[str, Kind] = {}
        """`{column: its kind}`."""
        for name, column in cells.items():
            whole = all(cell.lstrip("-").isdecimal() for cell in column)
            self.kinds[name] = Kind.INTEGER if whole else Kind.NUMBER
            self._numbers(name, column)

    def read(self) -> dict[str, list[int | float]]:
        """Return the columns of the rounds that end among the ticks that were read."""
        return {name: self._numbers(name, cells) for name, cells in self._cells(self._run.length).items()}

    def add_to(self, rows: Rows) -> None:
        """Add the rows of the rounds that end among the ticks that were read."""
        rounds = self.read()
        own = [(column.name, column.kind) for column in rows.table.columns[4:]]
        for place, number in enumerate(rounds.get("round", ())):
            tick = int(rounds["tick"][place])
            values = (
                None
                if name not in rounds
                else float(rounds[name][place])
                if kind is Kind.NUMBER
                else rounds[name][place]
                for name, kind in own
            )
            rows.add(self._run.name, number, tick, self._run.time_at(tick), *values)
        if not rounds and self._run.length >= self._run.config.simulation.ticks_per_round:
            self._run.notes.append(f"{ROUNDS} has no rows; `prism resume` writes them again")

    def _cells(self, until: int) -> dict[str, list[str]]:
        run = self._run
        rows = read_rows(run.disk, run.config.simulation.ticks_per_round, until)
        names = rows.header.decode("ascii", errors="replace").strip().split(",") if rows.rows else []
        lines = [row.decode("ascii", errors="replace").strip().split(",") for row in rows.rows[: self._count]]
        return {name: [line[place] for line in lines] for place, name in enumerate(names)}

    def _numbers(self, name: str, cells: Sequence[str]) -> list[int | float]:
        try:
            return [float(cell) if self.kinds.get(name) is Kind.NUMBER else int(cell) for cell in cells]
        except ValueError as error:
            path = self._run.path / ROUNDS
            raise JournalError(f"{path}: cannot be read as rounds: {name}: {error}; `prism verify` says more") from None


def columns_of(rounds: Sequence[RoundsTable]) -> list[Column]:
    """Return the columns that rows of rounds have beyond round, tick and time, for all runs together."""
    kinds: dict[str, Kind] = {}
    for each in rounds:
        for name, kind in each.kinds.items():
            if name not in _OWN:
                kinds[name] = Kind.NUMBER if Kind.NUMBER in (kind, kinds.get(name)) else kind
    return [Column(name=name, kind=kind, about="as in rounds.csv") for name, kind in kinds.items()]

"""The rows of `rounds.csv`, as a run writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actors.runs.run_store import RunStore
from actors.runtime.counters import Counters
from actors.runtime.simulation import Simulation
from actors.store.disk import Disk, write_whole
from actors.store.rounds import ROUNDS, RoundsTable, read_rows
from prism.domain import Domain


def round_of(simulation: Simulation) -> dict[str, float]:
    """Return the row of the round that has just ended. Every count in it is a total from the start of the run.

    The columns are the same for every row: activations, transitions, questions, transitions by what decided them, and
    the numbers among the world's totals: counts such as posts and likes, and levels such as an interest rate.
    """
    return {
        "round": simulation.engine.tick // simulation.config.simulation.ticks_per_round,
        "tick": simulation.engine.tick,
        **_counted(simulation.counters, simulation.domain.world.totals()),
    }


def columns_of_rounds(domain: Domain) -> tuple[str, ...]:
    return ("round", "tick", *_counted(Counters(domain.chart, domain.size), domain.world.totals()))


def _counted(counters: Counters, totals: Mapping[str, Any]) -> dict[str, float]:
    return {
        "activations": counters.activations,
        "transitions": counters.transitions,
        "questions": counters.questions,
        **counters.decisions_by_source(),
        **{name: value for name, value in totals.items() if isinstance(value, int | float)},
    }


def row_line(simulation: Simulation, header: str) -> str:
    """Return the row of the round that has just ended, as it stands in a file with these columns.

    A column without a number in the run is 0: in a fork it belongs to the past, or to events that come later.
    """
    numbers = round_of(simulation)
    return ",".join(str(numbers.get(name, 0)) for name in header.split(","))


class RoundsWriter:
    """A writer that appends a row to the file after each round.

    Args:
        rows: the rows in the file already; empty if there is no file.
    """

    def __init__(self, store: RunStore, simulation: Simulation, rows: bytes) -> None:
        self._simulation = simulation
        self._ticks_per_round = simulation.config.simulation.ticks_per_round
        self._store = store
        self._header = rows.partition(b"\n")[0].decode("ascii") if rows else ",".join(round_of(simulation))
        if rows:
            self._store.continue_rows(rows)
        else:
            self._store.append_row(self._header)

    def after_tick(self, tick: int) -> None:
        """Append a row if `tick` is the last tick of a round."""
        if tick % self._ticks_per_round == 0:
            self._store.append_row(row_line(self._simulation, self._header))


class RoundsCollector:
    """The rows of a run in memory, as columns."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._ticks_per_round = simulation.config.simulation.ticks_per_round
        self.rounds: RoundsTable = {name: [] for name in round_of(simulation)}

    def after_tick(self, tick: int) -> None:
        """Add a row if `tick` is the last tick of a round."""
        if tick % self._ticks_per_round == 0:
            for name, value in round_of(self._simulation).items():
                self.rounds[name].append(value)


def cut_series(disk: Disk, tick: int, ticks_per_round: int) -> bytes:
    """Remove the rows of later ticks, which are written again; return the remaining rows, empty without a file."""
    if ROUNDS not in disk.names():
        return b""
    rows = read_rows(disk, ticks_per_round, until=tick)
    if not rows.rows:
        disk.remove(ROUNDS)
        return b""
    write_whole(disk, ROUNDS, [rows.content])
    return rows.content

"""How a run developed: `rounds.csv`, a row for each round."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import NamedTuple

from actors.persistence.disk import Disk, write_whole
from actors.persistence.run_store import RunStore
from actors.runtime.simulation import Simulation

ROUNDS = "rounds.csv"


class RoundsWriter:
    """Appends a row to a CSV file after each round. Every whole number but `round` and `tick` counts from the start.

    The columns are the same for every row: activations, transitions, questions, transitions by what settled them, and
    the numbers among the world's totals: counts such as posts and likes, and levels such as an interest rate.

    Args:
        store: where the rows go, a header first in a new file.
        simulation: whose rounds they are.
    """

    def __init__(self, store: RunStore, simulation: Simulation, *, is_new: bool) -> None:
        self._simulation = simulation
        self._ticks_per_round = simulation.config.simulation.ticks_per_round
        self._store = store
        if is_new:
            self._store.append_line(ROUNDS, ",".join(self._row()))

    def after_tick(self, tick: int) -> None:
        """Add a row if `tick` ticks are whole rounds."""
        if tick % self._ticks_per_round == 0:
            self._store.append_line(ROUNDS, ",".join(map(str, self._row().values())))

    def _row(self) -> dict[str, float]:
        simulation, counters = self._simulation, self._simulation.counters
        totals = simulation.domain.world.totals()
        return {
            "round": simulation.engine.tick // self._ticks_per_round,
            "tick": simulation.engine.tick,
            "activations": counters.activations,
            "transitions": counters.transitions,
            "questions": counters.questions,
            **counters.decisions_by_source(),
            **{name: value for name, value in totals.items() if isinstance(value, int | float)},
        }


class Rows(NamedTuple):
    """The rows from the front of a file that are each the next round's.

    Whatever follows the last row that a checkpoint made sure of may be anything after a power cut, even look like an
    earlier row: so the first that is not the next one ends them.

    Args:
        first, last: their rounds; 0 if there is no row.
        has_more: whether something else follows them.
    """

    header: bytes = b""
    rows: tuple[bytes, ...] = ()
    first: int = 0
    last: int = 0
    has_more: bool = False

    def lack(self, until: int, starts: frozenset[int]) -> str:
        """What is wrong if every round until this one should have a row, in words; empty if nothing is.

        Args:
            starts: the rounds with which a series may begin.
        """
        if not self.last:
            return "" if until + 1 in starts else "has no row"
        if self.first not in starts:
            return f"begins with round {self.first}"
        return "" if self.last >= until else f"has no row of round {self.last + 1}"


def rows_in(content: bytes, ticks_per_round: int, until: int = sys.maxsize) -> Rows:
    """What a file of rounds holds.

    Args:
        until: rows of later ticks are left out.
    """
    header, *lines = content.splitlines(keepends=True) or [b""]
    if not header.startswith(b"round,tick,") or header.endswith(b"\r\n"):
        return Rows(has_more=bool(content))
    rows: list[bytes] = []
    first = last = 0
    for line in lines:
        number = _round(line, header.count(b",") + 1, ticks_per_round)
        if not number or (last and number != last + 1) or number * ticks_per_round > until:
            break
        rows.append(line)
        first, last = first or number, number
    return Rows(header, tuple(rows), first, last, has_more=len(rows) < len(lines))


def read_rows(disk: Disk, ticks_per_round: int, until: int = sys.maxsize) -> Rows:
    """What a run's file of rounds holds; nothing where there is no file."""
    content = disk.read(ROUNDS, 0, disk.size(ROUNDS)) if ROUNDS in disk.names() else b""
    return rows_in(content, ticks_per_round, until)


def write_rows(disk: Disk, rows: Rows) -> None:
    """Put a file of these rows in place."""
    write_whole(disk, ROUNDS, [rows.header, *rows.rows])


def cut_series(disk: Disk, tick: int, ticks_per_round: int) -> bool:
    """Leave out the rows of later ticks: they come again. Whether any is left; without one there is no file either."""
    if ROUNDS not in disk.names():
        return False
    rows = read_rows(disk, ticks_per_round, until=tick)
    if not rows.rows:
        disk.remove(ROUNDS)
        return False
    write_rows(disk, rows)
    return True


def covered_ticks(disk: Disk, ticks_per_round: int) -> int:
    """The last tick at which a checkpoint can be taken up without a row going missing."""
    rows = read_rows(disk, ticks_per_round)
    return (rows.last * (rows.first == 1) + 1) * ticks_per_round - 1


def starts_of(forks: Iterable[int], ticks_per_round: int) -> frozenset[int]:
    """The rounds with which a series may begin: the first, and the one under way at each fork.

    A fork whose parent lacks rows begins its own behind them.
    """
    return frozenset({1, *(tick // ticks_per_round + 1 for tick in forks)})


def _round(row: bytes, columns: int, ticks_per_round: int) -> int | None:
    """The round of a row; None if it is no whole row."""
    cells = row.decode("ascii", errors="replace").split(",")
    is_line = row.endswith(b"\n") and not row.endswith(b"\r\n")
    if not is_line or len(cells) != columns or not (cells[0].isdecimal() and cells[1].isdecimal()):
        return None
    number, tick = int(cells[0]), int(cells[1])
    return number if number * ticks_per_round == tick else None

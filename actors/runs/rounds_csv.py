"""The course of a run: `rounds.csv`, with a row for each round."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any, Final, NamedTuple

from actors.core.errors import JournalError
from actors.core.files import read_regular
from actors.persistence.checkpoint import Position
from actors.persistence.disk import Disk, write_whole
from actors.persistence.run_store import RunStore
from actors.runtime.counters import Counters
from actors.runtime.simulation import Simulation
from prism.domain import Domain

ROUNDS = "rounds.csv"
ROUNDS_BYTES_MAX = 1 << 32
"""The most bytes of a file of rounds that is read: more than the longest run writes."""

ENGINE_COLUMNS: Final = frozenset(
    {"round", "tick", "activations", "transitions", "questions", "rule", "oracle", "llm", "fallback", "timeout"}
)
"""The columns that every domain has; the others are the world's."""
PEOPLE_COLUMNS: Final[tuple[str, ...]] = (
    *("posts", "likes", "replies", "reshares"),
    *("follows", "unfollows", "mutes", "attribute_changes"),
)
"""The columns of what people did on a feed; the latter only where their chart changes ties or attributes."""

RoundsTable = dict[str, list[float]]
"""`{column: its value in each round}`."""


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
    """Return the columns of the runs of a domain, in their order."""
    return ("round", "tick", *_counted(Counters(domain.chart, domain.size), domain.world.totals()))


def _counted(counters: Counters, totals: Mapping[str, Any]) -> dict[str, float]:
    return {
        "activations": counters.activations,
        "transitions": counters.transitions,
        "questions": counters.questions,
        **counters.decisions_by_source(),
        **{name: value for name, value in totals.items() if isinstance(value, int | float)},
    }


def header_line(simulation: Simulation) -> str:
    """Return the names of the columns, as they stand in the file."""
    return ",".join(round_of(simulation))


def row_line(simulation: Simulation, header: str) -> str:
    """Return the row of the round that has just ended, as it stands in a file with these columns.

    A column of which the run has no number is 0: in a fork it is of the past, or of what only comes later.
    """
    numbers = round_of(simulation)
    return ",".join(str(numbers.get(name, 0)) for name in header.split(","))


class RoundsWriter:
    """A writer that appends a row to the file after each round.

    Args:
        store: writes the rows, after a header in a new file.
        simulation: the simulation of the rounds.
        rows: what is in the file already; nothing if there is none.
    """

    def __init__(self, store: RunStore, simulation: Simulation, rows: bytes) -> None:
        self._simulation = simulation
        self._ticks_per_round = simulation.config.simulation.ticks_per_round
        self._store = store
        self._header = rows.partition(b"\n")[0].decode("ascii") if rows else header_line(simulation)
        if rows:
            self._store.continue_lines(ROUNDS, rows)
        else:
            self._store.append_line(ROUNDS, self._header)

    def after_tick(self, tick: int) -> None:
        """Append a row if `tick` is the last tick of a round."""
        if tick % self._ticks_per_round == 0:
            self._store.append_line(ROUNDS, row_line(self._simulation, self._header))


class RoundsCollector:
    """The rows of a run in memory, as columns.

    Args:
        simulation: the simulation of the rounds.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._ticks_per_round = simulation.config.simulation.ticks_per_round
        self.rounds: RoundsTable = {name: [] for name in round_of(simulation)}

    def after_tick(self, tick: int) -> None:
        """Add a row if `tick` is the last tick of a round."""
        if tick % self._ticks_per_round == 0:
            for name, value in round_of(self._simulation).items():
                self.rounds[name].append(value)


def read_rounds(path: Path) -> RoundsTable:
    """Return the columns of a file of rounds; none if there is no file.

    Raises:
        JournalError: it is not what PRISM wrote.
    """
    try:
        text = read_regular(path, ROUNDS_BYTES_MAX).decode("ascii")
        header, *rows = list(csv.reader(StringIO(text, newline=""))) or [[]]
        return {name: [_number(row[index]) for row in rows] for index, name in enumerate(header)}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, IndexError) as error:
        raise JournalError(f"{path}: cannot be read as rounds: {error}") from None


class Rows(NamedTuple):
    """The rows at the start of a file, up to the first that is not the next round's.

    After a power cut, anything may follow the last row that a checkpoint synced, even a copy of an earlier row. So the
    first row that is not the next round's ends them.

    Args:
        first, last: the first and the last round; 0 if there is no row.
        has_more: whether other content follows them.
    """

    header: bytes = b""
    rows: tuple[bytes, ...] = ()
    first: int = 0
    last: int = 0
    has_more: bool = False

    @property
    def content(self) -> bytes:
        """The file with these rows and nothing else."""
        return b"".join((self.header, *self.rows))

    def with_columns(self, names: Iterable[str]) -> Rows:
        """Return the rows with further columns of zeros: of these columns, those that they do not have."""
        added = [name.encode() for name in names if name.encode() not in self.header.strip().split(b",")]
        header = b",".join([self.header.rstrip(b"\n"), *added]) + b"\n"
        zeros = b",0" * len(added) + b"\n"
        return self._replace(header=header, rows=tuple(row.rstrip(b"\n") + zeros for row in self.rows))

    def is_as_written(self, position: Position, ticks_per_round: int) -> bool:
        """Return whether the rows up to a checkpoint are those that it was written after; True if it does not say."""
        rounds, written = position.tick // ticks_per_round, position.lines.get(ROUNDS)
        if written is None or not rounds:
            return True
        kept = self.rows[: max(0, rounds + 1 - self.first)]
        return sha256(self.header + b"".join(kept)).digest() == written

    def problem(self, until: int, starts: frozenset[int]) -> str:
        """Return, in words, why not every round up to this one has a row; empty if each has one.

        Args:
            starts: the rounds with which a series may begin.
        """
        if not self.last:
            return "" if until + 1 in starts else "has no row"
        if self.first not in starts:
            return f"begins with round {self.first}"
        return "" if self.last >= until else f"has no row of round {self.last + 1}"


def rows_in(content: bytes, ticks_per_round: int, until: int = sys.maxsize) -> Rows:
    """Return the rows in the content of a file.

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
    """Return the rows of a run; none if there is no file."""
    content = disk.read(ROUNDS, 0, disk.size(ROUNDS)) if ROUNDS in disk.names() else b""
    return rows_in(content, ticks_per_round, until)


def rounds_of(rows: Rows) -> RoundsTable:
    """Return rows as columns; none without a header. A row that holds anything but numbers ends them."""
    if not rows.header:
        return {}
    names = rows.header.decode("ascii", errors="replace").strip().split(",")
    table: RoundsTable = {name: [] for name in names}
    for row in rows.rows:
        try:
            numbers = [_number(cell) for cell in row.decode("ascii").strip().split(",")]
        except ValueError:
            break
        for name, number in zip(names, numbers, strict=True):
            table[name].append(number)
    return table


def write_rows(disk: Disk, rows: Rows) -> None:
    """Write a file of these rows in place of the old one."""
    write_whole(disk, ROUNDS, [rows.content])


def cut_series(disk: Disk, tick: int, ticks_per_round: int) -> bytes:
    """Remove the rows of later ticks, which are written again; return what is left, nothing if no row and no file."""
    if ROUNDS not in disk.names():
        return b""
    rows = read_rows(disk, ticks_per_round, until=tick)
    if not rows.rows:
        disk.remove(ROUNDS)
        return b""
    write_rows(disk, rows)
    return rows.content


class Coverage:
    """The rows of a run that is to be resumed, and the last tick from which that leaves no round without a row.

    Args:
        disk: the disk with the rows.
        ticks_per_round: of the run.
    """

    def __init__(self, disk: Disk, ticks_per_round: int) -> None:
        self._rows = read_rows(disk, ticks_per_round)
        self._ticks_per_round = ticks_per_round
        self.ticks = (self._rows.last * (self._rows.first == 1) + 1) * ticks_per_round - 1
        """The last tick from which a resume leaves no round without a row."""

    @property
    def is_clean(self) -> bool:
        """True if nothing else follows the rows. A resume that begins cuts it off."""
        return not self._rows.has_more

    def is_as_written(self, position: Position) -> bool:
        """Return whether the rows up to a checkpoint are those that it was written after; True if it does not say."""
        return self._rows.is_as_written(position, self._ticks_per_round)


def starts_of(forks: Iterable[int], ticks_per_round: int) -> frozenset[int]:
    """Return the rounds with which the rows may begin: the first, and the one under way at each fork.

    A fork whose parent lacks rows begins with the round after the fork.
    """
    return frozenset({1, *(tick // ticks_per_round + 1 for tick in forks)})


def _round(row: bytes, columns: int, ticks_per_round: int) -> int | None:
    """Return the round of a row; None if the row is not whole."""
    cells = row.decode("ascii", errors="replace").split(",")
    is_line = row.endswith(b"\n") and not row.endswith(b"\r\n")
    if not is_line or len(cells) != columns or not (cells[0].isdecimal() and cells[1].isdecimal()):
        return None
    number, tick = int(cells[0]), int(cells[1])
    return number if number * ticks_per_round == tick else None


def _number(cell: str) -> float:
    """Return a cell as the number that was written: an int where it has no point."""
    try:
        return int(cell)
    except ValueError:
        return float(cell)

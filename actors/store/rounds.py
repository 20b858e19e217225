"""The rows of `rounds.csv`, one for each round, as they are read; `actors.runs.rounds_csv` writes them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from actors.core.errors import JournalError
from actors.core.files import read_regular
from actors.store.checkpoint import Position
from actors.store.disk import Disk
from prism.show import Show

ROUNDS = "rounds.csv"
ROUNDS_BYTES_MAX = 1 << 32
"""The most bytes of a file of rounds that is read: more than the longest run writes."""

ENGINE_COLUMNS: Final = frozenset(
    {"round", "tick", "activations", "transitions", "questions", "rule", "oracle", "llm", "fallback", "timeout"}
)
"""The columns that every domain has; the others are the world's."""

RoundsTable = dict[str, list[float]]
"""`{column: its value in each round}`."""


def read_rounds(directory: Path) -> RoundsTable:
    """Return the rounds of a run as columns; none if there is no file.

    Raises:
        JournalError: PRISM did not write it so.
    """
    path = directory / ROUNDS
    try:
        header, *rows = read_regular(path, ROUNDS_BYTES_MAX).splitlines() or [b""]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise JournalError(f"{path}: cannot be read as rounds: {error}") from None
    return columns_of(directory, header, rows)


def columns_of(directory: Path, header: bytes, rows: Sequence[bytes]) -> RoundsTable:
    """Return rows as columns: an int where a cell has no point.

    Raises:
        JournalError: a cell is no number.
    """
    cells = [row.decode("ascii", errors="replace").strip().split(",") for row in rows]
    table: RoundsTable = {}
    for place, name in enumerate(header.decode("ascii", errors="replace").strip().split(",") if header else ()):
        try:
            column = [row[place] for row in cells]
            table[name] = [int(cell) if cell.lstrip("+-").isdecimal() else float(cell) for cell in column]
        except (ValueError, IndexError) as error:
            problem = f"cannot be read as rounds: {name}: {error}; `prism verify` says more"
            raise JournalError(f"{directory / ROUNDS}: {problem}") from None
    return table


def numbers_of(show: Show, rounds: RoundsTable) -> list[str]:
    """Return the columns of rounds that are shown: those that a domain names, or else all numbers of its world."""
    named = [each.column for each in show.numbers if each.column in rounds]
    return named or [name for name in rounds if name not in ENGINE_COLUMNS and any(rounds[name])]


def growth_in_rounds(rounds: RoundsTable, name: str) -> tuple[float, list[float]]:
    """Return a total before the first row, and its growth in each round.

    The first row of a fork includes all that its parent has counted; a run begins at 0.
    """
    totals = rounds.get(name, [])
    before = 0.0 if not totals or rounds["round"][0] == 1 else totals[0]
    return before, [now - then for now, then in zip(totals, [before, *totals], strict=False)]


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
        added = [name.encode() for name in names if name.encode() not in self.header.strip().split(b",")]
        header = b",".join([self.header.rstrip(b"\n"), *added]) + b"\n"
        zeros = b",0" * len(added) + b"\n"
        return self._replace(header=header, rows=tuple(row.rstrip(b"\n") + zeros for row in self.rows))

    def is_as_written(self, position: Position, ticks_per_round: int) -> bool:
        """Return whether the rows up to a checkpoint have the hash in it; True if it has no hash."""
        rounds, written = position.tick // ticks_per_round, position.lines.get(ROUNDS)
        if written is None or not rounds:
            return True
        kept = self.rows[: max(0, rounds + 1 - self.first)]
        return sha256(self.header + b"".join(kept)).digest() == written

    def problem(self, until: int, starts: frozenset[int]) -> str:
        """Return, in words, why some round up to this one has no row; empty if each has a row.

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


def starts_of(forks: Iterable[int], ticks_per_round: int) -> frozenset[int]:
    """Return the rounds with which the rows may begin: the first, and the one under way at each fork.

    A fork whose parent lacks rows begins with the round after the fork.
    """
    return frozenset({1, *(tick // ticks_per_round + 1 for tick in forks)})


def _round(row: bytes, columns: int, ticks_per_round: int) -> int | None:
    cells = row.decode("ascii", errors="replace").split(",")
    is_line = row.endswith(b"\n") and not row.endswith(b"\r\n")
    if not is_line or len(cells) != columns or not (cells[0].isdecimal() and cells[1].isdecimal()):
        return None
    number, tick = int(cells[0]), int(cells[1])
    return number if number * ticks_per_round == tick else None

"""The file with a row for each round. Checkpoints have the numbers in it, so a resume writes it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from actors.core.errors import JournalError
from actors.core.files import read_regular
from actors.core.state import RoundsTable
from actors.store.disk import Disk
from prism.show import Show

ROUNDS = "rounds.csv"
ROUNDS_BYTES_MAX = 1 << 32  # the most bytes of a file of rounds that is read: more than the longest run writes

ENGINE_COLUMNS: Final = frozenset(
    {"round", "tick", "activations", "transitions", "questions", "rule", "oracle", "llm", "fallback", "timeout"}
)
"""The columns that every domain has; the others are the world's."""


def read_rounds(directory: Path) -> RoundsTable:
    """Return the rounds of a run as columns; none if there is no file. If it is not PRISM's, it is a JournalError."""
    path = directory / ROUNDS
    try:
        header, *rows = read_regular(path, ROUNDS_BYTES_MAX).splitlines() or [b""]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise JournalError(f"{path}: cannot be read as rounds: {error}") from None
    return columns_of(directory, header, rows)


def columns_of(directory: Path, header: bytes, rows: Sequence[bytes]) -> RoundsTable:
    """Return rows as columns: an int where a cell has no point. It raises a JournalError if a cell is no number."""
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


def rows_of(rounds: RoundsTable) -> Iterator[str]:
    """Yield the lines of a file: the names of the columns, and a row for each round."""
    yield ",".join(rounds)
    for row in zip(*rounds.values(), strict=True):
        yield ",".join(map(str, row))


def content_of(rounds: RoundsTable) -> bytes:
    return "".join(f"{row}\n" for row in rows_of(rounds)).encode() if rounds else b""


class Rows(NamedTuple):
    """The rows at the start of a file, up to the first that is not the next round's.

    After a power cut, anything may follow the last row that a checkpoint synced, even a copy of an earlier row. So the
    first row that is not the next round's ends them.
    """

    header: bytes = b""
    rows: tuple[bytes, ...] = ()
    has_more: bool = False  # whether other content follows them


def rows_in(content: bytes, ticks_per_round: int) -> Rows:
    header, *lines = content.splitlines(keepends=True) or [b""]
    if not header.startswith(b"round,tick,") or header.endswith(b"\r\n"):
        return Rows(has_more=bool(content))
    rows: list[bytes] = []
    for number, line in enumerate(lines, 1):
        is_next = line.startswith(b"%d,%d," % (number, number * ticks_per_round))
        if not is_next or not line.endswith(b"\n") or line.endswith(b"\r\n") or line.count(b",") != header.count(b","):
            break
        rows.append(line)
    return Rows(header, tuple(rows), has_more=len(rows) < len(lines))


def read_content(disk: Disk) -> bytes:
    """Return the file of a run; empty if there is none."""
    return disk.read(ROUNDS, 0, disk.size(ROUNDS)) if ROUNDS in disk.names() else b""

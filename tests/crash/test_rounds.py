"""Of the rows of rounds.csv those stay that a checkpoint made sure of; whatever is behind them may be anything."""

from __future__ import annotations

from actors.runs.rounds_csv import cut_series
from actors.store.rounds import ROUNDS
from tests.catalogue import catalogue
from tests.crash.disk import SimulatedDisk

HEADER = b"round,tick,posts\n"
ROWS = (b"1,6,10\n", b"2,12,20\n", b"3,18,30\n")


def left(content: bytes, tick: int) -> bytes | None:
    """What is left of the file; None if it is gone."""
    disk = SimulatedDisk()
    disk.append(ROUNDS, content)
    rows = cut_series(disk, tick, ticks_per_round=6)
    assert bool(rows) == (ROUNDS in disk.names())
    assert not rows or rows == disk.visible(ROUNDS)
    return rows or None


@catalogue(("tick", "rows"), [(6, 1), (11, 1), (12, 2), (18, 3), (100, 3)])
def test_rows_of_later_ticks_are_left_out(tick: int, rows: int) -> None:
    assert left(HEADER + b"".join(ROWS), tick) == HEADER + b"".join(ROWS[:rows])


def test_a_file_without_a_row_begins_anew() -> None:
    assert left(HEADER + ROWS[0], 5) is None
    assert left(HEADER, 100) is None
    assert left(b"", 100) is None
    assert not cut_series(SimulatedDisk(), 100, ticks_per_round=6)


@catalogue(
    "torn",
    [b"3,18,3", b"3,18", b"3,", b"\0\0\0\0\0\0\0", b"3,\xb18,30\n", b"1,6,30\n", b"3,12,30\n", b"4,24,40\n", b"\n"],
)
def test_nothing_behind_the_first_row_that_is_not_the_next_one_is_kept(torn: bytes) -> None:
    sure = HEADER + b"".join(ROWS[:2])
    assert left(sure + torn, 100) == sure
    assert left(sure + torn + ROWS[2], 100) == sure


def test_the_rows_of_a_fork_begin_with_its_first_whole_round() -> None:
    assert left(HEADER + b"".join(ROWS[1:]), 18) == HEADER + b"".join(ROWS[1:])

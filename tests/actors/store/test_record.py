"""The record of a run in columns: the same from any tick to any other, sealed or not, as it grows and when damaged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
import pytest

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import ORIGIN, encode_frame, link_of
from actors.store import record as module
from actors.store.journal import JOURNAL, create_journal, read_tail, read_ticks
from actors.store.record import Block, Record
from actors.store.segments import check_segment, start_of
from prism.rows import Heap, Tick, TickRows, Values, read_rows
from prism.tables import Shape
from tests.actors.store.files import KINDS, SEGMENT, TABLES, empty_run, frames, header, write
from tests.crash.disk import SimulatedDisk

COUNT = 42


def sealed_run() -> SimulatedDisk:
    disk = empty_run()
    for tick in frames(COUNT):
        write(disk, [tick], SEGMENT)
    return disk


def plain(values: Values) -> list[Any]:
    return values.values() if isinstance(values, Heap) else values.tolist()


def rows_of(ticks: Iterable[Tick]) -> list[Any]:
    """Ticks as what can be compared. Waves without rows at the end of a table are no rows."""
    return [
        (each.tick, {name: (part.waves, *map(plain, part.columns)) for name, part in each.tables.items()})
        for each in ticks
    ]


def whole() -> list[Any]:
    """The rows of each tick, by the payloads of a journal without segments."""
    disk = empty_run()
    for tick in frames(COUNT):
        disk.append(JOURNAL, tick.frame)
    return rows_of(read_rows(frame.payload, TABLES) for frame in read_ticks(disk))  # type: ignore[union-attr]


def test_ticks_are_the_same_from_any_one_to_any_other_sealed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    disk, expected = sealed_run(), whole()
    known = Record(disk)
    assert rows_of(known.ticks()) == expected
    assert [*map(tuple, known.kinds)] == [*KINDS]
    for size, ticks in ((module.BLOCK_BYTES, module.BLOCK_TICKS), (200, 3)):
        monkeypatch.setattr(module, "BLOCK_BYTES", size)
        monkeypatch.setattr(module, "BLOCK_TICKS", ticks)
        for first in range(0, COUNT + 1, 5):
            for until in (first, first + 1, first + 13, COUNT, COUNT + 3, None):
                for record in (known, Record(disk)):
                    assert rows_of(record.ticks(first, until)) == expected[first:until], (first, until)
                    assert [*map(tuple, record.kinds)] in ([], [*KINDS[:3]], [*KINDS])


def test_a_table_comes_as_a_whole_and_only_the_columns_that_are_asked_for() -> None:
    record = Record(sealed_run())
    updates = record.table("updates")
    assert plain(updates["tick"]) == [tick for tick in range(COUNT) for _ in range(2)]
    assert plain(updates["agent"]) == [0, 1] * COUNT
    assert plain(updates["kind"])[38:42] == [0, 1, 3, 1]
    assert {*record.table("updates", 3, 5, ["kind"])} == {"tick", "kind"}
    assert {name: len(values) for name, values in record.table("scores").items()} == dict.fromkeys(
        ("tick", "agent", "post", "kind", "score"), 0
    )
    blocks = [*record.blocks(wanted={"questions": (), "likes": ("post",)})]
    assert len(blocks) > 3
    assert {*map(len, (block.tables for block in blocks))} == {1}  # there is no table of likes
    assert sum(int(block.tables["questions"].rows.sum()) for block in blocks) == COUNT
    assert not any(block.tables["questions"].columns for block in blocks)


def test_the_rows_of_an_agent_are_those_of_all_that_name_it() -> None:
    record, expected = Record(sealed_run()), whole()
    asked = rows_of(record.agent(2, 10, 30))
    assert asked == [(tick, {"questions": tables["questions"]}) for tick, tables in expected[10:30]]
    assert rows_of(record.agent(1)) == [(tick, {"updates": ((1,), [1], [1])}) for tick in range(COUNT)]
    assert rows_of(record.agent(7)) == []


def test_a_record_is_read_on_as_it_grows_and_as_ticks_are_sealed() -> None:
    disk, expected, found = empty_run(), whole(), list[Any]()
    record, places = Record(disk), list[Any]()
    for number, tick in enumerate(frames(COUNT)):
        write(disk, [tick], SEGMENT if number % 5 == 0 else 10**6)
        if number % 3 == 0:
            for block in record.blocks(len(found)):
                found += rows_of(block.each_tick())
                places.append(block.end)
    assert found == expected[: len(found)]
    assert len(found) > COUNT - 3
    assert read_tail(disk).sealed.tick > COUNT / 2
    assert [place.tick for place in places] == sorted({place.tick for place in places})
    links = {frame.end: frame.link for frame in read_ticks(disk)}  # type: ignore[union-attr]
    assert all(links[place.offset] == place.link for place in places)


def last_block(disk: SimulatedDisk, first: int = 0) -> Block:
    return [*Record(disk).blocks(first)][-1]


def test_reading_ends_at_damage_and_says_where() -> None:
    disk, ticks = sealed_run(), whole()
    assert last_block(disk).damage is None
    # A tick that was not written to its end.
    torn = SimulatedDisk({**disk.files, JOURNAL: disk.files[JOURNAL][:-9]})
    assert rows_of(Record(torn).ticks()) == ticks[:-1]
    damage = last_block(torn).damage
    assert damage is not None
    assert damage.is_end
    # A segment that is missing, has changed, or is another one.
    names = [name for name in disk.names() if start_of(name) >= 0]
    name = names[2]
    for content, problem in ((None, "is missing"), (b"nothing", name), (disk.files[names[1]], name)):
        files = {key: value for key, value in disk.files.items() if key != name}
        harmed = SimulatedDisk(files if content is None else {**files, name: content})
        damage = last_block(harmed).damage
        assert damage is not None
        assert not damage.is_end
        assert problem in damage.problem
        assert damage.offset == start_of(name)
        read = rows_of(Record(harmed).ticks())
        assert read == ticks[: len(read)]
        assert len(read) == check_segment(disk, name).tick


def run_with(rows: TickRows, known: int = 0) -> SimulatedDisk:
    disk, payload = empty_run(), rows.take(0, known)
    disk.append(JOURNAL, encode_frame(link_of(ORIGIN, payload), payload))
    return disk


def test_rows_that_name_what_there_is_not_are_damage_of_their_tick_and_table() -> None:
    for agent, kind, problem in ((3, 0, "agent 3 of 3"), (0, 1, "kind 1 of 1")):
        rows = TickRows(TABLES)
        rows.add("kinds", *(Heap.of([text.encode()]) for text in KINDS[0]))
        rows.add("updates", np.array([agent], "<u4"), np.array([kind], "<u4"))
        with pytest.raises(DamagedError, match=f"tick 0 names {problem} in updates"):
            [*Record(run_with(rows)).blocks()]
    with pytest.raises(JournalError, match=r"^journal\.prism: tick 0 cannot be read: it ends within updates\.kind"):
        [*Record(cut_run()).blocks()]
    rows.add("kinds", *(Heap.of([text.encode()]) for text in KINDS[0]))
    with pytest.raises(JournalError, match="tick 0 cannot be read: it names 5 kinds before it, and there are 0"):
        [*Record(run_with(rows, known=5)).blocks()]


def cut_run() -> SimulatedDisk:
    """A run whose only tick lacks its last byte, with a hash that says it is whole."""
    rows, disk = TickRows(TABLES), empty_run()
    rows.add("updates", np.array([0], "<u4"), np.array([0], "<u4"))
    payload = rows.take(0, 0)[:-1]
    disk.append(JOURNAL, encode_frame(link_of(ORIGIN, payload), payload))
    return disk


def test_a_table_of_ones_own_by_a_name_of_prisms_is_refused() -> None:
    disk = SimulatedDisk()
    shapes = (*TABLES, Shape("posts", (("agent", "<u4"), ("what", "heap"))))
    create_journal(disk, msgspec.structs.replace(header(), tables=shapes))
    with pytest.raises(JournalError, match="its table posts has other columns than that of PRISM"):
        Record(disk)

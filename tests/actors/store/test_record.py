"""The record of a run: what its files say, and its course."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import ORIGIN, encode_frame, link_of
from actors.store import record as module
from actors.store.course import Step, read_course
from actors.store.journal import JOURNAL, create_journal, read_tail, read_ticks
from actors.store.record import Block, Record
from actors.store.run import Recorded
from actors.store.segments import check_segment, start_of
from prism.agents import DECIDED, MOVED, Update
from prism.events import PostEvent
from prism.rows import Heap, Tick, TickRows, Values, read_rows
from prism.tables import Shape
from tests.actors.store.files import KINDS, SEGMENT, TABLES, empty_run, frames, header, sealed_run, write
from tests.crash.disk import SimulatedDisk
from tests.recorded import ticks_of

COUNT = 42


def plain(values: Values) -> list[Any]:
    return values.values() if isinstance(values, Heap) else values.tolist()


def rows_of(ticks: Iterable[Tick]) -> list[Any]:
    """Ticks as what can be compared. Waves without rows at the end of a table are no rows."""
    return [
        (each.tick, {name: (part.waves, *map(plain, part.columns)) for name, part in each.tables.items()})
        for each in ticks
    ]


def read(record: Record, first: int = 0, until: int | None = None) -> list[Any]:
    return rows_of(tick for block in record.blocks(first, until) for tick in block.each_tick())


def whole() -> list[Any]:
    """The rows of each tick, by the payloads of a journal without segments."""
    disk = empty_run()
    for tick in frames(COUNT):
        disk.append(JOURNAL, tick.frame)
    return rows_of(read_rows(frame.payload, TABLES) for frame in read_ticks(disk))  # type: ignore[union-attr]


def test_ticks_are_the_same_from_any_one_to_any_other_sealed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    disk, expected = sealed_run(), whole()
    known = Record(disk)
    assert read(known) == expected
    assert [*map(tuple, known.kinds)] == [*KINDS]
    for size, ticks in ((module.BLOCK_BYTES, module.BLOCK_TICKS), (200, 3)):
        monkeypatch.setattr(module, "BLOCK_BYTES", size)
        monkeypatch.setattr(module, "BLOCK_TICKS", ticks)
        for first in range(0, COUNT + 1, 5):
            for until in (first, first + 1, first + 13, COUNT, COUNT + 3, None):
                for record in (known, Record(disk)):
                    assert read(record, first, until) == expected[first:until], (first, until)
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
    assert read(Record(torn)) == ticks[:-1]
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
        found = read(Record(harmed))
        assert found == ticks[: len(found)]
        assert len(found) == check_segment(disk, name).tick


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


def test_what_is_counted_in_columns_is_what_messages_say_one_by_one(changed_run: Path, few_run: Path) -> None:
    for run in (changed_run, few_run):
        course, ticks = read_course(run), [*ticks_of(run)]
        updates = [each for messages in ticks for each in messages if isinstance(each, Update) and each.source in MOVED]
        steps = (Step(each.from_state, each.trigger, each.to_state, each.source in DECIDED) for each in updates)
        assert course.steps == Counter(steps)
        states, entered = [updates[0].from_state] * course.header.agents, [0] * course.header.agents
        stays, spent = dict[str, list[int]](), Counter[str]()
        for each in updates:
            assert states[each.agent] == each.from_state
            stays.setdefault(each.from_state, []).append(each.tick - entered[each.agent])
            states[each.agent], entered[each.agent] = each.to_state, each.tick
        for state, since in zip(states, entered, strict=True):
            spent[state] += len(ticks) - since
        assert {state: n for state, n in course.inside.items() if n} == Counter(states)
        assert course.activity.dwell_ticks == {state: sum(each) / len(each) for state, each in stays.items()}
        for state, share in course.activity.shares.items():
            assert round(share * course.header.agents * len(ticks)) == spent[state] + sum(stays.get(state, ()))
        # Posts, likes and cascades.
        events = [each for messages in ticks for each in messages if isinstance(each, PostEvent)]
        made = [each for each in events if each.kind != "like"]
        posts = course.posts.at(slice(None))
        assert [(each.post, each.tick, each.author, each.kind, each.parent) for each in posts] == [
            (each.post, each.tick, each.agent, each.kind, each.parent) for each in made
        ]
        assert course.likes == Counter(each.post for each in events if each.kind == "like")
        assert course.activity_ticks.tolist() == [each.tick for each in events]
        roots = dict[int, int]()
        for event in made:
            roots[event.post] = event.post if event.parent is None else roots[event.parent]
        assert [roots[each.post] for each in made] == course.posts.ids[course.posts.roots].tolist()
        for original, size in course.posts.largest(3):
            tree = course.posts.tree(original.post)
            assert [each.post for each in tree] == [post for post, root in roots.items() if root == original.post]
            assert len(tree) == size > 1


def test_points_in_time_are_means_that_sum_to_all_agents(embedded: Path) -> None:
    course = read_course(embedded, each_ticks=5)
    assert len(course.people) == -(-course.ticks // 5)
    assert {round(sum(point.values()), 9) for point in course.people[1:]} == {course.header.agents}
    assert read_course(embedded).people == []


def test_rounds_end_among_the_ticks_that_are_asked_for(embedded: Path) -> None:
    read = Recorded(embedded)
    each = read.config.simulation.ticks_per_round
    assert read.rounds["tick"][-1] == read.summary_fields["ticks"]
    assert read.rounds_until(2 * each - 1)["round"] == [1]
    assert {*map(len, read.rounds_until(each - 1).values())} == {0}

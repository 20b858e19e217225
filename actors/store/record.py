"""The record of a run as columns: its tables, in blocks of some ticks, tick by tick, or as a whole.

A reader names the columns that it needs, and no other is read. No object is made for a row. Memory is bounded: a block
is a sealed segment or a part of it, or some megabytes of the ticks that are not sealed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, takewhile
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import DECODE_ERRORS, ORIGIN, Damage
from actors.store.disk import Disk, RealDisk
from actors.store.journal import JOURNAL, TickFrame, read_tail, read_ticks
from actors.store.segments import Place, TableRows, no_values, segment_columns, segments_from
from prism.agents.waves import Kind
from prism.columns import Ints
from prism.events import KINDS, MADE, OF_EVERY_RUN, OF_FEEDS, ON_TIES
from prism.rows import Part, Tick, Values, joined, part_of, read_rows, rows_of_texts, values_at
from prism.tables import Shape

BLOCK_BYTES: Final = 4 << 20  # bytes of unsealed ticks in a block; a larger tick is a block of its own
BLOCK_TICKS: Final = 4096  # the most ticks of a block: readers count something for each
AGENT: Final = "agent"
_PLACE_BYTES: Final = 1 << 20  # the least bytes between two places that are kept

_KNOWN: Final = {table.name: table.shape.columns for table in (*OF_EVERY_RUN, *OF_FEEDS)}
"""The columns of PRISM's own tables. That of questions has more of them, by the domain."""

Wanted = Mapping[str, Collection[str]]
"""`{table: its columns}` that a reader needs. A table without columns still has the rows of each tick."""


_tick = attrgetter("tick")


class Block(NamedTuple):
    """Some consecutive ticks of a run."""

    first: int  # the first tick
    ticks: int  # their number
    tables: dict[str, TableRows]  # `{table: its rows}` of the wanted tables that the run has
    end: Place | None = None  # the place after the last tick; None if that lies within a segment
    damage: Damage | None = None  # what follows instead of a whole tick; None if a tick follows, or the journal ends

    def each_tick(self) -> Iterator[Tick]:
        """Yield the rows of each tick. The kinds known before it are not worked out."""
        bounds = np.arange(self.first, self.first + self.ticks + 1)
        cuts = dict[str, tuple[list[int], list[int]]]()
        for name, table in self.tables.items():
            if len(table.rows):
                starts = np.searchsorted(table.ticks, bounds)
                cuts[name] = starts.tolist(), np.append(0, np.cumsum(table.rows))[starts].tolist()
        for place in range(self.ticks):
            found = dict[str, Part]()
            for name, (waves, rows) in cuts.items():
                if rows[place] < rows[place + 1]:
                    table, of_tick = self.tables[name], slice(waves[place], waves[place + 1])
                    counts = [0] * (int(table.waves[of_tick][-1]) + 1)
                    for wave, number in zip(table.waves[of_tick].tolist(), table.rows[of_tick].tolist(), strict=True):
                        counts[wave] = number
                    columns = (part_of(each, rows[place], rows[place + 1]) for each in table.columns.values())
                    found[name] = Part(tuple(counts), tuple(columns))
            yield Tick(self.first + place, 0, found)

    def part(self, first: int, until: int) -> Block:
        if first <= self.first and self.first + self.ticks <= until:
            return self
        tables = dict[str, TableRows]()
        for name, table in self.tables.items():
            start, stop = np.searchsorted(table.ticks, (first, until)).tolist()
            row, end = int(table.rows[:start].sum()), int(table.rows[:stop].sum())
            columns = {column: part_of(values, row, end) for column, values in table.columns.items()}
            tables[name] = TableRows(table.ticks[start:stop], table.waves[start:stop], table.rows[start:stop], columns)
        begins, ends = max(first, self.first), min(until, self.first + self.ticks)
        after = (self.end, self.damage) if ends == self.first + self.ticks else ()
        return Block(begins, ends - begins, tables, *after)

    def keys(self, table: str, agents: int) -> Ints:
        """Return a number for each row of a table, which ascends by tick, wave and agent, alike for all tables."""
        rows, waves = self.tables[table], 1 + max(int(each.waves.max(initial=0)) for each in self.tables.values())
        of_wave = (rows.ticks - self.first) * waves + rows.waves
        found: Ints = np.repeat(of_wave * agents, rows.rows) + rows.columns[AGENT]
        return found


def tick_of_rows(table: TableRows) -> Ints:
    return np.repeat(table.ticks, table.rows)


def selected(table: TableRows, is_kept: Any) -> TableRows:
    """Return the rows for which a column of truth values is true."""
    places = np.flatnonzero(is_kept)
    of_wave = np.repeat(np.arange(len(table.rows)), table.rows)[places]
    rows = np.bincount(of_wave, minlength=len(table.rows))
    columns = {name: values_at(values, places) for name, values in table.columns.items()}
    left = rows > 0
    return TableRows(table.ticks[left], table.waves[left], rows[left], columns)


class Record:
    """The record of one run, which may be under way. Nothing is written, and no lock is taken.

    Several threads may read at once. Without a journal, or with another format, it is a JournalError; a header that
    cannot be read is a DamagedError.
    """

    def __init__(self, disk: Path | Disk) -> None:
        self.disk: Disk = RealDisk(disk) if isinstance(disk, Path) else disk
        tail = read_tail(self.disk)
        self.header = tail.header
        self.shapes: tuple[Shape, ...] = tail.header.tables
        for name, columns in self.shapes:
            if columns[: len(known := _KNOWN.get(name, ()))] != known:
                raise JournalError(f"{JOURNAL}: its table {name} has other columns than that of PRISM")
        self.kinds: list[Kind] = []  # the kinds of updates and questions by their numbers, of the ticks that were read
        self._columns = {shape.name: tuple(name for name, _ in shape.columns) for shape in self.shapes}
        self._places, self._lock = [Place(0, tail.sealed.first, ORIGIN)], Lock()

    def all_of(self, *tables: str) -> Wanted:
        """Return all columns of those of some tables that the run has; of all its tables by default."""
        return {name: self._columns[name] for name in tables or self._columns if name in self._columns}

    def blocks(self, first: int = 0, until: int | None = None, wanted: Wanted | None = None) -> Iterator[Block]:
        """Yield the ticks from one to before another in blocks, up to any damage, of which the last block tells.

        A row that names an agent or a kind that there is not is a DamagedError. `wanted`: the columns that are read,
        None for all; tables that the run does not have are left out.
        """
        named = self.all_of() if wanted is None else {name: wanted[name] for name in wanted if name in self._columns}
        for block in self._blocks(max(first, 0), until, named):
            self._check(block.tables)
            ends = block.first + block.ticks if until is None else min(until, block.first + block.ticks)
            whole = block.part(first, ends)
            for start in range(whole.first, max(ends, whole.first + 1), BLOCK_TICKS):
                yield whole.part(start, start + BLOCK_TICKS)

    def table(
        self, name: str, first: int = 0, until: int | None = None, columns: Collection[str] | None = None
    ) -> dict[str, Values]:
        """Return `{column: values}` of all rows of a table in some ticks, with the `tick` of each."""
        wanted = {name: self._columns[name] if columns is None else columns}
        found = [block.tables[name] for block in self.blocks(first, until, wanted)]
        parts = [each.columns for each in found if len(each.rows)] or [self.together((), wanted)[name].columns]
        ticks = np.concatenate([np.empty(0, np.int64), *map(tick_of_rows, found)])
        return {"tick": ticks, **{column: joined([part[column] for part in parts]) for column in parts[0]}}

    def place_before(self, tick: int) -> Place:
        """Return the last place that is known and not after a tick."""
        return self._places[bisect_right(self._places, tick, key=_tick) - 1]

    def tick_before(self, tick: int, bytes_max: int) -> int:
        """Return the first tick of a stretch of ticks that were read, which ends with one and has so many bytes."""
        end = self.place_before(tick).offset
        return next(place.tick for place in self._places if end - place.offset <= bytes_max)

    def _blocks(self, first: int, until: int | None, wanted: Wanted) -> Iterator[Block]:
        """Yield the blocks that have ticks from `first` to before `until`, and perhaps ticks around these."""
        place, sealed = self.place_before(first), read_tail(self.disk).sealed
        for found in segments_from(
            self.disk, place, sealed, lambda name: segment_columns(self.disk, name, wanted, first)
        ):
            if isinstance(found, Damage):  # after no further tick
                yield Block(place.tick, 0, self.together((), wanted), place, found)
                return
            segment, tables = found
            self._know(0, segment.kinds)
            self._keep(place := segment.next)
            if place.tick > first:
                yield Block(segment.tick, segment.ticks, tables, place)
            if until is not None and place.tick >= until:
                return
        self._know(0, sealed.kinds)
        yield from self._unsealed(place, first, until, wanted)

    def _unsealed(self, place: Place, first: int, until: int | None, wanted: Wanted) -> Iterator[Block]:
        frames, found, size = read_ticks(self.disk, place), list[Tick](), 0
        for frame in frames if until is None else islice(frames, max(0, until - place.tick)):
            if isinstance(frame, Damage):
                start = found[0].tick if found else place.tick
                self._keep(place)
                yield Block(start, len(found), self.together(found, wanted), place, frame)
                return
            rows, place = self._rows_of(frame), Place(frame.tick + 1, frame.end, frame.link)
            if frame.tick < first:
                continue
            found.append(rows)
            size += frame.end - frame.start
            if size >= BLOCK_BYTES:
                self._keep(place)
                yield Block(found[0].tick, len(found), self.together(found, wanted), place)
                found, size = [], 0
        if found:
            self._keep(place)
            yield Block(found[0].tick, len(found), self.together(found, wanted), place)

    def _rows_of(self, frame: TickFrame) -> Tick:
        """Return the rows of a tick, and note the kinds that are new in it."""
        try:
            rows = read_rows(frame.payload, self.shapes)
            if (new := rows.tables.get(KINDS.name)) is not None:
                if rows.known > len(self.kinds):
                    raise ValueError(f"it names {rows.known} kinds before it, and there are {len(self.kinds)}")
                self._know(rows.known, rows_of_texts(new.columns))
        except ValueError as error:
            raise JournalError(f"{JOURNAL}: tick {frame.tick} cannot be read: {error}") from None
        return rows

    def together(self, ticks: Sequence[Tick], wanted: Wanted) -> dict[str, TableRows]:
        """Return the rows of ticks, each of which has all columns, as those of a block."""
        found = dict[str, TableRows]()
        for name, columns in [each for each in self.shapes if each[0] in wanted]:
            parts = [(tick.tick, tick.tables[name]) for tick in ticks if name in tick.tables]
            waves = [(tick, wave, rows) for tick, part in parts for wave, rows in enumerate(part.waves) if rows]
            values = {
                column: joined([part.columns[number] for _, part in parts]) if parts else no_values(dtype)
                for number, (column, dtype) in enumerate(columns)
                if column in wanted[name]
            }
            found[name] = TableRows.of(waves, values)
        return found

    def _check(self, tables: Mapping[str, TableRows]) -> None:
        """Check that rows of PRISM's own tables name agents, kinds and acts that there are."""
        agents, kinds = self.header.agents, len(self.kinds)
        limits = {("updates", "kind"): kinds, ("questions", "kind"): kinds}
        limits |= {("posts", "what"): len(MADE), ("ties", "what"): len(ON_TIES)}
        limits |= {(name, AGENT): agents for name in _KNOWN}
        for (name, column), limit in limits.items():
            values = np.asarray(tables[name].columns.get(column, ()) if name in tables else ())
            if len(values) and (largest := int(values.max())) >= limit:
                tick = int(tick_of_rows(tables[name])[int(values.argmax())])
                problem = f"tick {tick} names {column} {largest} of {limit} in {name}"
                raise DamagedError(JOURNAL, self.place_before(tick).offset, problem)

    def _know(self, start: int, kinds: Sequence[Sequence[str]]) -> None:
        if start + len(kinds) > len(self.kinds):
            self.kinds[start:] = [Kind(*each) for each in kinds]

    def _keep(self, place: Place) -> None:
        """Keep a place after those that are kept, instead of the last one if that is shortly after another."""
        with self._lock:
            before = self._places
            if place.tick > before[-1].tick:
                if len(before) > 1 and before[-1].offset - before[-2].offset < _PLACE_BYTES:
                    before[-1] = place
                else:
                    before.append(place)


@contextmanager
def readable(block: Block) -> Iterator[None]:
    """Turn an error in the values of a block, such as bytes that are no text, into a JournalError."""
    try:
        yield
    except DECODE_ERRORS as error:
        ticks = f"the ticks from {block.first} to {block.first + block.ticks - 1}"
        raise JournalError(f"{JOURNAL}: {ticks} cannot be read: {error}") from None


def whole_ticks(path: Path) -> Iterator[TickFrame]:
    """Yield the frames of a run's ticks from the first on, up to any damage."""
    return takewhile(lambda frame: isinstance(frame, TickFrame), read_ticks(RealDisk(path)))  # type: ignore[arg-type]

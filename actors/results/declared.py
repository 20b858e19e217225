"""The tables that the world of a domain declares: their rows as the journal has them, each with its tick and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from actors.factory.domains import look_at_domain
from actors.results.part import Part
from actors.results.schema import tables_of
from actors.results.table_files import Rows
from actors.store.record import Block, tick_of_rows
from actors.store.run import Recorded
from prism.cells import Cells, Filled
from prism.errors import PrismError
from prism.events import OF_EVERY_RUN, OF_FEEDS
from prism.rows import Heap, Values, unpacked
from prism.tables import (
    AT,
    HEAP,
    INTEGER,
    JSON,
    NUMBER,
    PACKED,
    PACKED_HEAP,
    RUN,
    TEXT,
    TICK,
    Column,
    Kind,
    Table,
    column,
)

_COVERED: Final = frozenset(table.name for table in (*OF_EVERY_RUN, *OF_FEEDS))
"""The tables of journals whose rows stand in tables with other columns."""
_KINDS: Final = {HEAP: TEXT, PACKED_HEAP: PACKED, "<f4": NUMBER, "<f8": NUMBER}


def tables_of_runs(runs: Sequence[Recorded]) -> dict[str, Table]:
    """Return all tables that some runs may have, by name: those of `tables_of`, then those that worlds declare."""
    declared = {name: as_exported(table) for run in runs for name, table in declared_tables(run).items()}
    return {**tables_of(run.show for run in runs), **declared}


def declared_tables(run: Recorded) -> dict[str, Table]:
    """Return the tables that the world of a run's domain declares, but for those that exports have in another form.

    Their columns are as the domain declares them now; if they cannot be had, or are not those of the journal, they have
    the names and types of the journal alone.
    """
    taken = tables_of([run.show]).keys() | _COVERED
    if not (shapes := [shape for shape in run.record.shapes if shape.name not in taken]):
        return {}
    try:
        declared = {table.name: table for table in look_at_domain(run.config).domain.world.tables}
    except PrismError:  # code that this user has not allowed, or an input file that is gone
        declared = {}
    found = dict[str, Table]()
    for shape in shapes:
        table = declared.get(shape.name)
        if table is None or table.shape != shape:
            columns = tuple(column(name, _KINDS.get(kind, INTEGER), "", dtype=kind) for name, kind in shape.columns)
            table = Table(name=shape.name, about="a row of the domain's own", columns=columns)
        found[shape.name] = table
    return found


def as_exported(table: Table) -> Table:
    """Return a table as exports have it: after the run, the tick and its time, and with JSON in place of msgpack."""
    others = (each for each in table.columns if each.name not in {"run", "tick", "time"})
    columns = (replace(each, kind=JSON) if each.kind is PACKED else each for each in others)
    return replace(table, columns=(RUN, TICK, AT, *columns))


class DeclaredTables(Part):
    """The rows of these tables. `rows`: those of each table that is wanted."""

    def __init__(self, run: Recorded, rows: Mapping[str, Rows]) -> None:
        super().__init__(run)
        self._rows = rows
        self._tables = [table for name, table in declared_tables(run).items() if name in rows]
        self.wanted = run.record.all_of(*(table.name for table in self._tables)) if self._tables else {}

    def take(self, block: Block) -> None:
        for table in self._tables:
            rows, into = block.tables[table.name], self._rows[table.name]
            declared = {each.name: each for each in table.columns}
            columns = (_filled(declared[each.name], rows.columns[each.name]) for each in into.table.columns[3:])
            self.add(into, tick_of_rows(rows), *columns)


def _filled(of: Column, values: Values) -> Filled:
    if isinstance(values, Heap):
        packed = of.kind is PACKED
        return [msgspec.json.encode(each).decode() for each in unpacked(values)] if packed else values.texts()
    if of.names:
        return Cells(values, of.names)
    return Cells(values.astype(bool) if of.kind is Kind.BOOLEAN else values)

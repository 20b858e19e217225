"""A part of an export: some tables of one run, whose rows are made while its journal is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.results.table_files import Rows
from actors.store.record import Block, Wanted
from actors.store.run import Recorded
from prism.agents.waves import Kind
from prism.cells import Cells, Filled
from prism.columns import Ints


class Part:
    """Some tables of one run. Its journal is read twice: once before any row is written, and once for the rows.

    Attributes:
        before: the columns that it looks at in the first reading; none, if its rows need nothing of later ticks.
        wanted: the columns that it takes in the second reading.
    """

    def __init__(self, run: Recorded) -> None:
        self.run = run
        self.before: Wanted = {}
        self.wanted: Wanted = {}

    def look(self, block: Block) -> None:
        """Note what rows need of a block that is read for the first time."""

    def ready(self) -> None:
        """End the first reading."""

    def take(self, block: Block) -> None:
        """Add the rows of a block."""

    def finish(self) -> None:
        """Add the rows that are left after the last block."""

    def add(self, rows: Rows, ticks: Ints, *columns: Filled | NDArray[Any]) -> None:
        """Add rows, which begin with the run, the tick and its time."""
        rows.extend(Cells.same(self.run.name, len(ticks)), ticks, self.run.times(ticks), *columns)


def used_kinds(kinds: Sequence[Kind], codes: Ints) -> tuple[list[Kind], Ints]:
    """Return the kinds of some rows, and the place of each row's among them. `codes`: the number of each row's kind."""
    used = np.flatnonzero(np.bincount(codes))
    places = np.zeros(len(kinds), np.int64)
    places[used] = np.arange(len(used))
    return [kinds[number] for number in used.tolist()], places[codes]

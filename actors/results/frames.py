"""Tables of a run as data frames of pandas or polars, with names in place of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from actors.core.errors import RunDirectoryError
from actors.core.files import json_value
from actors.results.declared import tables_of_runs
from actors.results.export import chosen_tables, write_tables
from actors.results.table_files import Batch
from actors.store.run import Recorded
from prism.cells import Cells, Filled, cells_of, together
from prism.columns import places_among
from prism.social.posts.post import NUMBER_BITS, author_of
from prism.tables import Kind, Table

LIBRARIES: Final = ("pandas", "polars")
"""The libraries whose data frames a table may be, the first one that is installed unless another is named."""
AGENT_KEY, POST_KEY = "agents.agent", "posts.post"
_PANDAS: Final[Mapping[Kind, str]] = {Kind.INTEGER: "Int64", Kind.NUMBER: "Float64", Kind.BOOLEAN: "boolean"}
"""The types of pandas that hold a missing value without becoming another type."""


Columns = dict[str, tuple[Table, list[Filled]]]
"""`{table: its shape, and the values of each column}`."""


class Labelled(NamedTuple):
    """A column of a data frame."""

    name: str
    kind: Kind
    cells: Cells


class _Memory:
    """The rows of tables in memory, as columns.

    `most`: the number of rows that are kept of each table, the first ones; None for all rows.
    """

    def __init__(self, most: int | None = None) -> None:
        self._parts: dict[str, tuple[Table, list[Batch]]] = {}
        self._most = most

    @property
    def tables(self) -> Columns:
        found = Columns()
        for name, (table, parts) in self._parts.items():
            found[name] = table, [*map(together, zip(*parts, strict=True))] or [[] for _ in table.columns]
        return found

    def begin(self, table: Table) -> None:
        """Create a table without rows."""
        self._parts[table.name] = table, []

    def write(self, table: Table, batch: Batch) -> None:
        """Append rows."""
        parts = self._parts[table.name][1]
        if self._most is not None:
            part = slice(self._most - sum(len(each[0]) for each in parts))
            batch = [each.at(part) if isinstance(each, Cells) else each[part] for each in batch]
        parts.append(batch)

    def close(self, facts: Mapping[str, str]) -> None:
        """Complete nothing: there is no file."""

    def discard(self) -> None:
        """Discard nothing: there is no file."""


def library(wanted: str | None) -> str:
    """Return the library whose data frames are made. `wanted`: its name; None for the first one that is installed."""
    if wanted is not None and wanted not in LIBRARIES:
        raise ValueError(f"expected {' or '.join(LIBRARIES)}, got {wanted!r}")
    found = next((name for name in LIBRARIES if name == (wanted or name) and find_spec(name) is not None), None)
    if found is None:
        either = " or ".join(f"pip install {name}" for name in LIBRARIES)
        raise ImportError(f"a table is a data frame of {wanted or 'pandas or polars'}, not installed here: {either}")
    return found


def table_frame(path: Path, name: str, into: str) -> Any:
    """Return a table of the run in a directory as a data frame.

    Args:
        name: one of the tables that the run may have.
        into: one of `LIBRARIES`.
    """
    run = Recorded(path, path.name)
    tables = tables_of_runs([run])
    (wanted,) = chosen_tables([name], tables)
    table = tables[wanted]
    keys = {column.key for column in table.columns}
    others = [other for other, key in (("agents", AGENT_KEY), ("posts", POST_KEY)) if key in keys]
    needed = {wanted, *others, *(["agents"] if "posts" in others else [])}
    found, _ = read_tables(run, [each for each in tables if each in needed])
    if wanted not in found:
        raise RunDirectoryError(f"{path}: has no table {wanted}: {table.absent or 'it has no rows'}")
    return frame_of(_readable(wanted, found), into)


def read_tables(run: Recorded, names: Sequence[str], most: int | None = None) -> tuple[Columns, dict[str, int]]:
    """Return tables of a run as columns, and `{table: its number of rows}`. A table without rows may be missing.

    `most`: the number of rows that are returned of each table, the first ones; None for all rows.
    """
    memory = _Memory(most)
    rows = write_tables([run], names, memory)
    return memory.tables, rows


def frame_of(columns: Sequence[Labelled], into: str) -> Any:
    """Return columns as a data frame of a library that is installed."""
    made: Any = import_module(into)
    if into == "polars":
        types = {Kind.INTEGER: made.Int64, Kind.NUMBER: made.Float64, Kind.BOOLEAN: made.Boolean}
        types[Kind.TIME] = made.Datetime("us", "UTC")
        series = []
        for name, kind, cells in columns:
            if cells.texts is not None:
                texts = made.Series(name, [*cells.texts, None], dtype=made.String)
                series.append(texts.gather(np.where(cells.values < 0, len(cells.texts), cells.values)))
                continue
            values = made.Series(name, cells.values).cast(types[kind])
            series.append(values if cells.is_there is None else values.set(made.Series(~cells.is_there), None))
        return made.DataFrame(series)
    found = {}
    for name, kind, cells in columns:
        if cells.texts is not None:
            found[name] = made.Series(made.array(cells.texts, dtype="string").take(cells.values, allow_fill=True))
            continue
        values = made.Series(cells.values)
        if cells.is_there is not None:
            values = values.astype(_PANDAS.get(kind, "Int64")).where(cells.is_there)
        found[name] = made.to_datetime(values, unit="us", utc=True) if kind is Kind.TIME else values
    return made.DataFrame(found)


def _readable(name: str, tables: Columns) -> list[Labelled]:
    """Return the columns of a table with names for the numbers of agents and posts; the numbers stand at the end."""
    names = _names(tables)
    table, columns = tables[name]
    has_nation = any(column.name == "nation" for column in table.columns)
    found: list[Labelled] = []
    numbers: list[Labelled] = []
    for column, filled in zip(table.columns, columns, strict=True):
        if column.name == "run":
            continue
        values = cells_of(column.kind, filled)
        number = Labelled(f"{column.name}_id", column.kind, values)
        if column.key == AGENT_KEY:
            numbers.append(number)
            if not has_nation:
                found.append(Labelled(column.name, Kind.TEXT, _in_words(values, partial(_agent_name, names))))
        elif column.key == POST_KEY or (name, column.name) == ("posts", "post"):
            numbers.append(number)
            found.append(Labelled(column.name, Kind.TEXT, _in_words(values, partial(_post_name, names))))
            if column.name == "post" and name != "posts":
                found.append(Labelled("post_text", Kind.TEXT, _texts_of(values, tables)))
        elif (name, column.name) == ("agents", "agent"):
            numbers.append(number)
        elif column.kind is Kind.JSON:
            # Lists of texts are listed, and other JSON stays as it is written.
            texts = Cells.of_texts(map(_listed, values.texts or ())).at(values.values)
            texts.values[values.values < 0] = -1
            found.append(Labelled(column.name, Kind.TEXT, texts))
        else:
            found.append(Labelled(column.name, column.kind, values))
    return [*found, *numbers]


def _in_words(numbers: Cells, in_words: Callable[[int], str]) -> Cells:
    """Return a text in place of each number."""
    used, codes = np.unique(numbers.values, return_inverse=True)
    found = Cells.of_texts(map(in_words, used.tolist())).at(codes)
    if numbers.is_there is not None:
        found.values[~numbers.is_there] = -1
    return found


def _texts_of(posts: Cells, tables: Columns) -> Cells:
    """Return the texts of posts; no text where there is no table of posts."""
    if "posts" not in tables:
        return Cells.same(None, len(posts))
    ids, texts = (_column(tables, "posts", each) for each in ("post", "text"))
    order = np.argsort(ids.values)
    places = places_among(ids.values[order], posts.values)
    found = texts.at(order[places]) if len(order) else Cells.same(None, len(posts))
    found.values[places < 0] = -1
    return found


def _listed(text: str) -> str:
    value: Any = json_value(text)
    is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return ", ".join(value) if is_list else text


def _column(tables: Columns, table: str, column: str) -> Cells:
    shape, columns = tables[table]
    place = [each.name for each in shape.columns].index(column)
    return cells_of(shape.columns[place].kind, columns[place])


def _names(tables: Columns) -> dict[int, str]:
    """Return `{number of an agent: its name}`; a name that several have is followed by the number."""
    if "agents" not in tables:
        return {}
    numbers, names = (_column(tables, "agents", each).listed() for each in ("agent", "name"))
    times = Counter(names)
    pairs = zip(numbers, names, strict=True)
    return {agent: f"{name} ({agent})" if times[name] > 1 else name for agent, name in pairs if name is not None}


def _agent_name(names: Mapping[int, str], agent: int) -> str:
    return names.get(agent, f"agent {agent}")


def _post_name(names: Mapping[int, str], post: int) -> str:
    """Return a post by its author and how many the author had made before: `Ann, post 3`."""
    return f"{_agent_name(names, author_of(post))}, post {(post & ((1 << NUMBER_BITS) - 1)) + 1}"


def rounds_frame(rounds: Mapping[str, Sequence[float]], into: str) -> Any:
    """Return the rounds of a run in memory as a data frame."""
    columns = []
    for name, values in rounds.items():
        kind = Kind.INTEGER if all(isinstance(value, int) for value in values) else Kind.NUMBER
        columns.append(Labelled(name, kind, cells_of(kind, values)))
    return frame_of(columns, into)

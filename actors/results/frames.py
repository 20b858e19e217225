"""Tables of a run as data frames of pandas or polars, with names in place of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from actors.core.errors import RunDirectoryError
from actors.core.files import json_value
from actors.record.run import Recorded
from actors.results.export import chosen_tables, write_tables
from actors.results.schema import tables_of
from prism.social.posts.post import NUMBER_BITS, author_of
from prism.tables import Batch, Column, Kind, Table, Value

LIBRARIES: Final = ("pandas", "polars")
"""The libraries whose data frames a table may be, the first one that is installed unless another is named."""
AGENT_KEY, POST_KEY = "agents.agent", "posts.post"
_PANDAS: Final[Mapping[Kind, str]] = {Kind.INTEGER: "Int64", Kind.NUMBER: "Float64", Kind.BOOLEAN: "boolean"}
"""The types of pandas that hold a missing value without becoming another type."""


Columns = dict[str, tuple[Table, list[list[Value]]]]
"""`{table: its shape, and the values of each column}`."""


class Labelled:
    """A column of a data frame."""

    def __init__(self, name: str, kind: Kind, values: Sequence[Any]) -> None:
        self.name, self.kind, self.values = name, kind, values


class _Memory:
    """The rows of tables in memory, as columns.

    `most`: the number of rows that are kept of each table, the first ones; None for all rows.
    """

    def __init__(self, most: int | None = None) -> None:
        self.tables: Columns = {}
        self._most = most

    def begin(self, table: Table) -> None:
        """Create a table without rows."""
        self.tables[table.name] = table, [[] for _ in table.columns]

    def write(self, table: Table, batch: Batch) -> None:
        """Append rows."""
        for column, values in zip(self.tables[table.name][1], batch, strict=True):
            column.extend(values if self._most is None else values[: self._most - len(column)])

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
    tables = tables_of([run.show])
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
    with TemporaryDirectory(prefix="prism-table-") as draft:
        rows = write_tables([run], names, memory, Path(draft))
    return memory.tables, rows


def frame_of(columns: Sequence[Labelled], into: str) -> Any:
    """Return columns as a data frame of a library that is installed."""
    made: Any = import_module(into)
    if into == "polars":
        types = {Kind.INTEGER: made.Int64, Kind.NUMBER: made.Float64, Kind.BOOLEAN: made.Boolean}
        types[Kind.TIME] = made.Datetime("us", "UTC")
        return made.DataFrame(
            [made.Series(each.name, each.values, dtype=types.get(each.kind, made.String)) for each in columns]
        )
    found = {}
    for column in columns:
        if column.kind is Kind.TIME:
            found[column.name] = made.to_datetime(made.Series(column.values, dtype="Int64"), unit="us", utc=True)
            continue
        kind = _PANDAS.get(column.kind, "string")
        is_whole = kind != "string" and None not in column.values
        found[column.name] = made.Series(
            column.values, dtype=kind.lower().replace("boolean", "bool") if is_whole else kind
        )
    return made.DataFrame(found)


def _readable(name: str, tables: Mapping[str, tuple[Table, list[list[Value]]]]) -> list[Labelled]:
    """Return the columns of a table with names for the numbers of agents and posts; the numbers stand at the end."""
    names = _names(tables)
    is_there = "posts" in tables
    posts = dict(zip(*(_column(tables, "posts", each) for each in ("post", "text")), strict=True)) if is_there else {}
    table, columns = tables[name]
    has_nation = any(column.name == "nation" for column in table.columns)
    found: list[Labelled] = []
    numbers: list[Labelled] = []
    for column, values in zip(table.columns, columns, strict=True):
        if column.name == "run":
            continue
        number = Labelled(f"{column.name}_id", column.kind, values)
        if column.key == AGENT_KEY:
            numbers.append(number)
            if not has_nation:
                found.append(Labelled(column.name, Kind.TEXT, [_looked_up(names, value) for value in values]))
        elif column.key == POST_KEY or (name, column.name) == ("posts", "post"):
            numbers.append(number)
            found.append(Labelled(column.name, Kind.TEXT, [_post_name(names, value) for value in values]))
            if column.name == "post" and name != "posts":
                found.append(Labelled("post_text", Kind.TEXT, [posts.get(value) for value in values]))
        elif (name, column.name) == ("agents", "agent"):
            numbers.append(number)
        else:
            found.append(_plain(column, values))
    return [*found, *numbers]


def _plain(column: Column, values: Sequence[Value]) -> Labelled:
    """Return a column as it is; lists of texts are listed, and other JSON stays as it is written."""
    if column.kind is not Kind.JSON:
        return Labelled(column.name, column.kind, values)
    texts: list[Value] = []
    for value in values:
        listed: Any = None if value is None else json_value(str(value))
        is_list = isinstance(listed, list) and all(isinstance(each, str) for each in listed)
        texts.append(", ".join(listed) if is_list else value)
    return Labelled(column.name, Kind.TEXT, texts)


def _column(tables: Mapping[str, tuple[Table, list[list[Value]]]], table: str, column: str) -> Sequence[Value]:
    shape, columns = tables[table]
    return columns[[each.name for each in shape.columns].index(column)]


def _names(tables: Mapping[str, tuple[Table, list[list[Value]]]]) -> dict[Value, str]:
    """Return `{number of an agent: its name}`; a name that several have is followed by the number."""
    if "agents" not in tables:
        return {}
    pairs = dict(zip(_column(tables, "agents", "agent"), _column(tables, "agents", "name"), strict=True))
    times = Counter(pairs.values())
    return {
        agent: f"{name} ({agent})" if times[name] > 1 else str(name)
        for agent, name in pairs.items()
        if name is not None
    }


def _looked_up(names: Mapping[Value, str], agent: Value) -> str | None:
    return None if agent is None else names.get(agent, f"agent {agent}")


def _post_name(names: Mapping[Value, str], post: Value) -> str | None:
    """Return a post by its author and how many the author had made before: `Ann, post 3`."""
    if not isinstance(post, int):
        return None
    return f"{_looked_up(names, author_of(post))}, post {(post & ((1 << NUMBER_BITS) - 1)) + 1}"


def rounds_frame(rounds: Mapping[str, Sequence[float]], into: str) -> Any:
    """Return the rounds of a run in memory as a data frame."""
    columns = []
    for name, values in rounds.items():
        is_whole = all(isinstance(value, int) for value in values)
        columns.append(Labelled(name, Kind.INTEGER if is_whole else Kind.NUMBER, values))
    return frame_of(columns, into)

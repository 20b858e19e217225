"""Tables of a run as data frames of pandas or polars, or as a table of Arrow, with names in place of numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np

from actors.core.errors import RunDirectoryError
from actors.store.run import Recorded, names_of
from actors.tables.arrow import quoted, zoned
from actors.tables.database import QUERY, Tables, with_texts
from actors.tables.schema import chosen_tables
from prism.events import NUMBER_BITS
from prism.tables import Kind

LIBRARIES: Final = ("pandas", "polars", "arrow")
"""The libraries whose data frames a table may be, the first one that is installed unless another is named."""
AGENT_KEY, POST_KEY = "agents.agent", "posts.post"
_MODULES: Final = {"arrow": "pyarrow"}
_MISSING: Final = {"i": "Int64", "f": "Float64", "b": "boolean"}
"""The types of pandas that hold a missing value without becoming another type."""


def library(wanted: str | None) -> str:
    """Return the library whose data frames are made. `wanted`: its name; None for the first one that is installed."""
    if wanted not in {None, *LIBRARIES}:
        raise ValueError(f"expected {', '.join(LIBRARIES[:-1])} or {LIBRARIES[-1]}, got {wanted!r}")
    names = LIBRARIES if wanted is None else (wanted,)
    for name in names:
        if find_spec(_MODULES.get(name, name)):
            return name
    modules = [_MODULES.get(name, name) for name in names]
    raise ImportError(f"a data frame of {' or '.join(modules)}, not installed here: pip install {modules[0]}")


def table_frame(path: Path, name: str, into: str) -> Any:
    """Return a table of the run in a directory as a data frame. `into`: one of `LIBRARIES`."""
    with Tables([Recorded(path, path.name)]) as tables:
        (wanted,) = chosen_tables([name], tables.schema)
        if not tables.has(wanted):
            problem = tables.schema[wanted].absent or "it has no rows"
            raise RunDirectoryError(f"{path}: has no table {wanted}: {problem}")
        return _frame_of(tables.query(_readable(tables, wanted)), into)


def query(sql: str, run: str | os.PathLike[str], *runs: str | os.PathLike[str], into: str | None = None) -> Any:
    """Return the result of a query on runs as a data frame, as `prism export --sql` prints it.

    Args:
        sql: a SELECT of DuckDB on the tables that `prism export` writes; people and posts are numbers there.
        into: `pandas`, `polars` or `arrow`; by default the first one that is installed.

    Raises:
        ValueError, ImportError: the query is wrong, or the library is not installed.
        RunDirectoryError: a directory is no run, or is named twice.
        JournalError, ConfigError: a file of a run cannot be read, or its people cannot be made again.
    """
    made, paths = library(into), [Path(run), *map(Path, runs)]
    recorded = [Recorded(path, name) for path, name in zip(paths, names_of(paths), strict=True)]
    with Tables(recorded) as tables, tables.reading(QUERY):
        return _frame_of(with_texts(tables.query(sql)), made)


def rounds_frame(rounds: Mapping[str, Sequence[float]], into: str) -> Any:
    made: Any = import_module(_MODULES.get(into, into))
    columns = {
        name: np.array(values, np.int64 if all(isinstance(value, int) for value in values) else np.float64)
        for name, values in rounds.items()
    }
    return made.table(columns) if into == "arrow" else made.DataFrame(columns)


def _frame_of(found: duckdb.DuckDBPyRelation, into: str) -> Any:
    """Return the result of a query as a data frame of a library that is installed."""
    times = [name for name, kind in zip(found.columns, found.types, strict=True) if str(kind) == "TIMESTAMP"]
    if into != "pandas":
        cells = ", ".join(f"{zoned(quoted(each))} AS {quoted(each)}" for each in times)
        found = found.project(f"* REPLACE ({cells})") if times else found
        return found.to_arrow_table() if into == "arrow" else import_module("polars").DataFrame(found)
    pandas: Any = import_module("pandas")
    series = {}
    for name, values in found.fetchnumpy().items():
        plain, is_missing = pandas.Series(np.ma.getdata(values)), np.ma.getmaskarray(values)
        if values.dtype == object:
            plain = plain.mask(is_missing, None).astype("string")
        elif is_missing.any():
            plain = plain.astype(_MISSING.get(values.dtype.kind, plain.dtype)).mask(is_missing)
        series[name] = plain.dt.tz_localize("UTC") if name in times else plain
    return pandas.DataFrame(series)


def _readable(tables: Tables, name: str) -> str:
    """Return the query for a table with names for the numbers of agents and posts; the numbers stand at the end."""
    table = tables.schema[name]
    has_nation = any(column.name == "nation" for column in table.columns)
    found, numbers, joins = list[str](), list[str](), list[str]()
    for place, column in enumerate(table.columns):
        own, value = quoted(column.name), f"t.{quoted(column.name)}"
        number = f"{value} AS {quoted(f'{column.name}_id')}"
        if column.name == "run":
            continue
        if column.key == AGENT_KEY:
            numbers.append(number)
            if not has_nation:
                found.append(f"coalesce(a{place}.label, 'agent ' || {value}) AS {own}")
                joins.append(f"LEFT JOIN labels AS a{place} ON a{place}.agent = {value}")
        elif column.key == POST_KEY or (name, column.name) == ("posts", "post"):
            # A post is named by its author and how many the author had made before: `Ann, post 3`.
            numbers.append(number)
            author, count = f"{value} >> {NUMBER_BITS}", f"({value} & {(1 << NUMBER_BITS) - 1}) + 1"
            found.append(f"coalesce(a{place}.label, 'agent ' || ({author})) || ', post ' || ({count}) AS {own}")
            joins.append(f"LEFT JOIN labels AS a{place} ON a{place}.agent = {author}")
            if column.name == "post" and name != "posts":
                found.append("p.text AS post_text")
                joins.append(f"LEFT JOIN posts AS p ON p.post = {value}")
        elif column.kind is Kind.JSON:
            # Lists of texts are listed, and other JSON stays as it is written.
            other = f"list_filter(json_extract({value}, '$[*]'), lambda each: json_type(each) <> 'VARCHAR')"
            is_list = f"json_valid({value}) AND json_type({value}) = 'ARRAY' AND len({other}) = 0"
            listed = f"array_to_string(json_extract_string({value}, '$[*]'), ', ')"
            found.append(f"CASE WHEN {is_list} THEN {listed} ELSE {value} END AS {own}")
        else:
            found.append(f"{value} AS {own}")
    return f"""
        WITH labels AS (
            SELECT agent, name || if(count(*) OVER (PARTITION BY name) > 1, ' (' || agent || ')', '') AS label
            FROM agents WHERE name IS NOT NULL
        ),
        numbered AS (SELECT *, row_number() OVER () AS place FROM ({tables.rows_of(name)}))
        SELECT {", ".join([*found, *numbers])} FROM numbered AS t {" ".join(joins)} ORDER BY t.place
    """  # noqa: S608  # quoted

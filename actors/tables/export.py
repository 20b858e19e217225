"""The tables of runs for their users: written into a new directory whole or not at all, as text, or as data frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb
import msgspec
import numpy as np

from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import drafted_directory
from actors.runs.compatibility import OWN_PACKAGE
from actors.store.run import Recorded, names_of
from actors.tables.arrow import quoted, zoned
from actors.tables.database import MEMORY, QUERY, Tables, with_texts
from actors.tables.files import FORMATS, write_table
from actors.tables.schema import chosen_tables, shipped_tables
from prism.events import NUMBER_BITS
from prism.tables import Kind


class Exported(NamedTuple):
    path: Path
    rows: dict[str, int]  # `{table: rows}`
    left_out: dict[str, str]  # `{table: the reason}` of the tables that were wanted and that no run has
    bytes: int
    notes: list[str]  # the gaps in the tables of a run, a sentence each, with the run's name


OnProgress = Callable[[tuple[int, int]], None]
"""Is told now and then the bytes of journals that were read, and all bytes of journals."""


def export(
    paths: Sequence[Path],
    form: str,
    out: Path,
    names: Sequence[str] = (),
    on_progress: OnProgress = lambda _: None,
    *,
    sql: str | None = None,
    replaces: bool = False,
) -> Exported:
    """Write tables of some runs, which may be going on, into a new directory whose parent exists.

    Args:
        form: one of `FORMATS`.
        names: the tables; empty for all.
        sql: a query, whose result is written instead, as the table `query`.

    Raises:
        RunDirectoryError: a run cannot be read, or has none of the tables, or the directory is not to be written.
        JournalError: a journal is damaged, or the disk is full.
        ConfigError: a configuration cannot be read, or an input file of a run is not there any more.
        NoTableError, QueryError: there is no such table, or the query is wrong.
    """
    with _opened(paths, on_progress) as tables:
        wanted = chosen_tables(names, tables.schema) if sql is None else (tables.add_query(sql),)
        refuse_inside(paths, out)
        known = {f"{name}.{suffix}" for name in (*shipped_tables(), *tables.schema, QUERY) for suffix in FORMATS}
        with new_directory(out, known, replaces=replaces) as draft:
            tables.load(*wanted)
            # Facts about the runs as they were read.
            told = [
                {"run": run.name, "ticks": run.length, "digest": run.digest, "prism": run.header.prism}
                for run in tables.runs
            ]
            facts = {"runs": msgspec.json.encode(told).decode(), "prism": version(OWN_PACKAGE)}
            rows = dict[str, int]()
            for name in wanted:
                with tables.reading(name):
                    if not tables.has(name):
                        continue
                    path, table = draft / f"{name}.{form}", tables.schema[name]
                    rows[name] = write_table(path, tables.database, table, tables.rows_of(name), facts)
            if not rows:
                reasons = [f"no table {name}: {tables.schema[name].absent or 'it has no rows'}" for name in wanted]
                raise RunDirectoryError(f"{', '.join(map(str, paths))}: {'; '.join(reasons)}")
            size = sum(path.stat().st_size for path in draft.iterdir())
    left_out = {name: tables.schema[name].absent for name in wanted if name not in rows}
    notes = [f"{run.name}: {note}" for run in tables.runs for note in run.notes]
    return Exported(out, rows, left_out, size, notes)


def answered(
    paths: Sequence[Path], sql: str, on_progress: OnProgress = lambda _: None, *, as_rows: bool = False
) -> Any:
    """Return the result of a query as text, or as a list with a mapping for each row. Errors: as for `export`."""
    with _opened(paths, on_progress) as tables, tables.reading(QUERY):
        found = with_texts(tables.query(sql))
        if as_rows:
            return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
        return str(found).rstrip()


def _opened(paths: Sequence[Path], on_progress: OnProgress) -> Tables:
    runs = [Recorded(path, name) for path, name in zip(paths, names_of(paths), strict=True)]
    whole = sum(run.journal_bytes for run in runs)
    return Tables(runs, lambda read: on_progress((read, whole)))


def refuse_inside(paths: Sequence[Path], out: Path) -> None:
    """Raise a RunDirectoryError if `out` is inside one of the runs."""
    inside = next((path for path in paths if path.resolve() in out.resolve().parents), None)
    if inside is not None:
        raise RunDirectoryError(f"{out}: is inside the run {inside}")


@contextmanager
def new_directory(out: Path, files: Container[str], *, replaces: bool) -> Iterator[Path]:
    """Yield an empty directory; it gets the name `out` at the end of the block, or is removed on an error.

    `replaces`: whether a directory with nothing but such files is replaced.
    """
    if out.exists() or out.is_symlink():
        if out.is_symlink() or not out.is_dir() or any(path.name not in files for path in out.iterdir()):
            raise RunDirectoryError(f"{out}: exists already, and is no export, so it is not replaced")
        if not replaces:
            raise RunDirectoryError(f"{out}: exists already; --force replaces this export")
    elif not out.parent.is_dir():
        raise RunDirectoryError(f"{out.parent}: no such directory")
    try:
        with drafted_directory(out) as draft:
            yield draft
    except OSError as error:
        raise run_directory_error(error, f"{out}: cannot be written") from None
    except duckdb.OutOfMemoryException:
        problem = f"needs more than the {MEMORY} of memory that tables may take: name fewer tables or runs"
        raise RunDirectoryError(f"{out}: {problem}") from None


# Data frames

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

"""The export of runs: their tables, written into a new directory, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import msgspec

from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import drafted_directory
from actors.runs.compatibility import OWN_PACKAGE
from actors.store.run import Recorded, names_of
from actors.tables.database import MEMORY, QUERY, Tables, with_texts
from actors.tables.files import FORMATS, write_table
from actors.tables.schema import chosen_tables, shipped_tables


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

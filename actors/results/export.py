"""The export of runs: their tables, written into a new directory, whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from typing import Final, NamedTuple

import msgspec

from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import beside, hold, opened_as_it_is, remove_abandoned
from actors.results.declared import tables_of_runs
from actors.results.people import attribute_columns, post_columns
from actors.results.run_tables import Attributes, RoundsTable, RunTables, columns_of
from actors.results.schema import shipped_tables
from actors.results.table_files import DATABASE, CsvFiles, ParquetFiles, Rows, SqliteFile, TableFiles
from actors.runs.code import OWN_PACKAGE
from actors.store.run import Recorded, names_of
from prism.expectations import guess
from prism.tables import Table

FORMATS: Final = ("parquet", "csv", "sqlite")


class NoTableError(LookupError):
    """The error for a table that runs do not have."""

    def __init__(self, name: str, tables: Iterable[str]) -> None:
        super().__init__(f"{name}: there is no such table; {guess(name, tables)}")


class Exported(NamedTuple):
    """The outcome of an export."""

    path: Path
    rows: dict[str, int]  # `{table: rows}`
    left_out: dict[str, str]  # `{table: the reason}` of the tables that were wanted and that no run has
    bytes: int
    notes: list[str]  # the gaps in the tables of a run, a sentence each, with the run's name


class Progress(NamedTuple):
    """The progress of an export: bytes of journals read, and all bytes of journals."""

    done: int
    whole: int


def chosen_tables(names: Sequence[str], tables: Mapping[str, Table]) -> tuple[str, ...]:
    """Return the tables that are named, in their usual order; without names, return all tables.

    `tables`: those that runs may have, by name.

    Raises:
        NoTableError: there is no such table.
    """
    for name in names:
        if name not in tables:
            raise NoTableError(name, tables)
    return tuple(name for name in tables if not names or name in names)


def export(
    paths: Sequence[Path],
    form: str,
    out: Path,
    names: Sequence[str] = (),
    on_progress: Callable[[Progress], None] = lambda _: None,
    *,
    replaces: bool = False,
) -> Exported:
    """Write tables of some runs into a directory.

    Args:
        paths: directories of runs, which may be going on.
        form: one of `FORMATS`.
        out: the directory; its parent exists.
        names: the tables; empty for all.
        on_progress: called now and then.

    Raises:
        RunDirectoryError: a run cannot be read, or has none of the tables, or the directory is not to be written.
        JournalError: a journal is damaged, or the disk is full.
        ConfigError: a configuration cannot be read, or an input file of a run is not there any more.
        NoTableError: there is no such table.
    """
    runs = [Recorded(path, name) for path, name in zip(paths, names_of(paths), strict=True)]
    tables = tables_of_runs(runs)
    wanted = chosen_tables(names, tables)
    refuse_inside(paths, out)
    with new_directory(out, _files({**shipped_tables(), **tables}), replaces=replaces) as draft:
        files = files_of(form, draft)
        try:
            rows = write_tables(runs, wanted, files, on_progress)
            if not rows:
                reasons = [f"no table {name}: {tables[name].absent or 'it has no rows'}" for name in wanted]
                raise RunDirectoryError(f"{', '.join(map(str, paths))}: {'; '.join(reasons)}")
            told = [
                {"run": run.name, "ticks": run.length, "digest": run.digest, "prism": run.header.prism} for run in runs
            ]
            facts = {"runs": msgspec.json.encode(told).decode(), "prism": version(OWN_PACKAGE)}
            files.close(facts)
        finally:
            files.discard()
        size = sum(path.stat().st_size for path in draft.iterdir())
    left_out = {name: tables[name].absent for name in wanted if name not in rows}
    notes = [f"{run.name}: {note}" for run in runs for note in run.notes]
    return Exported(out, rows, left_out, size, notes)


def _files(tables: Iterable[str]) -> frozenset[str]:
    """Return the names of the files that an export of these tables may write."""
    return frozenset({DATABASE, *(f"{name}.{suffix}" for name in tables for suffix in ("csv", "parquet"))})


def refuse_inside(paths: Sequence[Path], out: Path) -> None:
    """Refuse to write among the files of a run.

    Raises:
        RunDirectoryError: `out` is inside one of the runs.
    """
    inside = next((path for path in paths if path.resolve() in out.resolve().parents), None)
    if inside is not None:
        raise RunDirectoryError(f"{out}: is inside the run {inside}")


def write_tables(
    runs: Sequence[Recorded],
    wanted: Iterable[str],
    files: TableFiles,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> dict[str, int]:
    """Write the tables, and return `{table: rows}`."""
    of_feeds = [run.config for run in runs if "posts" in run.show.event_tables]
    attributes = attribute_columns(of_feeds if "agents" in wanted else ())
    of_posts = post_columns(of_feeds)
    rounds = [RoundsTable(run) for run in runs]
    tables_by_name = tables_of_runs(runs)
    shapes = {name: tables_by_name[name] for name in wanted}
    if "agents" in shapes:
        shapes["agents"] = shapes["agents"].with_columns(attributes.values())
    if "posts" in shapes:
        shapes["posts"] = shapes["posts"].with_columns(of_posts.values())
    if "rounds" in shapes:
        shapes["rounds"] = shapes["rounds"].with_columns(columns_of(rounds))
    tables = {name: Rows(shape, files) for name, shape in shapes.items()}
    done, whole = 0, sum(run.journal_bytes for run in runs)
    for run, of_rounds in zip(runs, rounds, strict=True):

        def on_read(read: int, before: int = done) -> None:
            on_progress(Progress(before + read, whole))

        RunTables(run, tables, Attributes(attributes, [*of_posts]), of_rounds).write(on_read)
        done += run.journal_bytes
    for rows in tables.values():
        rows.flush()
    return {name: rows.written for name, rows in tables.items() if rows.has_begun}


def files_of(form: str, directory: Path) -> TableFiles:
    """Return the files of a format, in a directory that holds nothing else."""
    if form == "csv":
        return CsvFiles(directory)
    if form == "sqlite":
        return SqliteFile(directory)
    return ParquetFiles(directory)


@contextmanager
def new_directory(out: Path, files: Container[str], *, replaces: bool) -> Iterator[Path]:
    """Yield an empty directory beside `out`; it gets the name `out` at the end of the block, or is removed on an error.

    The leftovers of killed processes are removed first.

    Args:
        files: the names of the files that it may get.
        replaces: whether a directory with nothing but such files is replaced.
    """
    _refuse_unless_free(out, files, replaces=replaces)
    draft: Path | None = None
    try:
        remove_abandoned(out)
        draft = Path(mkdtemp(prefix=f".{out.name}.", suffix=".tmp", dir=out.parent))
        with opened_as_it_is(draft) as descriptor:
            hold(descriptor)
            yield draft
        draft.chmod(0o755)
        if out.exists():
            old = Path(mkdtemp(prefix=f".{out.name}.", suffix=".old", dir=out.parent))
            out.replace(old)
            draft.replace(out)
        else:
            draft.replace(out)
        for old in beside(out, ".old"):
            shutil.rmtree(old, ignore_errors=True)
        draft = None
    except OSError as error:
        raise run_directory_error(error, f"{out}: cannot be written") from None
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


def _refuse_unless_free(out: Path, files: Container[str], *, replaces: bool) -> None:
    if not out.exists() and not out.is_symlink():
        if not out.parent.is_dir():
            raise RunDirectoryError(f"{out.parent}: no such directory")
        return
    if out.is_symlink() or not out.is_dir() or any(path.name not in files for path in out.iterdir()):
        raise RunDirectoryError(f"{out}: exists already, and is no export, so it is not replaced")
    if not replaces:
        raise RunDirectoryError(f"{out}: exists already; --force replaces this export")

"""`prism export`: writes the tables of runs, for a spreadsheet, a database or a notebook."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from actors.cli.command import command, flag, option
from actors.cli.options import PACKED_RUNS, TRUST, out_option
from actors.cli.render import show
from actors.display.progress import Standing, progress_shown
from actors.logs.output import output, say
from actors.runs.signals import ended_by_signals
from actors.store.manifest import read_summary
from actors.tables.database import QueryError
from actors.tables.export import answered, export
from actors.tables.files import FORMATS
from actors.tables.schema import NoTableError
from prism.no_effect import remarks
from prism.wording import counted


@command(name="export")
@PACKED_RUNS
@option("--to", "form", type=click.Choice(FORMATS), help="Format of the files; --sql alone prints.")
@out_option("Directory to write, which must be new.", "NAME-FORMAT here, where NAME is the run's, or runs-FORMAT")
@option(
    "--tables",
    metavar="NAME,...",
    default="",
    show_default=False,
    help="The tables to write.  [default: all that the runs have]",
)
@option(
    "--sql", metavar="QUERY", help="Answer a SELECT of DuckDB on the tables, instead; with --to, write it as a table."
)
@flag("--force", help="Replace an export that is there.")
@TRUST
def export_command(
    paths: tuple[Path, ...], form: str | None, out: Path | None, tables: str, sql: str | None, *, force: bool
) -> None:
    """Write what happened in runs as CSV or Parquet tables.

    RUN is a run's directory. docs/tables.md lists the tables and their columns. Several runs go into one file for each
    table, with a column `run`. A run may be going on: its tables end with its last whole tick.

    --sql may also read the tables of journals, such as journal.updates.
    """
    if form is None and sql is None:
        raise click.UsageError(f"expected --to {' or --to '.join(FORMATS)}, or a query in --sql")
    names = [name.strip() for name in tables.split(",") if name.strip()]
    where = out or Path(f"{paths[0].resolve().name if len(paths) == 1 else 'runs'}-{form}")
    latest = [(0, 1)]

    def standing() -> Standing:
        done, whole = latest[0][0], max(1, latest[0][1])
        words = f"exporting: {done / 1e6:,.0f} of {whole / 1e6:,.0f} MB read ({100 * done // whole}%)"
        return Standing(words, done, whole)

    with ended_by_signals(), progress_shown(standing):
        try:
            if form is None:
                answer = answered(paths, sql or "", partial(latest.__setitem__, 0), as_rows=output.as_json)
            else:
                done = export(paths, form, where, names, partial(latest.__setitem__, 0), sql=sql, replaces=force)
        except NoTableError as error:
            raise click.BadParameter(str(error), param_hint="'--tables'") from None
        except QueryError as error:
            raise click.BadParameter(str(error), param_hint="'--sql'") from None
    if form is None:
        show(answer, lambda: [answer])
        return
    for note in done.notes:
        say(note)
    for path in () if output.is_quiet else paths:
        for line in remarks(read_summary(path)):
            say(f"{path}: {line}", level="warning")
    reasons: dict[str, list[str]] = {}
    for table, reason in done.left_out.items():
        reasons.setdefault(reason, []).append(table)
    lines = [f"without {', '.join(without)}: {reason}" for reason, without in reasons.items()]
    rows = ", ".join(f"{table} {count:,}" for table, count in done.rows.items())
    lines.append(f"{done.path}: {counted(len(done.rows), 'table')}, {done.bytes:,} bytes; rows: {rows}")
    show(done, lambda: lines)

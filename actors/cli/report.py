"""`prism report`: one HTML file about runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from actors.cli.command import command, flag, option, path_option
from actors.cli.options import PACKED_RUNS, TRUST, ask_to_run_code, require
from actors.cli.render import show
from actors.core.errors import RunDirectoryError
from actors.core.files import write_file
from actors.core.machine import not_installed
from actors.display.progress import Standing, progress_shown
from actors.studies.experiments.record import is_experiment, read_experiment_record

REPORT = Path("report.html")


@command()
@PACKED_RUNS
@path_option("--out", default=REPORT, help="Write the report here; with --odd, by default odd.md.")
@option(
    "--against",
    "files",
    multiple=True,
    metavar="FILE",
    help="A CSV file of real figures, as prism validate-world takes (also .gz); may be given more than once.",
)
@option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write each chart to DIR as well, as SVG, PDF and PNG, with the captions: for a paper.",
)
@flag(
    "--odd",
    without=["--against", "--figures"],
    help="Write an ODD protocol and a RAT-RS sheet of one RUN as Markdown instead; what only you know is marked there.",
)
@flag("--force", help="Replace FILE, and what is in DIR, if it is there already.")
@TRUST
def report(
    paths: tuple[Path, ...], out: Path, files: tuple[str, ...], figures: Path | None, *, odd: bool, force: bool
) -> None:
    """Write one HTML file about runs: pictures and tables.

    RUN is a run's directory. The file needs no network and no script, so it can be sent, archived and printed. Runs of
    one configuration with different seeds are drawn as a median and a range; runs of other configurations stand beside
    them. A run without an end is shown up to its last whole tick. docs/cause.md explains every part.
    """
    if odd:
        if len(paths) > 1:
            raise click.UsageError("--odd describes one run or experiment")
        out = Path("odd.md") if out == REPORT else out
    if out.exists() and not force:
        raise RunDirectoryError(f"{out}: is there already; use --force to replace it, or another --out")
    if figures is not None and figures.is_dir() and any(figures.iterdir()) and not force:
        raise RunDirectoryError(f"{figures}: is not empty; use --force to replace what is in it, or another --figures")
    if odd:
        from actors.pages.odd import odd_sheet  # noqa: PLC0415  # a page is seldom made

        ask_to_run_code(paths[0])
        write_file(out, odd_sheet(paths[0]).encode(), follows=True)
        show({"file": out}, lambda: [f"{out}: what is marked [OPEN] is yours to write"], brief=str(out))
        return
    try:
        from actors.pages.experiment_report import experiment_report  # noqa: PLC0415
        from actors.pages.page import pictures  # noqa: PLC0415
        from actors.pages.report import read_real_of, read_runs  # noqa: PLC0415
        from actors.pages.report import report as written  # noqa: PLC0415  # altair is an optional package
    except ImportError:
        raise click.ClickException(not_installed("prism report draws with altair", "plots")) from None
    step = ["reading"]

    def on_step(title: str) -> None:
        step[0] = f"drawing: {title}"

    with progress_shown(lambda: Standing(step[0]), has_lines=False):
        studies = [path for path in paths if is_experiment(path)]
        if studies and (len(paths) > 1 or files):
            alone = "make its report alone" if len(paths) > 1 else "its report takes no --against"
            raise RunDirectoryError(f"{studies[0]}: is an experiment; {alone}")
        if not studies:
            runs = read_runs(paths, partial(step.__setitem__, 0))
            html = written(runs, read_real_of(runs[0], files), on_step)
        else:
            require(["scipy"], "experiments are judged with scipy")
            html = experiment_report(read_experiment_record(studies[0]), on_step)
        content = html.encode()
        write_file(out, content, follows=True)
        if figures is not None:
            figures.mkdir(parents=True, exist_ok=True)
            for name, picture in pictures(html):
                on_step(name)
                write_file(figures / name, picture)
    show({"file": out, "bytes": len(content)}, lambda: [f"{out}: {len(content) / 1e6:,.1f} MB"], brief=str(out))

"""`prism report`: one HTML file about runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import click
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from actors.cli.options import PackedOrDirectory
from actors.cli.trust import TRUST
from actors.core.errors import RunDirectoryError
from actors.core.files import write_file
from actors.core.machine import not_installed
from actors.display.console import SafeConsole, echo
from actors.factory.domains import show_of
from actors.record.run import names_of
from actors.results.observed import Real, read_real
from actors.results.run_record import RunRecord, groups_of
from actors.studies.experiments.record import ExperimentRecord, is_experiment, read_experiment_record
from prism.config import Config
from prism.errors import InputError

NO_PLOTS = not_installed("prism report draws with matplotlib", "plots")


@click.command()
@click.argument("paths", metavar="RUN...", nargs=-1, required=True, type=PackedOrDirectory())
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("report.html"),
    show_default=True,
    metavar="FILE",
    help="Write the report here.",
)
@click.option(
    "--against",
    "files",
    multiple=True,
    metavar="FILE",
    help="A CSV file of real figures, as prism validate-world takes (also .gz); may be given more than once.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there already.")
@TRUST
@click.option("--quiet", "-q", is_flag=True, help="Show no progress, only where the file is.")
def report(paths: tuple[Path, ...], out: Path, files: tuple[str, ...], *, force: bool, quiet: bool) -> None:
    """Write one HTML file about runs: pictures and tables.

    RUN is a run's directory. The file needs no network and no script, so it can be sent, archived and printed; it also
    says how to make the runs again. Runs of one configuration with different
    seeds are drawn as a median and a range; runs of other configurations stand beside them, with the settings that
    differ. A run that is going on, was stopped or was killed is shown up to its last whole tick, and the page says so
    at its top.

    docs/cause.md explains every part.
    """
    if out.exists() and not force:
        raise RunDirectoryError(f"{out}: is there already; use --force to replace it, or another --out")
    try:
        from actors.pages.experiment_report import experiment_report  # noqa: PLC0415
        from actors.pages.report import report as written  # noqa: PLC0415  # matplotlib is an optional package
    except ImportError:
        raise click.ClickException(NO_PLOTS) from None
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        console=SafeConsole(stderr=True),
        transient=True,
        disable=quiet or not SafeConsole(stderr=True).is_terminal,
    ) as progress:
        experiment = _experiment(paths, files, progress)
        runs = _read(paths, progress) if experiment is None else []
        step = progress.add_task("drawing", total=None)

        def on_step(title: str) -> None:
            progress.update(step, description=f"drawing: {title}")

        if experiment is None:
            content = written(runs, _real(files, runs[0].config), on_step).encode()
        else:
            content = experiment_report(experiment, on_step).encode()
    write_file(out, content, follows=True)
    echo(f"{out}: {len(content) / 1e6:,.1f} MB" if not quiet else str(out))


def _experiment(paths: Sequence[Path], files: Sequence[str], progress: Progress) -> ExperimentRecord | None:
    """Return the record of an experiment, if its directory was given; None for runs."""
    found = [path for path in paths if is_experiment(path)]
    if not found:
        return None
    if len(paths) > 1 or files:
        alone = "make its report alone" if len(paths) > 1 else "its report takes no --against"
        raise RunDirectoryError(f"{found[0]}: is an experiment; {alone}")
    if find_spec("scipy") is None:
        raise click.ClickException(not_installed("experiments are judged with scipy", "experiments"))
    task = progress.add_task("cells", total=None)
    return read_experiment_record(found[0], lambda done, of: progress.update(task, completed=done, total=of))


def _read(paths: Sequence[Path], progress: Progress) -> list[RunRecord]:
    """Return the runs, with their people where people are shown."""
    runs: list[RunRecord] = []
    for path, name in zip(paths, names_of(paths), strict=True):
        task = progress.add_task(f"reading {name}", total=None)
        runs.append(RunRecord(path, name, partial(_show, progress, task)))
    domains = list(dict.fromkeys(run.domain_name for run in runs))
    if len(domains) > 1:
        raise RunDirectoryError(f"expected runs of one domain, got {' and '.join(domains[:3])}: make a report of each")
    has_people = "network" in runs[0].show.pictures
    for run in [group.first for group in groups_of(runs)[0]] if has_people else ():
        task = progress.add_task(f"people of {run.name}", total=None)
        run.read_people(partial(_describe, progress, task, run.name))
    return runs


def _show(progress: Progress, task: TaskID, ticks: int, of: int) -> None:
    progress.update(task, completed=ticks, total=of)


def _describe(progress: Progress, task: TaskID, name: str, step: str) -> None:
    progress.update(task, description=f"{name}: {step}")


def _real(files: Sequence[str], config: Config) -> Real:
    """Return the real figures of the files; for an economy without one, those of the file that it starts from."""
    real = read_real(files, config)
    show = show_of(config)
    path = show.history_file
    if "quarters" in show.pictures and not real.quarters and path is not None:
        with suppress(InputError):  # the run has its quarters without it
            return read_real([path], config)
    return real

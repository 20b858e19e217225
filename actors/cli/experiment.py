"""`prism experiment`: runs conditions under many seeds, and compares them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import click
from msgspec.structs import replace

from actors.cli.exit_codes import EXIT_THRESHOLD
from actors.cli.experiment_plan import print_plan
from actors.cli.experiment_progress import ExperimentDisplay
from actors.cli.experiment_tables import print_outcome, threshold_said
from actors.cli.study_options import FILE, JOBS, ON, SHARED, FileGroup, interruptible, make_directory, out_option
from actors.cli.trust import TRUST
from actors.core.errors import RunDirectoryError
from actors.core.extras import not_installed
from actors.display.console import echo
from actors.logs.output import say
from actors.record.lock import locked
from actors.studies.experiments.batches import run_batches
from actors.studies.experiments.cells import CELLS, Done, cell_path, count_done
from actors.studies.experiments.driver import Where, cells_to_do, opened
from actors.studies.experiments.endpoint import ExperimentCollector, served
from actors.studies.experiments.measures import keep_own, measured
from actors.studies.experiments.outcome import (
    OUTCOME,
    Outcome,
    outcome_of,
    read_beside_cells,
    read_within,
    write_outcome,
)
from actors.studies.experiments.plan import Cell, Plan, make_plan
from actors.studies.experiments.plan_record import notes_on_plans, promised_so_far, record_plan
from actors.studies.experiments.processes import room
from actors.studies.experiments.shared_oracle import asking_of, counts_of, gateway_of, use_of_model

OUT = Path("experiments")
PROBLEMS_SHOWN = 5
KEPT = "Cells that are done are kept, and those under way go on where their files end: run the same command again"
PACKAGES = ("scipy", "statsmodels", "SALib")


OUT_OPTION = out_option("experiment", OUT)
METRICS_PORT = click.option(
    "--metrics-port",
    type=click.IntRange(0, 65_535),
    metavar="N",
    help="Serve the experiment's metrics at this port of 127.0.0.1; 0 takes a free one.  [default: not served]",
)


@click.group(cls=FileGroup, options_metavar="", subcommand_metavar="[plan|run] FILE [OPTIONS]")
def experiment() -> None:
    """Run several conditions under the same seeds, and compare them.

    \b
      prism experiment plan feed.yaml     what would be run, and what it could find
      prism experiment feed.yaml          run it, or go on with it where it was interrupted

    FILE says what the conditions and the seeds are; docs/experiments.md has its keys. `prism init --example
    experiments/feed` writes one to start from.

    A cell is one condition under one seed. It is known by its settings, its input files and its code: a changed or
    interrupted experiment does again only what is new. Equal seeds are matched pairs.

    Exit code 4 says that a threshold was missed, 2 that some cells have no result, or wrong usage.
    """


@experiment.command()
@FILE
@OUT_OPTION
@JOBS
@TRUST
def plan(path: Path, out: Path | None, jobs: int | None) -> None:
    """Say what the experiment in FILE would run and what it could find, and run nothing."""
    _refuse_without_packages()
    made = make_plan(path)
    place = out or OUT / path.stem
    print_plan(made, place, room(made.cells, jobs))


@experiment.command()
@FILE
@OUT_OPTION
@JOBS
@ON
@SHARED
@METRICS_PORT
@click.option(
    "--tape",
    type=click.Path(path_type=Path),
    metavar="TAPE",
    help="Take all answers of models from the tape of an experiment, or of its directory, and ask no server.",
)
@TRUST
@click.option("--quiet", "-q", is_flag=True, help="Show no progress and no tables.")
def run(  # noqa: PLR0913  # an option each
    path: Path,
    out: Path | None,
    jobs: int | None,
    on: str,
    shared: Path | None,
    metrics_port: int | None,
    *,
    tape: Path | None,
    quiet: bool,
) -> None:
    """Run the experiment in FILE, or go on with it."""
    _refuse_without_packages()
    made = make_plan(path)
    place = out or OUT / path.stem
    make_directory(place)
    with locked(place), interruptible(KEPT):
        outcome, problems, made = _execute(
            made, place, Where(on=on, jobs=jobs, shared=shared), metrics_port, tape=tape, quiet=quiet
        )
    if not quiet:
        print_outcome(outcome, made, place)
    for line in _problem_lines(problems, place):
        echo(f"prism: {line}", err=True)
    if problems:
        lost = f"{len(problems):,} of {len(made.cells):,} cells have no result"
        raise RunDirectoryError(f"{place}: {lost}; mend what is named above, and run it again: what is done is kept")
    missed = [threshold_said(each) for each in outcome.thresholds if not each.is_met]
    if missed and quiet:
        say("; ".join(missed))
    if missed:
        sys.exit(EXIT_THRESHOLD)


def _refuse_without_packages() -> None:
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise click.ClickException(not_installed(f"experiments need {' and '.join(missing)}", "experiments"))


def _problem_lines(problems: Mapping[str, str], out: Path) -> Iterator[str]:
    """Yield the problems, alike ones once, with the first cell that has it."""
    alike: dict[str, list[str]] = {}
    for cell, problem in problems.items():
        alike.setdefault(problem.replace(str(out / CELLS / cell), "").lstrip(": /"), []).append(cell)
    for problem, cells in list(alike.items())[:PROBLEMS_SHOWN]:
        more = f" and {len(cells) - 1:,} more" if len(cells) > 1 else ""
        yield f"{out / CELLS / cells[0]}{more}: {problem}"
    if len(alike) > PROBLEMS_SHOWN:
        yield f"and {len(alike) - PROBLEMS_SHOWN:,} other problems; {out / OUTCOME} names every cell without a result"


def _execute(
    made: Plan, out: Path, where: Where, metrics_port: int | None, *, tape: Path | None, quiet: bool
) -> tuple[Outcome, dict[str, str], Plan]:
    """Run the cells, and return the outcome, `{cell: problem}`, and the plan with the seeds that were run."""
    left = cells_to_do(made, out)
    keep_own(out, made.own.values())
    record_plan(out, made, count_done(out))
    known = len({cell.key for cell in made.cells}) - len(left)
    display = ExperimentDisplay(known, quiet=quiet)
    is_first = iter([True])

    def on_done(cell: Cell, done: Done) -> None:
        if not done.problem and next(is_first, False):  # a misspelt measure is found now, not after all the others
            measured(cell_path(out, cell), made.experiment.measures, made.own)
        display.tell(cell, done)

    with ExitStack() as stack:
        gateway = stack.enter_context(gateway_of(asking_of(made), [cell.config for cell in left], out, tape))
        executor = stack.enter_context(opened(replace(where, gateway=gateway)))
        standing = executor.progress.standing
        if metrics_port is not None:
            collector = ExperimentCollector(out.name, where.on.partition(":")[0], known, standing)
            url = stack.enter_context(served(collector, metrics_port))
            say(f"metrics at {url}/metrics")
        stack.enter_context(display.showing(standing))
        part, values, problems, stopped = run_batches(
            made, out, lambda part: executor.run(cells_to_do(part, out), out, on_done)
        )
        counted = counts_of(gateway)
    use = use_of_model(part, out, counted, is_replay=tape is not None)
    planned, lost = promised_so_far(out, made)
    within, beside = read_within(part, out, values), read_beside_cells(part, out, values)
    outcome = outcome_of(part, values, planned, within, notes_on_plans(out, part.hash), lost, beside=beside)
    outcome = replace(outcome, model=use, stopped=stopped)
    write_outcome(out, part, values, outcome)
    return outcome, problems, part

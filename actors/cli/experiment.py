"""`prism experiment`: runs conditions under many seeds, and compares them."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import click
from msgspec.structs import asdict, replace

from actors.cli.command import EXIT_THRESHOLD, Group, count_option, flag, option, path_option
from actors.cli.experiment_tables import outcome_parts, plan_parts, predictions_parts, threshold_said
from actors.cli.options import TRUST, out_option, require, run_name
from actors.cli.render import line, show, table
from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import write_json
from actors.core.machine import processors
from actors.display.progress import Standing, live_console, progress_shown
from actors.display.words import duration
from actors.factory.file_kinds import PREDICTIONS, telling_kind
from actors.logs.output import output, say
from actors.runs.signals import ended_by_signals
from actors.store.lock import locked
from actors.studies.experiments import seals
from actors.studies.experiments.cells import (
    CELLS,
    PROCESSES,
    Done,
    Where,
    cell_path,
    cells_begun,
    cells_to_do,
    count_done,
    opened,
)
from actors.studies.experiments.outcome import OUTCOME, Outcome, Values, outcome_of, read_values, write_outcome
from actors.studies.experiments.plan import Cell, Plan, make_plan, parts_of, record_plan, text_of
from actors.studies.experiments.record import has_results_of, read_experiment_record
from actors.studies.experiments.run_measures import keep_own, measured
from actors.studies.experiments.shared_oracle import asking_of, gateway_of, use_of_model
from prism.experiment.predictions import read_predictions
from prism.wording import counted


class FileGroup(Group):
    """A group whose first word may be a file: then it is run."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        first = args[0]
        if first in self.commands:
            return super().resolve_command(ctx, args)
        words = [word for word in args[1:] if not word.startswith("-")]
        if not first.startswith("-") and not Path(first).exists() and any(Path(word).is_file() for word in words):
            known = ", ".join(sorted(self.commands))
            raise click.UsageError(f"{first!r} is no file and no command; expected a file, or one of: {known}", ctx)
        return super().resolve_command(ctx, ["run", *args])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options that a run takes, too: most often no command is named."""
        options = [option for option in self.commands["run"].params if isinstance(option, click.Option)]
        with formatter.section("Options of a run"):
            formatter.write_dl([record for option in options if (record := option.get_help_record(ctx)) is not None])
        super().format_options(ctx, formatter)


FILE = click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
JOBS = count_option("--jobs", help="Cells at once.  [default: one for each processor]")
ON = option(
    "--on",
    default=PROCESSES,
    metavar="PLACE",
    help="Where cells are run: processes, ray, ray://HOST:PORT or HOST:PORT. docs/experiments.md.",
)


def make_directory(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise run_directory_error(error, f"{place}: cannot be created") from None


EXPERIMENTS = Path("experiments")
KEPT = "What is done is kept, and what is under way goes on where its files end: run the same command again"
"""What a signal says."""
STUDY_DIRECTORY = "Directory of the study; what is done there already is not done again."
EXPERIMENT_OUT = out_option(STUDY_DIRECTORY, f"{EXPERIMENTS}/NAME")
PACKAGES = ("scipy", "statsmodels", "SALib")


def refuse_without_packages() -> None:
    require(PACKAGES, f"experiments need {' and '.join(PACKAGES)}")


PROBLEMS_SHOWN = 5


@click.group(cls=FileGroup, options_metavar="", subcommand_metavar="[plan|seal|run|score] FILE [OPTIONS]")
def experiment() -> None:
    """Run several conditions under the same seeds, and compare them.

    \b
      prism experiment plan feed.yaml     what would be run, and what it could find
      prism experiment seal feed.yaml guess.yaml            seal predictions of it
      prism experiment feed.yaml          run it, or go on with it where it was interrupted
      prism experiment score feed.yaml guess.sealed.json    score the predictions

    FILE says what the conditions and the seeds are; docs/experiments.md has its keys. `prism init --example
    experiments/feed` writes one to start from. A cell is one condition under one seed: a changed or interrupted
    experiment does again only what is new.

    Exit code 4 says that a threshold was missed, 2 that some cells have no result, or wrong usage.
    """


@experiment.command()
@FILE
@EXPERIMENT_OUT
@JOBS
@TRUST
def plan(path: Path, out: Path | None, jobs: int | None) -> None:
    """Say what the experiment in FILE would run and what it could find, and run nothing."""
    refuse_without_packages()
    made = make_plan(path)
    place = out or EXPERIMENTS / run_name(path)
    rows, power = plan_parts(made, place, jobs or processors())
    show({**dict(rows), "power": list(map(str, power))}, lambda: [table(("", ""), rows), *power])


@experiment.command()
@FILE
@EXPERIMENT_OUT
@JOBS
@ON
@path_option(
    "--tape",
    metavar="TAPE",
    help="Take all answers of models from the tape of an experiment, or of its directory, and ask no server.",
)
@TRUST
def run(path: Path, out: Path | None, jobs: int | None, on: str, tape: Path | None) -> None:
    """Run the experiment in FILE, or go on with it."""
    refuse_without_packages()
    made = make_plan(path)
    place = out or EXPERIMENTS / run_name(path)
    done = execute(made, place, Where(on=on, jobs=jobs), tape=tape)
    outcome = done.outcome
    show({"directory": place, **asdict(outcome)}, lambda: outcome_parts(outcome, done.plan, place))
    refuse_lost(done, place)
    if missed := [threshold_said(each) for each in outcome.thresholds if not each.is_met]:
        if output.is_quiet:
            say("; ".join(missed), level="warning")
        sys.exit(EXIT_THRESHOLD)


class Executed(NamedTuple):
    """An experiment that has been run, with `{cell: problem}` of the cells without a result."""

    plan: Plan
    outcome: Outcome
    values: Values
    problems: dict[str, str]


def refuse_lost(done: Executed, place: Path) -> None:
    """Print the problems of the first cells without a result, and raise an error if there are any."""
    for cell, problem in list(done.problems.items())[:PROBLEMS_SHOWN]:
        say(f"{place / CELLS / cell}: {problem.replace(str(place / CELLS / cell), '').lstrip(': /')}", level="error")
    if done.problems:
        lost = f"{len(done.problems):,} of {len(done.plan.cells):,} cells have no result; {OUTCOME} names each"
        raise RunDirectoryError(f"{place}: {lost}; fix what is named above and run it again: finished cells are kept")


def execute(made: Plan, out: Path, where: Where, *, tape: Path | None = None, notes: Sequence[str] = ()) -> Executed:
    """Run the cells that are not done, in the experiment's directory, and write the outcome."""
    make_directory(out)
    with locked(out), ended_by_signals(KEPT):
        left = cells_to_do(made, out)
        keep_own(out, [made.experiment.measures[name] for name in made.own])
        promised = record_plan(out, made, count_done(out))
        known = len({cell.key for cell in made.cells}) - len(left)
        is_first = iter([True])

        with ExitStack() as stack:
            gateway = stack.enter_context(gateway_of(asking_of(made), [cell.config for cell in left], out, tape))
            executor = stack.enter_context(opened(replace(where, gateway=gateway and gateway.place)))

            def shown() -> Standing:
                now = executor.standing
                ended, total = now.done + now.failed + known, now.total + known
                parts = [f"{ended:,} of {total:,} cells", f"{now.running:,} running", f"{now.failed:,} failed"]
                parts += [f"{reason} {times:,} times" for reason, times in now.losses.items()]
                return Standing(", ".join(parts), ended, total)

            def on_done(cell: Cell, done: Done) -> None:
                if not done.problem and next(is_first, False):  # a misspelt measure is found now, not after all others
                    measured(cell_path(out, cell), made.experiment.measures, made.own)
                if live_console() is not None:
                    return
                now = executor.standing
                place = f"{known + now.done + now.failed:,} of {now.total + known:,}"
                say(f"{place}: {cell.condition}, seed {cell.seed}: {done.problem or duration(done.wall_s)}")

            stack.enter_context(progress_shown(shown, has_lines=False))

            failed = executor.run(cells_to_do(made, out), out, on_done)
            values, unread = read_values(made, out, failed)
            problems = {**failed, **unread}
            counted = gateway and gateway.statistics()
        outcome = outcome_of(made, values, promised, out)
        use = use_of_model(made, out, counted, is_replay=tape is not None)
        outcome = replace(outcome, model=use, notes=[*notes, *outcome.notes])
        write_outcome(out, made, values, outcome)
        return Executed(made, outcome, values, problems)


SUFFIX = ".sealed.json"


@experiment.command()
@click.argument("path", metavar="EXPERIMENT", type=click.Path(path_type=Path))
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@EXPERIMENT_OUT
@path_option(
    "--to",
    metavar="SEALED",
    help=f"The sealed file; must be new.  [default: FILE with {SUFFIX} in place of its extension]",
)
@flag("--seen", help="Seal although the experiment has runs, and mark the predictions as late.")
@TRUST
def seal(path: Path, file: Path, out: Path | None, to: Path | None, *, seen: bool) -> None:
    """Seal the predictions in FILE for the plan of EXPERIMENT, before it is run.

    A sealed file has the hashes of the predictions and of the plan, so a later change of either is found and named.
    docs/experiments.md says what a prediction is.
    """
    refuse_without_packages()
    plan, place, target = make_plan(path), out or EXPERIMENTS / run_name(path), to or file.with_suffix(SUFFIX)
    with telling_kind(file, PREDICTIONS):
        text = text_of(file, "a YAML file with predictions", "docs/experiments.md")
        predictions = read_predictions(text, str(file), plan.experiment)
    begun = len(cells_begun(place))
    if begun and not seen:
        problem = f"{place}: has {counted(begun, 'run')} of the experiment already, so it is too late to predict"
        raise RunDirectoryError(f"{problem}; --seen seals the predictions all the same, and marks them")
    if target.exists():
        raise RunDirectoryError(f"{target}: exists already and was left as it is; name another file with --to")
    sealed = seals.sealed_now(plan.hash, parts_of(plan), predictions, begun)
    write_json(target, sealed)
    seals.register(place, sealed)
    count, files = (
        counted(len(predictions.predictions), "prediction"),
        [shlex.quote(str(each)) for each in (path, target)],
    )
    them = "it" if begun == 1 else "they"
    lines = [
        f"{target}: {count} by {predictions.by}, sealed {sealed.at}",
        f"plan {sealed.plan[:16]}; seal {sealed.seal}",
        f"{place} has {counted(begun, 'run')} already: every score will say that {them} may have been seen"
        if begun
        else "give the seal to others now, and they can check later that nothing was changed",
        f"next: prism experiment {files[0]}, and then prism experiment score {' '.join(files)}",
    ]
    show({"file": target, **asdict(sealed)}, lambda: lines, brief=str(target))


@experiment.command()
@click.argument("path", metavar="EXPERIMENT", type=click.Path(path_type=Path))
@click.argument("file", metavar="SEALED", type=click.Path(path_type=Path))
@EXPERIMENT_OUT
@path_option("--data", help="Score with measured figures: CSV with the columns condition, measure and value.")
@option(
    "--model",
    without=["--data"],
    metavar="NAME",
    help="Run the experiment with this model in place of the sealed one, all else as sealed, and score that.",
)
@TRUST
def score(path: Path, file: Path, out: Path | None, data: Path | None, model: str | None) -> None:
    """Score the predictions in SEALED with the results of EXPERIMENT, or with measured figures.

    With --model the experiment is run on another model, in a directory of its own, and nothing else may differ from
    what was sealed: a result that holds there was not picked for one model.
    """
    refuse_without_packages()
    plan, sealed = make_plan(path, model), seals.read_sealed(file)
    name = run_name(path) if model is None else f"{run_name(path)}-{re.sub('[^A-Za-z0-9.]+', '-', model)}"
    place = out or EXPERIMENTS / name
    notes = seals.notes_on_plan(file, sealed, plan.hash, parts_of(plan), model or "")
    answers = list[str]()
    if model is not None:
        done = execute(plan, place, Where(), notes=notes)
        refuse_lost(done, place)
        answers = [each.text for each in done.outcome.answers]
    seals.register(place, sealed)
    if data is not None:
        found = seals.scores_of_data(data, sealed, place, notes)
    else:
        record = read_experiment_record(place)
        if not (record.is_final and has_results_of(record, plan)):
            raise RunDirectoryError(f"{place}: has no results of this plan yet: run `prism experiment {plan.path}`")
        seeds = record.plan.experiment.seeds
        found = seals.scores_of_runs(sealed, seeds, record.values, place, notes)
    notes_said = [line(f"! {note}", "yellow") for note in found.notes]
    said = [*map(line, answers), line(found.text), "", *predictions_parts(found), *notes_said]
    show(found, lambda: said)

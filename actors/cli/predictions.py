"""`prism experiment seal` and `score`: predictions sealed before the outcomes are known, and beside them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import msgspec
from msgspec.structs import replace

from actors.cli.command import command, flag, option, path_option
from actors.cli.experiment_tables import predictions_parts
from actors.cli.options import run_name
from actors.cli.render import line, show
from actors.cli.study_options import EXPERIMENT_OUT, EXPERIMENTS, refuse_without_packages
from actors.cli.trust import TRUST
from actors.core.errors import RunDirectoryError
from actors.core.files import write_json
from actors.factory.file_kinds import PREDICTIONS, telling_kind
from actors.studies.experiments.cells import cells_begun
from actors.studies.experiments.plan import make_plan, parts_of, text_of
from actors.studies.experiments.processes import Where
from actors.studies.experiments.record import has_results_of, read_experiment_record
from actors.studies.experiments.seals import (
    notes_on_plan,
    read_sealed,
    register,
    scores_of_data,
    scores_of_runs,
    sealed_now,
)
from prism.experiment import read_predictions
from prism.wording import counted

SUFFIX = ".sealed.json"


@command()
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

    A sealed file has the hashes of the predictions and of the plan, so a later change of either is found and named. If
    the experiment's file names the sealed file (`predictions: guess.sealed.json`), `prism experiment` scores it, too.
    docs/experiments.md says what a prediction is.
    """
    refuse_without_packages()
    plan, place, target = (
        make_plan(path, is_sealed=False),
        out or EXPERIMENTS / run_name(path),
        to or file.with_suffix(SUFFIX),
    )
    with telling_kind(file, PREDICTIONS):
        text = text_of(file, "a YAML file with predictions", "docs/experiments.md")
        predictions = read_predictions(text, str(file), plan.experiment)
    begun = len(cells_begun(place))
    if begun and not seen:
        problem = f"{place}: has {counted(begun, 'run')} of the experiment already, so it is too late to predict"
        raise RunDirectoryError(f"{problem}; --seen seals the predictions all the same, and marks them")
    if target.exists():
        raise RunDirectoryError(f"{target}: exists already and was left as it is; name another file with --to")
    sealed = sealed_now(plan.hash, parts_of(plan), predictions, begun)
    write_json(target, sealed)
    register(place, sealed)
    count = counted(len(predictions.predictions), "prediction")
    them = "it" if begun == 1 else "they"
    lines = [
        f"{target}: {count} by {predictions.by}, sealed {sealed.at}",
        f"plan {sealed.plan[:16]}; seal {sealed.seal}",
        f"{place} has {counted(begun, 'run')} already: every score will say that {them} may have been seen"
        if begun
        else "give the seal to others now, and they can check later that nothing was changed",
        f"next: add the line `predictions: {target.name}` to {path}, and prism experiment {shlex.quote(str(path))}",
    ]
    show({"file": target, **msgspec.structs.asdict(sealed)}, lambda: lines, brief=str(target))


@command()
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
    plan, sealed = make_plan(path, is_sealed=False, model=model), read_sealed(file)
    name = run_name(path) if model is None else f"{run_name(path)}-{re.sub('[^A-Za-z0-9.]+', '-', model)}"
    place = out or EXPERIMENTS / name
    notes = notes_on_plan(file, sealed, plan.hash, parts_of(plan), model or "")
    answers = list[str]()
    if model is not None:
        from actors.cli.experiment import execute, refuse_lost  # noqa: PLC0415  # it has this command

        done = execute(replace(plan, sealed=sealed, notes=notes), place, Where())
        refuse_lost(done, place)
        answers = [each.text for each in done.outcome.answers]
    register(place, sealed)
    if data is not None:
        found = scores_of_data(data, sealed, place, notes)
    else:
        record = read_experiment_record(place)
        if not (record.is_final and has_results_of(record, plan)):
            raise RunDirectoryError(f"{place}: has no results of this plan yet: run `prism experiment {plan.path}`")
        seeds = record.plan.experiment.seeds
        found = scores_of_runs(sealed, seeds, record.values, place, cells_begun(place), notes)
    notes_said = [line(f"! {note}", "yellow") for note in found.notes]
    said = [*map(line, answers), line(found.text), "", *predictions_parts(found), *notes_said]
    show(found, lambda: said)

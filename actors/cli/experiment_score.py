"""`prism experiment score`: sealed predictions beside the outcomes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click
from rich.text import Text

from actors.cli.experiment_tables import predictions_table
from actors.cli.json_result import json_option, show_result
from actors.cli.study_options import EXPERIMENT_OUT, EXPERIMENTS, refuse_without_packages
from actors.cli.trust import TRUST
from actors.core.errors import RunDirectoryError
from actors.display.console import unwrapped_console
from actors.studies.experiments.cells import count_begun
from actors.studies.experiments.plan import make_plan, parts_of
from actors.studies.experiments.record import has_results_of, read_experiment_record
from actors.studies.experiments.seals import notes_on_plan, read_sealed, register, scores_of_data, scores_of_runs
from prism.experiment import PredictionScores
from prism.quoting import printable


@click.command()
@click.argument("path", metavar="EXPERIMENT", type=click.Path(path_type=Path))
@click.argument("file", metavar="SEALED", type=click.Path(path_type=Path))
@EXPERIMENT_OUT
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Score with measured figures: CSV with the columns condition, measure and value. The hash of FILE is kept.",
)
@json_option("Write the scores to FILE as JSON, too; with - print them in place of the table.")
@TRUST
def score(path: Path, file: Path, out: Path | None, data: Path | None, json_path: Path | None) -> None:
    """Score the predictions in SEALED with the results of EXPERIMENT, or with measured figures."""
    refuse_without_packages()
    plan, place, sealed = make_plan(path, is_sealed=False), out or EXPERIMENTS / path.stem, read_sealed(file)
    notes = notes_on_plan(file, sealed, plan.hash, parts_of(plan))
    registered = register(place, sealed, count_begun(place))
    if data is not None:
        found = scores_of_data(data, registered, place, notes)
    else:
        record = read_experiment_record(place)
        if not (record.is_final and has_results_of(record, plan)):
            raise RunDirectoryError(f"{place}: has no results of this plan yet: run `prism experiment {plan.path}`")
        found = scores_of_runs(registered, record.plan.experiment.seeds, record.values, place, notes)
    show_result(found, json_path, partial(_print, found))


def _print(found: PredictionScores) -> None:
    console = unwrapped_console()
    console.print(Text(printable(found.text)))
    console.print(Text())
    console.print(predictions_table(found))
    for note in found.notes:
        console.print(Text(printable(f"! {note}"), style="yellow"))

"""`prism new`: asks six questions, and writes the study that follows from the answers."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from actors.cli.experiment import OUT, refuse_without_packages
from actors.cli.experiment_plan import time_of
from actors.cli.experiment_tables import page_command
from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import write_file
from actors.display.console import echo
from actors.display.words import duration
from actors.logs.output import output, say
from actors.studies.experiments.new_study import ANSWER, NewStudy
from actors.studies.experiments.plan import make_plan
from prism.config.load import MAPPING_SOURCE
from prism.errors import ConfigError, PrismError
from prism.quoting import printable_lines

QUESTIONS: Mapping[str, str] = {
    "who": "Who",
    "many": "How many",
    "see": "What they see",
    "change": "What changes",
    "measure": "What is measured",
    "seeds": "How many seeds",
}
"""`{option: its question}`, in the order in which they are asked."""


@click.command()
@click.argument(
    "directory", metavar="[DIR]", default=Path("new-study"), type=click.Path(path_type=Path, file_okay=False)
)
@click.option("--who", metavar="WHO", help="people, friends or nations, or the path of a configuration of your own.")
@click.option("--many", metavar="N", help="How many people or nations there are.")
@click.option("--see", metavar="SEEN", help="What people see first in a feed, or the quarter from which nations start.")
@click.option("--change", metavar="SETTING=VALUE,...", help="The setting that is compared, and its other values.")
@click.option("--measure", metavar="MEASURE,...", help="The numbers of a run that are compared.")
@click.option("--seeds", metavar="N", help="How many seeds there are, each a matched pair.")
@click.option("--overwrite", is_flag=True, help="Replace the files of an earlier study in DIR.")
def new(directory: Path, *, overwrite: bool, **given: str | None) -> None:
    """Ask six questions, and write a study: DIR/DIR.yaml, with the reasons as comments.

    \b
      prism new new-study
      prism new new-study --who friends --many 300 --see interest \\
          --change feed.algorithm=chronological --measure likes --seeds 10

    An option answers a question, and only what is missing is asked. A wrong answer is asked again, with the reason.
    It ends with the next commands and how long they take. DIR is new-study by default.
    """
    refuse_without_packages()
    study = NewStudy(directory)
    if study.path.exists() and not overwrite:
        raise RunDirectoryError(f"{study.path}: exists already; --overwrite replaces it, or name another directory")
    missing = [name for name in QUESTIONS if given[name] is None]
    if missing and (output.is_json or not (sys.stdin.isatty() and sys.stderr.isatty())):
        options = ", ".join(f"--{name}" for name in missing)
        raise click.ClickException(f"no terminal to ask on, and no answer given: expected {options}")
    if missing:
        click.echo("Enter takes the answer in brackets. Ctrl-C leaves, and nothing is written.", err=True)
    for place, (name, title) in enumerate(QUESTIONS.items(), start=1):
        answer = given[name]
        if answer is None:
            _ask(study, name, f"{place}/{len(QUESTIONS)} {title}")
        elif reason := _refusal(study, name, answer):
            raise click.ClickException(f"--{name}: {reason}")
    _write(study, overwrite=overwrite)
    _tell_next(study)


def _ask(study: NewStudy, name: str, title: str) -> None:
    """Ask a question until its answer is right."""
    offer = study.offer(name)
    click.echo(err=True)
    click.secho(f"{title}?", bold=True, err=True)
    for line in offer.lines:
        click.echo(f"  {printable_lines(line)}", err=True)

    def take(text: str) -> str:
        if reason := _refusal(study, name, text):
            raise click.UsageError(reason)  # click asks again
        return text

    click.prompt(">", default=offer.default, value_proc=take, prompt_suffix=" ", err=True)


def _refusal(study: NewStudy, name: str, text: str) -> str:
    """Give an answer to the study. Return the reason if it is refused, and an empty text if it is taken."""
    try:
        study.answer(name, text)
    except ConfigError as error:
        if error.source not in (ANSWER, MAPPING_SOURCE):
            return str(error)
        return error.problem if error.key is None else f"{error.key}: {error.problem}"
    except PrismError as error:
        return str(error)
    return ""


def _write(study: NewStudy, *, overwrite: bool) -> None:
    """Write the files of the study. Without `overwrite` none is written if one of them exists.

    Raises:
        RunDirectoryError: a file exists and may not be replaced, or a file cannot be written.
    """
    files = study.files()
    existing = next((path for path in files if path.exists()), None)
    if existing is not None and not overwrite:
        raise RunDirectoryError(f"{existing}: exists already; --overwrite replaces it, or name another directory")
    for path, content in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise run_directory_error(error, f"{path.parent}: cannot be created") from None
        write_file(path, content)
        echo(f"wrote {path}")


def _tell_next(study: NewStudy) -> None:
    """Print the commands that come next, and how long they take."""
    say("estimating the time of the runs; a new machine compiles code first, which takes half a minute")
    made = make_plan(study.path)
    path, out = shlex.quote(str(study.path)), OUT / study.path.stem
    run_s = time_of(made, out)
    lines = [
        (f"prism experiment plan {path}", "what it would run, and what it could find: a few seconds"),
        (f"prism experiment {path}", f"run it, or go on with it: about {duration(run_s)}"),
        (page_command(out), "a page with the answer: a few seconds"),
    ]
    width = max(len(command) for command, _ in lines)
    echo("\n".join(["next:", *(f"  {command:{width}}  {said}" for command, said in lines)]))

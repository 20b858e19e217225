"""`prism distil`: writes an embedded oracle that answers as a run's model did."""

from __future__ import annotations

from pathlib import Path

import click

from actors.cli.options import PACKED_RUN
from actors.core.files import write_file
from actors.display.console import echo
from actors.pages.sharing_words import interval
from actors.runs.distil import distil_run
from prism.sharing.distilled import DistilledQuestion


@click.command(name="distil")
@PACKED_RUN
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="Write the oracle to this file, for the setting oracle.sharing.distilled.",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def distil_command(path: Path, *, out: Path, force: bool) -> None:
    """Fit an oracle without a model to what a model said in a run.

    RUN is the directory of a run with shared judgements (oracle.sharing.by). FILE gets a multinomial logit for each
    kind of question, its coefficients, and how far it is from judgements that it does not know. A run with
    oracle.sharing.distilled: FILE asks it in place of a model.
    """
    if out.exists() and not force:
        raise click.UsageError(f"{out} exists; --force replaces it")
    if not out.parent.is_dir():
        raise click.UsageError(f"{out.parent} is no directory; make it first")
    found = distil_run(path)
    write_file(out, found.to_yaml().encode())
    for question in found.questions:
        echo(_line(question))
    name = str(out)
    used = f"--set oracle.sharing.distilled={name} --set oracle.backend=choice --set oracle.sharing.by=none"
    echo(f"written to {name}; use it with {used} --set 'oracle.sharing.archetype={{}}'")


def _line(question: DistilledQuestion) -> str:
    """Return what was fitted to one kind of question, and how well."""
    return (
        f"{question.trigger} in {question.state}: {question.judgements:,} judgements, {len(question.columns)} columns, "
        f"{interval(question.divergence, 4)} bits from judgements that it does not know"
    )

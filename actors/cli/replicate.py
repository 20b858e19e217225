"""`prism replicate`: replicates a published study, and compares its figures with the runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from msgspec.structs import asdict
from rich.console import RenderableType
from rich.text import Text

from actors.cli.command import command
from actors.cli.experiment import JOBS, STUDY_DIRECTORY, execute, refuse_lost, refuse_without_packages
from actors.cli.options import TRUST, out_option, run_name
from actors.cli.render import line, show, table
from actors.core.files import write_json
from actors.display.words import duration
from actors.factory.shipped import replications
from actors.logs.output import say
from actors.studies import replications as ledger
from actors.studies.experiments.cells import Where
from actors.studies.experiments.run_measures import keep_own
from prism.experiment.replication import Replication


@command()
@click.argument("name", metavar="[NAME|FILE]", required=False)
@out_option(STUDY_DIRECTORY, f"{ledger.OUT}/NAME")
@JOBS
@TRUST
def replicate(name: str | None, out: Path | None, jobs: int | None) -> None:
    """Replicate a published study, and compare its figures with the runs.

    Without a name it lists the replications that come with PRISM, each with its last result. NAME runs one of them, or
    goes on with it; FILE is one of your own. docs/replications.md has its keys, and says when a figure is a hit. A miss
    is a result as well, so the exit code is 0.
    """
    if name is None:
        if out is not None or jobs is not None:
            raise click.UsageError("--out and --jobs are for a replication that is run: name one")
        every = ledger.entries()
        show({each.name: each.line for each in every}, lambda: _listed(every))
        return
    known, path = replications(), Path(name)
    if not path.is_file() and name not in known and path.suffix not in (".yaml", ".yml"):
        problem = f"no file and no replication is called {name!r}"
        raise click.UsageError(f"{problem}; the replications are: {', '.join(known)}")
    path = path if path.is_file() else known.get(name, path)
    place = out or ledger.OUT / run_name(path)
    refuse_without_packages()
    plan = ledger.make_replication_plan(path)
    done = execute(plan.experiment, place, Where(jobs=jobs))
    refuse_lost(done, place)
    keep_own(place, plan.functions)
    say("comparing with the published figures")
    found = ledger.line_of(plan, place, done.plan, done.values, done.outcome)
    write_json(place / ledger.LINE, found)
    remarks = done.outcome.remarks
    record = {"directory": place, **asdict(found), "remarks": remarks}
    show(
        record,
        lambda: [*_result(found, plan.replication, remarks), f"written to {place}: {ledger.LINE}"],
        brief=found.digest,
    )


def _result(found: ledger.Line, replication: Replication, remarks: Sequence[str]) -> Iterator[RenderableType]:
    yield line(replication.claim, "bold")
    yield line(replication.study)
    for difference in replication.differs:
        yield line(f"not as in the study: {difference}", "dim")
    yield ""
    rows = []
    for each in found.figures:
        *before, outcome, kind = ledger.cells_of(each)
        rows.append((*before, Text(outcome, style="green" if each.is_hit else "red"), kind))
    yield table(("figure", "published", "here", "outcome", "kind"), rows)
    yield line(ledger.HERE_SAID, "dim")
    took = f"{found.runs:,} runs, {found.calls:,} calls, {duration(found.seconds)} of runs, digest {found.digest[:16]}"
    yield line(f"hits: predicted {ledger.hits(found, fitted=False)}, fitted {ledger.hits(found, fitted=True)}; {took}")
    for remark in remarks:
        yield line(f"! {remark}", "bold yellow")


def _listed(every: list[ledger.Entry]) -> Iterator[RenderableType]:
    rows = []
    for each in every:
        last, cells = each.line, ["not run", *[ledger.NONE] * 4]
        if last is not None:
            cells = [
                ledger.hits(last, fitted=False),
                ledger.hits(last, fitted=True),
                f"{last.runs:,}",
                duration(last.seconds),
            ]
            cells.append("here" if each.is_own else "PRISM")
        rows.append((each.name, *cells))
    yield table(("replication", "predicted", "fitted", "runs", "time of runs", "from"), rows)
    yield line("from: the runs of this directory (here), or those that come with PRISM", "dim")

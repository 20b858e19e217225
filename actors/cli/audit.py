"""`prism audit`: puts a recorded study to the test."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from textwrap import fill

import anyio
import click
from rich.console import RenderableType

from actors.cli.command import command, count_option, flag, option, path_option
from actors.cli.options import TRUST, Directory, ask_to_run_code, can_ask, require, set_option, with_log_options
from actors.cli.render import show, table
from actors.cli.run import logging_trouble
from actors.logs.output import say
from actors.runs.signals import EXIT_BASE
from actors.store.lock import locked
from actors.studies.audit.audit import DRAWS, Auditing, Options
from actors.studies.audit.record import AUDIT, answers_kept, keep_audit
from prism.audit.record import Audit, Claim
from prism.audit.shift import FEWEST
from prism.audit.words import examined, findings_or_none, interval
from prism.wording import counted

WIDTH = 100


@command()
@click.argument("path", metavar="RUN|EXPERIMENT", type=Directory("run or experiment"))
@count_option("--calls", help="Make at most N calls, and do not ask first.")
@flag("--yes", "-y", help="Do not ask before the first call.")
@option(
    "--other",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of another model or host that is asked, too, such as --other llm.model=qwen3:4b. May be repeated.",
)
@option(
    "--about",
    default="",
    show_default=False,
    metavar="TEXT",
    help="What is studied, besides the question of the experiment.",
)
@path_option(
    "--against",
    metavar="FILE.csv",
    help="Choices of real people: the columns agent and choice, and tick for those about a recorded question.",
)
@option("--of", "measures", multiple=True, metavar="MEASURE", help="A measure of a run to follow; may be repeated.")
@count_option(
    "--draws",
    least=0,
    default=DRAWS,
    metavar="K",
    help="Carry each shift to the outcome under K draws of a run, or K seeds of an experiment; 0 runs no futures.",
)
@count_option("--jobs", most=1024, default=1, help="Run N futures at once; the result is the same.")
@set_option("oracle.max_concurrency=4")
@TRUST
@with_log_options
def audit(  # one for each option
    path: Path,
    *,
    calls: int | None,
    yes: bool,
    other: tuple[str, ...],
    about: str,
    against: Path | None,
    measures: tuple[str, ...],
    draws: int,
    jobs: int,
    overrides: tuple[str, ...],
) -> None:
    """Ask a study's recorded questions again in other ways, and tell whether its claims survive.

    A sample of the questions is asked again with another wording, persona format, order of the options, seed and
    temperature, and with what another person saw; the model is also asked what is being studied. The shifts are carried
    to the outcome in other futures of the runs. It says how many calls that takes, and asks before the first one.

    Answers are kept as they arrive, in the directory audit of the run or the experiment, with the result: after Ctrl-C,
    or if the server goes away, the same command goes on. No other file changes.
    """
    require(["scipy"], "prism audit has intervals by scipy")
    ask_to_run_code(path, overrides)
    with locked(path):
        auditing = Auditing(path, Options(calls, other, about, against, measures, overrides, draws, jobs))
        say(auditing.plan)
        if not yes and calls is None:
            if not can_ask():
                raise click.UsageError("nobody can be asked here whether to begin: set --yes, or --calls N")
            click.confirm("Ask now?", default=True, abort=True, err=True)
        try:
            with logging_trouble():
                found = anyio.run(partial(auditing.audit, say))
        except KeyboardInterrupt:
            kept = f"{counted(answers_kept(path), 'answer')} kept in {path / AUDIT}, none of which is paid again"
            say(f"SIGINT: {kept}; go on with: {shlex.join(['prism', *sys.argv[1:]])}", level="warning")
            sys.exit(EXIT_BASE + signal.SIGINT)
        file = keep_audit(path, found)
    show(found, lambda: audit_view(found))
    for note in found.notes:
        say(note)
    say(f"kept in {file}; prism report and prism view show it")


def audit_view(found: Audit) -> Iterator[RenderableType]:
    yield from (f"  {each}" for each in findings_or_none(found))
    shifts, ends = [], " (95% interval)" if any(each.people >= FEWEST for each in found.shifts) else ""
    for each in found.shifts:
        largest = each.largest
        option, points = ("-", "-") if largest is None else (largest.option, interval(largest.points))
        turned = "-" if each.turned.low is None else interval(each.turned)
        shifts.append((each.what, option, points, turned, f"{each.p_holm:.3f}", each.finding))
    columns = ("another", "option", f">shift, points{ends}", ">turned beyond chance, points", ">p (Holm)", "answers")
    yield table(columns, shifts, "shifts of the answers")
    yield from (f"  {each}" for each in examined(found))
    if found.claims:
        rows = [row for each in found.claims for row in _claim_rows(each)]
        titles = ("claim", "another", ">effect", ">change (95% interval)", "verdict")
        yield table(titles, rows, "carried to the outcome")
    yield ""
    yield fill(found.paragraph, WIDTH)


def _claim_rows(claim: Claim) -> Iterator[tuple[str, ...]]:
    def number(value: float) -> str:
        return f"{round(value, 9) + 0.0:.4g}"  # a difference of equal sums may be 1e-17

    yield claim.claim, "as the study has it", number(claim.effect), "", claim.verdict
    for each in claim.carried:
        ends = "" if each.change.low is None else f" ({each.change.low:.3g} to {each.change.high:.3g})"
        yield "", each.way, number(each.effect.value), f"{number(each.change.value)}{ends}", each.verdict

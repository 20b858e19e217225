"""`prism sharing`: the outcomes of a run that shared judgements, beside those of asking each person."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import click
import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from actors.cli.help_sections import LOG, SectionedCommand
from actors.cli.json_result import json_option, show_result
from actors.cli.options import PACKED_RUN, shown, with_log_options
from actors.cli.progress import futures_shown
from actors.cli.tables import table
from actors.cli.trust import TRUST, ask_to_run_code
from actors.display.console import SafeConsole
from actors.logs.output import say
from actors.studies.causes.shared_outcomes import FUTURES, LEAST, AskedEach, SharedOutcomes, shared_outcomes
from actors.studies.causes.words import number

DIGITS = 3


@click.command(cls=SectionedCommand, sections=LOG)
@PACKED_RUN
@click.option(
    "--of",
    default="",
    metavar="MEASURE,...",
    help="Measures, as experiments name them.  [default: the counts of the world, and cascades]",
)
@click.option(
    "--futures",
    type=click.IntRange(min=LEAST),
    default=FUTURES,
    show_default=True,
    metavar="N",
    help="Run N futures; more of them make the ends of intervals more precise.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    metavar="N",
    help="Run futures in N processes; the result is the same.",
)
@TRUST
@json_option("Write the result, with each round, to FILE as JSON, too; with - print it in place of tables.")
@with_log_options
def sharing(path: Path, *, of: str, futures: int, jobs: int, json_path: Path | None) -> None:
    """Estimate the outcomes of a run that shared judgements if everybody had been asked.

    \b
      prism sharing runs/shared
      prism sharing runs/shared --of likes,cascades.size.max --jobs 2

    RUN is the directory of a run with shared judgements (oracle.sharing.by); none of its files changes. The
    command runs futures of the run. In each of them, each person who shared a judgement gets an individual one instead,
    drawn from those that the run's audits make plausible. No model is asked.
    """
    ask_to_run_code(path)
    measures = tuple(each.strip() for each in of.split(",") if each.strip())
    found: SharedOutcomes = anyio.run(futures_shown, partial(shared_outcomes, path, measures, futures, jobs))
    found = msgspec.structs.replace(found, run=str(shown(path)))
    show_result(found, json_path, partial(_print, found))


def _print(found: SharedOutcomes) -> None:
    SafeConsole().print(shared_outcomes_view(found))
    for note in found.notes:
        say(note)


def shared_outcomes_view(found: SharedOutcomes) -> RenderableType:
    """Return the outcomes as tables: those of the run, and estimates of them if everybody had been asked."""
    head = f"after {found.ticks:,} ticks: as shared, and if everybody had been asked, by {found.audits:,} audits"
    tables: list[RenderableType] = [_table("outcome", found.outcomes)]
    if found.states:
        tables.append(_table("in state, mean of rounds", found.states))
    if any(map(_is_changed, (*found.outcomes, *found.states))):
        tables.append(Text("  * sharing has changed it: as shared is outside of the interval", style="yellow"))
    parts = [f"{found.redrawn:,.0f} judgements drawn anew", f"{found.asked:,.0f} questions kept their answers"]
    if found.computed:
        parts.append(f"{found.computed:,.0f} of a kind that the run does not know got answers of the embedded oracle")
    return Group(
        Text(head, style="bold"), *tables, Text(f"  {found.futures:,} futures; in each {', '.join(parts)}", style="dim")
    )


def _table(title: str, outcomes: Sequence[AskedEach]) -> Table:
    """Return numbers with their intervals. A number outside of its interval has a mark: sharing has changed it."""
    rows = []
    for each in outcomes:
        ends = f"{number(each.mean, DIGITS)} [{number(each.low, DIGITS)}, {number(each.high, DIGITS)}]"
        mark = Text("*", style="yellow") if _is_changed(each) else ""
        rows.append((each.name, number(each.shared), ends, mark))
    return table((title, ">as shared", ">asked [95%]", ""), rows)


def _is_changed(each: AskedEach) -> bool:
    return not each.low <= each.shared <= each.high

"""`prism cause`: what made an outcome of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click
import msgspec
from rich.console import RenderableType

from actors.cli.command import command, count_option, option
from actors.cli.options import PACKED_RUN, TRUST, ask_to_run_code, require, shown, with_log_options
from actors.cli.render import line, show, table
from actors.cli.run import logging_trouble
from actors.core.errors import DiskFailedError, RunDirectoryError, ungrouped
from actors.display.progress import Standing, progress_shown
from actors.logs.output import say
from actors.studies.causes.record import KINDS, Causes, answered_words, interval, keep, number, signed, tried_words
from actors.studies.causes.search import causes


def _kinds(_: click.Context, __: click.Parameter, value: str) -> Sequence[str]:
    kinds = [each.strip() for each in value.split(",") if each.strip()]
    for each in kinds:
        if each not in KINDS:
            raise click.BadParameter(f"expected some of {','.join(KINDS)}, got {each!r}")
    return kinds


@command()
@PACKED_RUN
@option("--of", required=True, metavar="MEASURE", help="The outcome: a measure, such as likes, or cascade:POST.")
@option(
    "--by",
    default="",
    show_default=False,
    callback=_kinds,
    metavar="KIND,...",
    help=f"Undo these alone: {', '.join(KINDS)}.  [default: all that the run's domain has]",
)
@option("--agent", metavar="A", help="Undo only what this agent was and did, by its number or its name.")
@count_option(
    "--since",
    least=0,
    metavar="TICK",
    help="People fall silent and ties end at this tick; earlier decisions stay.  [default: 0, or that of POST]",
)
@count_option(
    "--budget",
    default=500,
    help="Undo at most N things, each in a future; of more, a sample. The futures of --draws are besides these.",
)
@count_option("--top", default=10, help="Show the N largest effects.")
@count_option(
    "--draws",
    least=0,
    default=10,
    metavar="K",
    help="Look at each of these under K other draws, too, in two futures each.",
)
@count_option("--jobs", most=1024, default=1, help="Run N futures at once; the result is the same.")
@TRUST
@with_log_options
def cause(  # one for each option
    path: Path,
    *,
    of: str,
    by: Sequence[str],
    agent: str | None,
    since: int | None,
    budget: int,
    top: int,
    draws: int,
    jobs: int,
) -> None:
    """Tell which people, ties and decisions made an outcome of a run.

    \b
      prism cause runs/default-001 --of likes
      prism cause runs/default-001 --of cascade:285212672 --by people,ties --budget 2000

    RUN is the run's directory; the result is kept in RUN/causes, unless of one agent alone. Each thing is undone in
    another future of the run, under the same draws, so the difference is the effect of this thing. Recorded answers of
    a model are kept, and the embedded oracle answers questions that the run never asked. See docs/cause.md.
    """
    require(["scipy"], "prism cause has intervals by scipy")
    ask_to_run_code(path)
    numbers: dict[str, Any] = {"since": since, "budget": budget, "top": top, "draws": draws, "jobs": jobs}
    standing = [Standing("doing the run again")]

    def on_future(done: int, wanted: int) -> None:  # the first future is the run itself
        if done > 1:
            standing[0] = Standing(f"{done:,} of {wanted:,} other futures", done, wanted)

    try:
        with logging_trouble(), ungrouped(), progress_shown(lambda: standing[0]):
            found = anyio.run(partial(causes, path, of, by=by, agent=agent, on_progress=on_future, **numbers))
    except KeyboardInterrupt:
        say("SIGINT: nothing is kept of a search that has not ended", level="warning")
        raise
    found = msgspec.structs.replace(found, run=str(shown(path)))
    show(found, lambda: causes_view(found))
    for note in found.notes:
        say(note)
    # Write the causes to the run's directory and print the path; if they cannot be written, print the reason.
    if agent is not None:  # RUN/causes may have the causes of all agents: keep those
        return
    if shown(path) != path:
        say(f"not kept: {shown(path)} is a packed run")
        return
    try:
        say(f"kept in {keep(path, found)}; prism report and prism view draw it")
    except (RunDirectoryError, DiskFailedError) as error:
        say(f"not kept: {error}")


def causes_view(found: Causes) -> Iterator[RenderableType]:
    yield line(f"{found.of}: {number(found.value)} in the run, after {found.ticks:,} ticks", "bold")
    yield from (f"  {tried_words(each)}" for each in found.tried)
    yield from (f"  {each}" for each in answered_words(found))
    if found.causes:
        has_draws = any(each.other_draws is not None for each in found.causes)
        effects = [
            (
                *(each.kind, each.what, each.tick, signed(each.effect), number(each.value)),
                *([interval(each.other_draws)] if has_draws else []),
            )
            for each in found.causes
        ]
        columns = ("kind", "what", ">tick", ">effect", ">without", *(["other draws [95%]"] if has_draws else []))
        yield table(columns, effects, "what it has added")
    elif found.tried:
        yield "  nothing that was undone changes it"
    yield line(f"  {found.futures:,} other futures", "dim")

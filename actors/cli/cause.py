"""`prism cause`: what made an outcome of a run."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import click
import msgspec
from rich.table import Table as Grid
from rich.text import Text

from actors.cli.cause_view import causes_view
from actors.cli.explain import print_json
from actors.cli.help_sections import LOG, SectionedCommand
from actors.cli.options import PACKED_RUN, shown, with_log_options
from actors.cli.run_command import logging_trouble
from actors.cli.trust import TRUST, ask_to_run_code
from actors.core.errors import ungrouped
from actors.core.extras import not_installed
from actors.core.files import write_file
from actors.display.console import SafeConsole
from actors.display.frame import Frame
from actors.display.progress import LINE_EVERY_S
from actors.display.progress_bar import ProgressBar
from actors.display.words import duration
from actors.logs.output import output, say
from actors.studies.causes.candidates import KINDS
from actors.studies.causes.record import Causes
from actors.studies.causes.search import causes


def _kinds(_: click.Context, __: click.Parameter, value: str) -> Sequence[str]:
    """Return the kinds of things that are named."""
    kinds = [each.strip() for each in value.split(",") if each.strip()]
    for each in kinds:
        if each not in KINDS:
            raise click.BadParameter(f"expected some of {','.join(KINDS)}, got {each!r}")
    return kinds


@click.command(cls=SectionedCommand, sections=LOG)
@PACKED_RUN
@click.option("--of", required=True, metavar="MEASURE", help="The outcome: a measure, or cascade:POST.")
@click.option(
    "--by",
    default="",
    callback=_kinds,
    metavar="KIND,...",
    help=f"Undo these alone: {', '.join(KINDS)}.  [default: all that the run's domain has]",
)
@click.option(
    "--groups",
    default="",
    metavar="ATTRIBUTE",
    help="Share the outcome out among groups of people by this attribute, and undo nothing else unless --by says so.",
)
@click.option(
    "--since",
    type=click.IntRange(min=0),
    metavar="TICK",
    help="People fall silent and ties end at this tick; earlier decisions stay.  [default: 0, or that of POST]",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    metavar="N",
    help="Undo at most N things, each in a future of its own; of more than that, a sample.",
)
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Show the N largest effects."
)
@click.option(
    "--draws",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="K",
    help="Look at each of these under K other draws, too, in two futures each.",
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
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE|-",
    help="Write the result to FILE as JSON, too; with - print it in place of tables.",
)
@with_log_options
def cause(  # noqa: PLR0913  # one for each option
    path: Path,
    *,
    of: str,
    by: Sequence[str],
    groups: str,
    since: int | None,
    budget: int,
    top: int,
    draws: int,
    jobs: int,
    json_path: Path | None,
) -> None:
    """Tell which people, ties and decisions made an outcome of a run.

    \b
      prism cause runs/default-001 --of likes
      prism cause runs/default-001 --of cascade:285212672 --by people,ties --budget 2000
      prism cause runs/default-001 --of rounds.mean.likes --groups party

    RUN is the run's directory; none of its files changes. Each thing is undone in another future of the run: a person
    is silent, a tie is absent, a decision is another one, an intervention does not take place. All that is drawn stays
    the same, so the difference is the effect of this thing. No model is asked: recorded answers are kept, and questions
    that never were are answered by the embedded oracle.
    """
    if find_spec("scipy") is None:
        raise click.ClickException(not_installed("prism cause has intervals by scipy", "experiments"))
    ask_to_run_code(path)
    numbers: dict[str, Any] = {"since": since, "budget": budget, "top": top, "draws": draws, "jobs": jobs}
    is_alone = json_path is not None and str(json_path) == "-"
    found = anyio.run(_found, partial(causes, path, of, by=by, groups=groups, **numbers))
    found = msgspec.structs.replace(found, run=str(shown(path)))
    if is_alone:
        print_json(found)
        return
    SafeConsole().print(causes_view(found))
    for note in found.notes:
        say(note)
    if json_path is not None:
        write_file(json_path, msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")


async def _found(search: Callable[..., Awaitable[Causes]]) -> Causes:
    """Return the causes, and show how far the search is."""
    progress = _Progress()
    console = SafeConsole(stderr=True)
    is_live = console.is_terminal and not console.is_dumb_terminal and not output.is_json
    with logging_trouble(), ungrouped(), Frame(console, stays=False) if is_live else nullcontext() as frame:
        async with anyio.create_task_group() as tasks:

            async def tell() -> None:
                while True:
                    await anyio.sleep(0.25 if frame is not None else LINE_EVERY_S)
                    if frame is not None:
                        frame.content = progress.drawn()
                    else:
                        say(progress.words())

            tasks.start_soon(tell)
            found = await search(on_progress=progress.note)
            tasks.cancel_scope.cancel()
    return found


class _Progress:
    """The progress of a search."""

    def __init__(self) -> None:
        self._done, self._wanted = 0, 0
        self._begun = time.monotonic()

    def note(self, done: int, wanted: int) -> None:
        """Note how many futures are done, and how many there are to be so far."""
        if not self._done:
            self._begun = time.monotonic()
        self._done, self._wanted = done, wanted

    def words(self) -> str:
        """Return it in words."""
        if self._done < 2:
            return "doing the run again"
        each_s = (time.monotonic() - self._begun) / (self._done - 1)
        left = duration(each_s * (self._wanted - self._done))
        return f"{self._done:,} of {self._wanted:,} other futures, {1.0 / max(each_s, 1e-9):,.1f} a second, {left} left"

    def drawn(self) -> Grid:
        """Return it as a bar."""
        grid = Grid.grid(padding=(0, 1))
        grid.add_row(ProgressBar(self._done, max(1, self._wanted), width=20), Text(self.words()))
        return grid

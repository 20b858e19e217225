"""`prism explain`: why an agent of a run did what it did, and what would have been different."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import click

from actors.cli.explain_view import (
    added_lines,
    cascade_lines,
    explanation_lines,
    path_lines,
    quarter_lines,
    tie_lines,
    what_if_lines,
)
from actors.cli.help_sections import LOG, SectionedCommand
from actors.cli.json_result import print_json
from actors.cli.options import PACKED_RUN, with_log_options
from actors.cli.progress import futures_shown
from actors.cli.run_command import with_progress
from actors.cli.trust import TRUST, ask_to_run_code
from actors.core.machine import not_installed
from actors.display.console import echo
from actors.display.starting import step_shown
from actors.explain.explain import explain_path, explain_turn
from actors.explain.explained_post import explain_post, explain_tie
from actors.explain.explained_quarter import explain_quarter
from actors.explain.explanation import plain
from actors.explain.what_if import what_if
from actors.runtime.simulation import Simulation
from actors.studies.causes.search import causes_of_agent

T = TypeVar("T")
SHOWN_AFTER_S = 2.0
"""The time after which a re-execution shows its progress."""


@click.command(cls=SectionedCommand, sections={"Another answer": ("--what-if", "--ticks", "--ask"), **LOG})
@PACKED_RUN
@click.option("--agent", metavar="A", help="Show the path of this agent, by its number or its name.")
@click.option("--tick", type=click.IntRange(min=0), metavar="T", help="Explain the agent's turns in this tick.")
@click.option("--whom", metavar="B", help="Show each change of the agent's tie to this person, and why.")
@click.option("--cause", "is_cause", is_flag=True, help="Show what the agent and its decisions added to an outcome.")
@click.option(
    "--of",
    metavar="MEASURE",
    help="With --cause: this outcome, as for prism cause.  [default: the largest cascade that the agent is in]",
)
@click.option("--first", type=click.IntRange(min=0), metavar="T", help="Show the path from this tick on.")
@click.option("--last", type=click.IntRange(min=0), metavar="T", help="Show the path up to this tick.")
@click.option("--post", type=click.IntRange(min=0), metavar="P", help="Show the whole tree of this post, and why.")
@click.option("--quarter", type=int, metavar="Q", help="Explain this quarter of an economy, counted from 1.")
@click.option(
    "--what-if",
    "change",
    metavar="answer=STATE",
    help="With --agent and --tick: show what would have been different with this answer.",
)
@click.option("--ticks", type=click.IntRange(min=1), metavar="K", help="Compare K ticks after it.  [default: a round]")
@click.option("--ask", is_flag=True, help="Let the model answer questions of the other future, which may cost money.")
@TRUST
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every text as it is.")
@with_log_options
def explain(  # one for each option
    path: Path,
    *,
    agent: str | None,
    tick: int | None,
    whom: str | None,
    is_cause: bool,
    of: str | None,
    first: int | None,
    last: int | None,
    post: int | None,
    quarter: int | None,
    change: str | None,
    ticks: int | None,
    ask: bool,
    as_json: bool,
) -> None:
    """Explain a decision of a run, and what led to it.

    \b
      prism explain runs/default-001 --agent 17             its path, a line for each turn
      prism explain runs/default-001 --agent 17 --tick 98   one turn: guards, question, answer
      prism explain runs/default-001 --agent 17 --tick 98 --what-if answer=scrolling
      prism explain runs/default-001 --agent 17 --whom 40   each change of this tie, and why
      prism explain runs/default-001 --agent 17 --cause     what it and its decisions added to an outcome
      prism explain runs/default-001 --post 285212672       the tree of a post, and who decided what
      prism explain runs/economy-001 --quarter 12           proposals, reviews, effects and reasoning

    RUN is the run's directory. Turns are worked out again from the nearest checkpoint, and compared with the journal:
    no model is asked, nothing is written, and a run that is going on is not disturbed.
    """
    options = {"--agent": agent, "--post": post, "--quarter": quarter, "--tick": tick, "--first": first, "--last": last}
    _refuse_misfits(
        {
            **options,
            "--whom": whom,
            "--cause": is_cause,
            "--of": of,
            "--what-if": change,
            "--ticks": ticks,
            "--ask": ask,
        }
    )
    if is_cause and find_spec("scipy") is None:
        raise click.ClickException(not_installed("prism explain --cause has intervals by scipy", "experiments"))
    if agent is None or is_cause or (tick, whom) != (None, None):  # all but the path of an agent, which the journal has
        ask_to_run_code(path)
    show = partial(_show, as_json=as_json)
    if is_cause:
        added = anyio.run(futures_shown, partial(causes_of_agent, path, str(agent), of))
        _print(added, added_lines(added), as_json=as_json)
    elif change is not None:
        show(partial(what_if, path, str(agent), int(tick or 0), _answer(change), ticks, ask=ask), what_if_lines)
    elif agent is None or (tick, whom) != (None, None):
        show(*_explained(path, str(agent), tick=tick, whom=whom, post=post, quarter=quarter))
    else:
        with nullcontext() if as_json else step_shown("reading the journal"):
            found = explain_path(path, str(agent), first, last)
        _print(plain(found), path_lines(found), as_json=as_json)


def _explained(
    path: Path, agent: str, *, tick: int | None, whom: str | None, post: int | None, quarter: int | None
) -> tuple[Any, Any]:
    """Return the function that works out what the options name, and the one that yields its lines."""
    if whom is not None:
        return partial(explain_tie, path, agent, whom), tie_lines
    if post is not None:
        return partial(explain_post, path, post), cascade_lines
    if quarter is not None:
        return partial(explain_quarter, path, quarter), quarter_lines
    return partial(explain_turn, path, agent, int(tick or 0)), explanation_lines


def _refuse_misfits(given: Mapping[str, object]) -> None:
    """Refuse options that do not go together; `given` has the value of each, None or False if it is not given."""
    options = {name for name, value in given.items() if value is not None and value is not False}
    things = [name for name in ("--agent", "--post", "--quarter") if name in options]
    if len(things) != 1:
        got = " and ".join(things) or "none of them"
        raise click.UsageError(f"expected one of --agent, --post and --quarter, got {got}")
    for one_of, needed, without, problem in GO_WITH:
        if options & one_of and (needed - options or options & without):
            raise click.UsageError(problem)
    first, last = given["--first"], given["--last"]
    if isinstance(first, int) and isinstance(last, int) and first > last:
        raise click.BadParameter(f"expected a tick from --first {first} on, got {last}", param_hint="'--last'")


PATH = {"--first", "--last"}
GO_WITH: Final[Sequence[tuple[set[str], set[str], set[str], str]]] = (
    ({"--tick"}, {"--agent"}, set(), "--tick goes with --agent"),
    (PATH, {"--agent"}, {"--tick"}, "--first and --last choose from the path of an agent, without --tick"),
    ({"--ticks", "--ask"}, {"--what-if"}, set(), "--ticks and --ask go with --what-if"),
    (
        {"--what-if"},
        {"--agent", "--tick"},
        set(),
        "--what-if goes with --agent and --tick, which name the question",
    ),
    ({"--whom"}, {"--agent"}, {"--tick", *PATH}, "--whom goes with --agent, without --tick, --first and --last"),
    ({"--of"}, {"--cause"}, set(), "--of goes with --cause"),
    (
        {"--cause"},
        {"--agent"},
        {"--tick", "--whom", "--what-if", *PATH},
        "--cause goes with --agent, without --tick, --whom, --what-if, --first and --last",
    ),
)
"""`(options, those that they need, those that exclude them, the refusal)`."""


def _answer(change: str) -> str:
    """Return the answer that is to be given instead."""
    key, sign, value = change.partition("=")
    if key.strip() != "answer" or not sign:
        raise click.BadParameter(f"expected answer=STATE, got {change!r}", param_hint="'--what-if'")
    return value.strip()


def _show(
    function: Callable[[Callable[[Simulation], None]], Awaitable[T]],
    lines: Callable[[T], Iterable[str]],
    *,
    as_json: bool,
) -> None:
    """Print what a function works out, as JSON or in lines; its progress is shown if it takes long."""
    found = anyio.run(partial(with_progress, function, quiet=as_json, after_s=SHOWN_AFTER_S))
    _print(plain(found), lines(found), as_json=as_json)


def _print(found: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a record as JSON, or its lines."""
    if as_json:
        print_json(found)
    else:
        echo("\n".join(lines))

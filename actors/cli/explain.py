"""`prism explain`: why an agent of a run did what it did, and what would have been different."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import anyio
import click

from actors.cli.command import command, option
from actors.cli.options import PACKED_RUN, with_log_options
from actors.cli.render import show
from actors.cli.run_command import futures_shown, with_progress
from actors.cli.trust import TRUST, ask_to_run_code
from actors.core.machine import not_installed
from actors.display.work import step_shown
from actors.explain.path import explain_path
from actors.explain.posts import explain_post, explain_tie
from actors.explain.quarter import explain_quarter
from actors.explain.tree import Node, lines
from actors.explain.turns import explain_turns
from actors.explain.what_if import what_if
from actors.runtime.simulation import Simulation
from actors.studies.causes.search import causes_of_agent

POST_DIGITS_MAX: Final = 19
"""The digits of the largest number of 64 bits."""
OTHER = "Another answer"
SHOWN_AFTER_S = 2.0
"""The time after which a re-execution shows its progress."""


@command()
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
@click.option("--post", metavar="P", help="Show the whole tree of this post, by its number, and why.")
@click.option("--quarter", type=int, metavar="Q", help="Explain this quarter of an economy, counted from 1.")
@option(
    "--what-if",
    "change",
    section=OTHER,
    metavar="answer=STATE",
    help="With --agent and --tick: show what would have been different with this answer.",
)
@option(
    "--ticks",
    section=OTHER,
    type=click.IntRange(min=1),
    metavar="K",
    help="Compare K ticks after it.  [default: a round]",
)
@option(
    "--ask",
    section=OTHER,
    is_flag=True,
    help="Let the model answer questions of the other future, which may cost money.",
)
@TRUST
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
    post: str | None,
    quarter: int | None,
    change: str | None,
    ticks: int | None,
    ask: bool,
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
    again: Callable[[Callable[[Simulation], None]], Awaitable[Node]]
    if is_cause:
        found = anyio.run(futures_shown, partial(causes_of_agent, path, str(agent), of))
    elif agent is not None and (tick, whom) == (None, None):
        with step_shown("reading the journal"):
            found = explain_path(path, agent, first, last)
    else:
        if change is not None:
            again = partial(what_if, path, str(agent), int(tick or 0), _answer(change), ticks, ask=ask)
        elif whom is not None:
            again = partial(explain_tie, path, str(agent), whom)
        elif post is not None:
            again = partial(explain_post, path, _post(post))
        elif quarter is not None:
            again = partial(explain_quarter, path, quarter)
        else:
            again = partial(explain_turns, path, str(agent), int(tick or 0), None)
        found = anyio.run(partial(with_progress, again, after_s=SHOWN_AFTER_S))
    show(found, lambda: lines(found))


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


def _post(post: str) -> int:
    """Return the number of a post. Data frames name it by its author, with the number in another column."""
    if not post.isdecimal() or len(post) > POST_DIGITS_MAX:
        where = "the column post of `prism export`, or post_id of result.table(...)"
        problem = f"expected the number of a post, from {where}, got {post!r}"
        raise click.BadParameter(problem, param_hint="'--post'")
    return int(post)


def _answer(change: str) -> str:
    """Return the answer that is to be given instead."""
    key, sign, value = change.partition("=")
    if key.strip() != "answer" or not sign:
        raise click.BadParameter(f"expected answer=STATE, got {change!r}", param_hint="'--what-if'")
    return value.strip()

"""`prism explain`: why an agent of a run did what it did, and what would have been different."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import click

from actors.cli.command import command, count_option, option
from actors.cli.options import PACKED_RUN, TRUST, ask_to_run_code, with_log_options
from actors.cli.render import show
from actors.cli.run import with_progress
from actors.display.progress import step_shown
from actors.explain.posts import explain_post
from actors.explain.tree import lines
from actors.explain.turns import explain_path, explain_turns
from actors.explain.what_if import what_if

POST_DIGITS_MAX: Final = 19
"""The digits of the largest number of 64 bits."""
SHOWN_AFTER_S = 2.0
"""The time after which a re-execution shows its progress."""


@command()
@PACKED_RUN
@option("--agent", metavar="A", help="Show the path of this agent, by its number or its name.")
@count_option("--tick", least=0, needs=["--agent"], metavar="T", help="Explain the agent's turns in this tick.")
@count_option(
    "--first", least=0, needs=["--agent"], without=["--tick"], metavar="T", help="Show the path from this tick on."
)
@count_option(
    "--last", least=0, needs=["--agent"], without=["--tick"], metavar="T", help="Show the path up to this tick."
)
@option("--post", metavar="P", help="Show the whole tree of this post, by its number, and why.")
@option(
    "--what-if",
    "change",
    needs=["--agent", "--tick"],
    metavar="answer=STATE",
    help="With --agent and --tick: show what would have been different with this answer.",
)
@count_option("--ticks", needs=["--what-if"], metavar="K", help="Compare K ticks after it.  [default: a round]")
@TRUST
@with_log_options
def explain(  # one for each option
    path: Path,
    *,
    agent: str | None,
    tick: int | None,
    first: int | None,
    last: int | None,
    post: str | None,
    change: str | None,
    ticks: int | None,
) -> None:
    """Explain a decision of a run, and what led to it.

    \b
      prism explain runs/default-001 --agent 17             its path, a line for each turn
      prism explain runs/default-001 --agent 17 --tick 98   one turn: guards, question, answer
      prism explain runs/default-001 --agent 17 --tick 98 --what-if answer=scrolling
      prism explain runs/default-001 --post 285212672       the tree of a post, and who decided what

    RUN is the run's directory. Turns are worked out again from the nearest checkpoint, and compared with the journal:
    no model is asked, nothing is written, and a run that is going on is not disturbed.
    """
    if (agent is None) == (post is None):
        raise click.UsageError(f"expected --agent or --post, got {'none of them' if agent is None else 'both'}")
    if first is not None and last is not None and first > last:
        raise click.BadParameter(f"expected a tick from --first {first} on, got {last}", param_hint="'--last'")
    if agent is None or tick is not None:  # all but the path of an agent, which the journal has
        ask_to_run_code(path)
    if agent is not None and tick is None:
        with step_shown("reading the journal"):
            found = explain_path(path, agent, first, last)
    else:
        if change is not None:
            key, sign, answer = change.partition("=")
            if key.strip() != "answer" or not sign:
                raise click.BadParameter(f"expected answer=STATE, got {change!r}", param_hint="'--what-if'")
            again = partial(what_if, path, str(agent), int(tick or 0), answer.strip(), ticks)
        elif post is not None:
            # Data frames name a post by its author, with its number in another column.
            if not post.isdecimal() or len(post) > POST_DIGITS_MAX:
                where = "the column post of `prism export`, or post_id of result.table(...)"
                problem = f"expected the number of a post, from {where}, got {post!r}"
                raise click.BadParameter(problem, param_hint="'--post'")
            again = partial(explain_post, path, int(post))
        else:
            again = partial(explain_turns, path, str(agent), int(tick or 0), None)
        found = with_progress(again, after_s=SHOWN_AFTER_S)
    show(found, lambda: lines(found))

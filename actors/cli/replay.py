"""`prism replay`: runs a recorded run again, and compares it with its journal."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio

from actors.cli.command import command, count_option
from actors.cli.options import PACKED_RUN, shown, with_log_options
from actors.cli.render import show
from actors.cli.run_command import with_progress
from actors.cli.trust import TRUST, ask_to_run_code
from actors.runs.directory import RunDirectory
from actors.runs.replay import replay as run_again


@command()
@PACKED_RUN
@count_option("--ticks", help="Replay only the first N ticks.")
@TRUST
@with_log_options
def replay(path: Path, ticks: int | None) -> None:
    """Do a run again without a model, and compare every tick.

    RUN is the run's directory. The oracle's answers come from oracle.log; those of the embedded oracle are computed
    again. Nothing is written. The first difference ends it with exit code 1 and one line that names the tick, the agent
    and the field.
    """
    ask_to_run_code(path)
    engine = anyio.run(partial(with_progress, partial(run_again, RunDirectory(path), ticks))).engine
    digest = engine.digest.hexdigest()
    line = f"{shown(path)}: {engine.tick:,} ticks replayed, every one as recorded; digest {digest}"
    show({"run": shown(path), "ticks": engine.tick, "digest": digest}, lambda: [line], brief=digest)

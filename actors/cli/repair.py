"""`prism repair`: runs a run again from the first answer that it has lost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from actors.cli.help_sections import LOG, SectionedCommand
from actors.cli.options import PACKED_RUN, PREPARE, QUIET, out_option, set_option, with_log_options
from actors.cli.run_command import branch_and_report
from actors.cli.trust import TRUST, ask_to_run_code
from actors.display.console import echo
from actors.logs.output import say
from actors.runs.directory import RunDirectory
from actors.runs.repair import Losses, find_losses, plan_repair
from actors.runs.repair import repair as branch_off


@click.command(cls=SectionedCommand, sections=LOG)
@PACKED_RUN
@set_option("oracle.on_outage=wait")
@out_option("runs/RUN-repaired-001")
@PREPARE
@TRUST
@QUIET
@with_log_options
def repair(path: Path, overrides: Sequence[str], out: Path | None, *, prepare: bool, quiet: bool) -> None:
    """Do a run again from its first lost answer, and ask what failed.

    RUN is the run's directory. A lost answer is a choice that was made without the oracle: a fallback, because the
    server failed, or was away, or a limit was reached. RUN stays as it is. The new directory gets its past up to the
    first such choice, and every answer that it got. Only what failed is asked again, and what agents ask after another
    choice than before.

    \b
      prism repair runs/default-001 --set oracle.on_outage=wait --out runs/repaired

    With --set, only settings that change nothing of the past can be changed. If RUN has lost nothing, nothing is
    written.
    """
    parent = RunDirectory(path)
    losses = find_losses(parent)
    if not losses.total:
        echo(f"{path}: {_nothing_lost(path, losses)}")
        return
    ask_to_run_code(path, overrides)
    plan = plan_repair(parent, losses, overrides)
    child = RunDirectory.create(out, f"{path.resolve().name}-repaired")
    if not quiet:
        say(_lost(losses))
    branch_and_report(child, partial(branch_off, plan, child), prepare=prepare, quiet=quiet)


def _nothing_lost(path: Path, losses: Losses) -> str:
    if losses.ticks < losses.length:
        return f"no choice was lost, so there is nothing to repair; continue with: prism resume {path}"
    return "no choice was lost, so there is nothing to repair"


def _lost(losses: Losses) -> str:
    """Return what was lost, and what is asked again, in words."""
    noun = "answer was" if losses.total == 1 else "answers were"
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in losses.by_reason.items())
    return (
        f"{losses.total:,} {noun} lost ({reasons}), the first in tick {losses.tick:,}; "
        f"{losses.answers:,} are kept, and only what failed is asked again"
    )

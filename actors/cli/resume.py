"""`prism resume`: continues a run that was stopped or killed, or makes a run longer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path

import click

from actors.cli.building import build_with_progress
from actors.cli.help_sections import LOG, SectionedCommand
from actors.cli.options import DETAILS, QUIET, RUN, TICKS, set_option, with_log_options
from actors.cli.run_command import run_and_report
from actors.cli.trust import TRUST, ask_to_run_code
from actors.display.console import echo
from actors.display.starting import step_shown
from actors.logs.output import say
from actors.metrics.observation import observation
from actors.runs.resume import Accepted, plan_resume, resume_run
from actors.store.lock import locked
from actors.store.manifest import read_manifest

READING = "reading the journal"
"""The step in which a run's files are read before it goes on."""


@click.command(cls=SectionedCommand, sections={"If it refuses": ("--accept-settings", "--cut-damage"), **LOG})
@RUN
@TICKS
@set_option("metrics.enabled=true")
@click.option("--accept-settings", is_flag=True, help="Go on with changed settings, if they cannot change the past.")
@click.option("--cut-damage", is_flag=True, help="Cut off damage that no crash explains, and run the rest again.")
@TRUST
@DETAILS
@QUIET
@with_log_options
def resume(  # one for each option
    path: Path,
    ticks: int | None,
    overrides: Sequence[str],
    *,
    accept_settings: bool,
    cut_damage: bool,
    quiet: bool,
    details: bool,
) -> None:
    """Continue a run that ended early, or make a run longer.

    RUN is the run's directory. The run starts from the latest checkpoint that agrees with the journal, runs the ticks
    after it again and compares each with the journal, then runs the rest. So a killed run ends with the journal of one
    that was never killed, and no question that has an answer is asked again. --ticks makes a run longer, also one that
    is done.

    It refuses, and names the differences, if settings, input files or code are not those that the run began with.
    """
    read_manifest(path)
    ask_to_run_code(path, overrides)
    accepted = Accepted(settings=accept_settings, damage=cut_damage)
    with ExitStack() as served, locked(path):
        build = partial(build_with_progress, quiet=quiet)
        plan = plan_resume(path, ticks=ticks, overrides=overrides, accepted=accepted, build=build)
        with nullcontext() if quiet else step_shown(READING):
            run, notes = resume_run(plan)
        for note in notes:
            say(note)
        if run.is_done:
            text = f"{path}: has all its {run.recorded.ticks:,} ticks; --ticks N makes it longer"
            echo(run.digest if quiet else text)
        else:
            run_and_report(run, served.enter_context(observation(run.config)), quiet=quiet, details=details)

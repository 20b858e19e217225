"""`prism resume`: continues a run that was stopped or killed, or makes a run longer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from actors.cli.building import build_with_progress
from actors.cli.command import command, flag
from actors.cli.options import DETAILS, RUN, TICKS, set_option, with_log_options
from actors.cli.render import show
from actors.cli.run_command import run_and_report
from actors.cli.trust import TRUST, ask_to_run_code
from actors.core.phase import DONE
from actors.display.work import step_shown
from actors.logs.output import say
from actors.metrics.observation import observation
from actors.runs.resume import Accepted, plan_resume, resume_run
from actors.store.lock import locked
from actors.store.manifest import read_manifest

REFUSED = "If it refuses"


@command()
@RUN
@TICKS
@set_option("metrics.enabled=true")
@flag("--accept-settings", section=REFUSED, help="Go on with changed settings, if they cannot change the past.")
@flag("--cut-damage", section=REFUSED, help="Cut off damage that no crash explains, and run the rest again.")
@TRUST
@DETAILS
@with_log_options
def resume(  # one for each option
    path: Path,
    ticks: int | None,
    overrides: Sequence[str],
    *,
    accept_settings: bool,
    cut_damage: bool,
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
        plan = plan_resume(path, ticks=ticks, overrides=overrides, accepted=accepted, build=build_with_progress)
        with step_shown("reading the journal"):
            run, notes = resume_run(plan)
        for note in notes:
            say(note, level="warning")
        if run.is_done:
            text = f"{path}: has all its {run.recorded.ticks:,} ticks; --ticks N makes it longer"
            record = {"directory": path, "status": DONE, "ticks": run.recorded.ticks, "digest": run.digest}
            show(record, lambda: [text], brief=run.digest)
        else:
            run_and_report(run, served.enter_context(observation(run.config)), details=details)

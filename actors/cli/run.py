"""`prism run`, `resume`, `fork` and `replay`: they execute a run, from its start, its end, a tick of it, or again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import anyio

from actors.cli.command import command, count_option, flag, path_option
from actors.cli.options import (
    DETAILS,
    NEW_RUN,
    PACKED_RUN,
    RUN,
    TICKS,
    TRUST,
    ask_to_run_code,
    choose_config,
    out_option,
    run_name,
    set_option,
    shown,
    with_log_options,
    with_settings,
)
from actors.cli.render import show
from actors.cli.run_command import run_and_report, with_progress
from actors.cli.validate import build_with_progress
from actors.core.errors import ActorError
from actors.core.phase import DONE
from actors.display.work import step_shown
from actors.factory.config_file import placing, read_config
from actors.factory.domains import no_effect_of
from actors.logs.output import output, say
from actors.metrics.observation import observation
from actors.runs.directory import RunDirectory
from actors.runs.execute import create_run, resume_run
from actors.runs.fork import fork as branch_off
from actors.runs.replay import replay as run_again
from actors.store.lock import locked
from actors.store.manifest import read_manifest
from prism.domain import said_by
from prism.errors import OracleUnavailableError
from prism.no_effect import told


@command()
@with_settings
@TICKS
@out_option(NEW_RUN, "the next free runs/NAME-001")
@TRUST
@DETAILS
@with_log_options
def run(  # one for each option
    config: Path | None, overrides: Sequence[str], ticks: int | None, out: Path | None, *, details: bool
) -> None:
    """Run the simulation that CONFIG describes.

    Without CONFIG it is prism.yaml of this directory, or else the default configuration that comes with PRISM.
    Settings come from CONFIG, then from environment variables such as PRISM_SIMULATION__SEED, then from --set; see
    docs/settings.md. Ctrl-C finishes the tick, writes a checkpoint and the summary and exits with 130; a second
    one exits at once. `prism resume` continues a run that was stopped in any way, even by a crash.

    docs/runs.md lists the files of the run's directory.
    """
    if ticks is not None:
        overrides = [*overrides, f"simulation.ticks={ticks}"]
    path = choose_config(config, "running")
    settings = read_config(path, overrides)
    with placing(path, overrides):
        built = build_with_progress(settings)
        for line in said_by(built.domain).understood:
            say(line)
        for line in () if output.is_quiet else told(no_effect_of(settings, built.domain)):
            say(line, level="warning")
        with observation(settings) as observed:  # before all else: a port in use must leave no run directory
            directory = RunDirectory.create(out, run_name(path))
            with locked(directory.path):
                try:
                    run_and_report(create_run(directory, settings, built), observed, details=details)
                except (OracleUnavailableError, ActorError):
                    directory.discard_unless_begun()
                    raise


@command()
@RUN
@TICKS
@set_option("metrics.enabled=true")
@flag("--accept-settings", help="Go on with changed settings, if they cannot change the past.")
@flag("--cut-damage", help="Cut off damage that no crash explains, and run the rest again.")
@TRUST
@DETAILS
@with_log_options
def resume(  # one for each option
    path: Path, ticks: int | None, overrides: Sequence[str], *, accept_settings: bool, cut_damage: bool, details: bool
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
    with ExitStack() as served, locked(path):
        found, notes = resume_run(
            path,
            ticks=ticks,
            overrides=overrides,
            accept_settings=accept_settings,
            cut_damage=cut_damage,
            build=build_with_progress,
            reading=lambda: step_shown("reading the journal"),
        )
        for note in notes:
            say(note, level="warning")
        if found.is_done:
            text = f"{path}: has all its {found.recorded.ticks:,} ticks; --ticks N makes it longer"
            record = {"directory": path, "status": DONE, "ticks": found.recorded.ticks, "digest": found.digest}
            show(record, lambda: [text], brief=found.digest)
        else:
            run_and_report(found, served.enter_context(observation(found.config)), details=details)


@command()
@PACKED_RUN
@count_option("--at", "tick", required=True, metavar="TICK", help="Ticks in common.")
@set_option("feed.algorithm=chronological")
@path_option("--intervene", help="Add the interventions in this YAML file, none of them before TICK.")
@TICKS
@out_option(NEW_RUN, "the next free runs/PARENT-at-TICK-001")
@flag("--prepare", help="Only write the new run's directory; `prism resume` runs it.")
@TRUST
@DETAILS
@with_log_options
def fork(  # one for each option
    path: Path,
    tick: int,
    overrides: Sequence[str],
    intervene: Path | None,
    ticks: int | None,
    out: Path | None,
    *,
    prepare: bool,
    details: bool,
) -> None:
    """Run another future of a run: the same past, then other settings.

    What if the feed had been chronological from tick 500?

    \b
      prism fork runs/default-001 --at 500 --set feed.algorithm=chronological --out runs/chronological

    RUN is the run's directory, and TICK the number of ticks in common. The past is replayed and compared with the
    journal, and copied into the new directory, which stands on its own. Its manifest names the parent and the digest
    they have in common. People and time cannot be changed in a fork.
    """
    parent = RunDirectory(path)
    read_manifest(path)
    ask_to_run_code(path, overrides)
    child = RunDirectory.create(out, f"{path.resolve().name}-at-{tick}")
    with ExitStack() as served, locked(child.path):
        with ExitStack() as on_failure:
            on_failure.callback(child.discard)
            anyio.run(
                partial(with_progress, partial(branch_off, parent, child, tick, overrides, ticks, added=intervene))
            )
            on_failure.pop_all()
        if prepare:
            text = f"{child.path}: ready; run it with: prism resume {child.path}"
            show({"directory": child.path, "next": f"prism resume {child.path}"}, lambda: [text], brief=text)
            return
        found, _ = resume_run(child.path, build=build_with_progress)
        try:
            run_and_report(found, served.enter_context(observation(found.config)), details=details)
        except OracleUnavailableError:
            if not found.has_new_ticks:
                child.discard()
            raise


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

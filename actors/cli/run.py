"""`prism run`, `resume`, `fork`, `replay` and `verify`: a run from its start, from its end, from a tick, or again."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec
from rich.console import RenderableType
from rich.text import Text

from actors.cli.command import EXIT_FAILED, EXIT_SPENT, command, count_option, flag, path_option
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
from actors.cli.render import facts_of, line, show, table
from actors.cli.validate import build_with_progress
from actors.core.errors import ActorError, ungrouped
from actors.core.phase import DONE, DONE_WITH_FALLBACKS, FALLBACK_SHARE, SPEND_CAP
from actors.display.progress import GREETING, PREPARING, show_progress, step_shown
from actors.display.words import duration, usd
from actors.factory.config_file import placing, read_config
from actors.factory.domains import no_effect_of, show_of
from actors.logs.output import output, say
from actors.logs.setup import logging_to
from actors.metrics.observer import Observation, observation
from actors.pages.words import interval, is_far
from actors.runs.directory import RunDirectory
from actors.runs.execute import Display, Host, Run, create_run, execute_through_losses, resume_run
from actors.runs.fork import fork as branch_off
from actors.runs.replay import replay as run_again
from actors.runs.signals import EXIT_BASE
from actors.runs.summary import Summary
from actors.runs.verify import recompute, verify_run, without_replay
from actors.runtime.activation import way_of
from actors.runtime.gc_pause import share_one_heap
from actors.runtime.simulation import Progress, Simulation
from actors.store.lock import locked
from actors.store.manifest import read_manifest
from actors.store.oracle_log import answers_in
from prism.agents import FALLBACKS
from prism.distribution import SIZE_TOTALS
from prism.domain import said_by
from prism.errors import OracleUnavailableError
from prism.no_effect import told
from prism.quoting import printable
from prism.show import Show
from prism.wording import counted


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
            with_progress(partial(branch_off, parent, child, tick, overrides, ticks, added=intervene))
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
    engine = with_progress(partial(run_again, RunDirectory(path), ticks)).engine
    digest = engine.digest.hexdigest()
    line = f"{shown(path)}: {engine.tick:,} ticks replayed, every one as recorded; digest {digest}"
    show({"run": shown(path), "ticks": engine.tick, "digest": digest}, lambda: [line], brief=digest)


T = TypeVar("T")


class Terminal(Display):
    def preparing(self) -> AbstractContextManager[None]:
        return step_shown(PREPARING)

    def greeting(self) -> AbstractContextManager[None]:
        return step_shown(GREETING)

    def begin(self, run: Run, oracle: str) -> None:
        again = run.recorded.ticks - run.recorded.tick
        where = f", from tick {run.recorded.ticks:,}" if run.recorded.ticks else ""
        where += f" ({again:,} ticks are done again first)" if again else ""
        ways = {"one_by_one": ", turns one by one", "compiled": ", turns many at once"}
        way, simulation = ways.get(way_of(run.config.run, run.domain), ""), run.config.simulation
        of = f"{counted(run.domain.size, 'agent')}{way}, {counted(simulation.length, 'tick')}{where}"
        say(f"{of}, seed {simulation.seed}; oracle: {oracle}")

    async def show(self, progress: Callable[[], Progress]) -> None:
        await show_progress(progress)


def run_and_report(run: Run, observed: Observation, *, details: bool = False) -> None:
    """Run, write and show the summary, and exit with the code of the run's end. The caller holds the run's lock."""
    share_one_heap()
    if observed.address is not None:
        say(f"metrics at {observed.address.url}/metrics")
    host = Host(display=Display() if output.is_quiet else Terminal())
    summary = anyio.run(execute_through_losses, run, host, observed)
    path, going_on = run.directory.path, None
    if not summary.is_done:
        going_on = f"prism resume {path}"
        if summary.stopped_by == SPEND_CAP:  # the cap in dollars is named first
            caps = ("max_usd", "max_calls", "max_tokens")
            cap = next(name for name in caps if getattr(run.config.oracle, name) is not None)
            going_on += f" --accept-settings --set oracle.{cap}=..."
    show(
        {"directory": path, "next": going_on, **msgspec.json.decode(summary.to_json())},
        lambda: parts_of_end(summary, printable(str(path)), show_of(run.config), details=details),
        brief=summary.digest,
        is_narrow=True,
    )
    if not output.is_quiet:
        _print_fallbacks(summary, path)
    if going_on is not None:
        say(f"stopped; continue with: {going_on}")
    if summary.stopped_by in {SPEND_CAP, FALLBACK_SHARE}:
        sys.exit(EXIT_SPENT)
    if summary.stopped_by is not None:
        sys.exit(EXIT_BASE + signal.Signals[summary.stopped_by])


def _print_fallbacks(summary: Summary, path: Path) -> None:
    if not summary.fallbacks_by_reason:
        return
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in summary.fallbacks_by_reason.items())
    text = f"{counted(summary.fallbacks, 'fallback')}, {100 * summary.fallback_share:.2g}% of the choices: {reasons}"
    first = min((each.asked for each in answers_in(path) if each.source in FALLBACKS), default=0)
    if summary.is_done and first:
        text += f"; to ask again from the first of them on: prism fork {path} --at {first}"
    if summary.stopped_by == FALLBACK_SHARE:
        text += (
            "; that is more than oracle.max_fallback_share; mend the server or the model before you go on, or allow "
            "more with --accept-settings --set oracle.max_fallback_share=..."
        )
    say(text, level="warning")


@contextmanager
def logging_trouble() -> Iterator[None]:
    """Return a context in which warnings of ticks that are done again go to standard error, and not to standard output.

    Events at INFO were shown in the first run, and are not shown again, unless the user asked for another level.
    """
    level = output.level
    with ExitStack() as log:
        output.level = logging.WARNING if level == logging.INFO else level
        try:
            log.enter_context(logging_to(None))  # which takes the level over
        finally:
            output.level = level
        yield


def with_progress(function: Callable[[Callable[[Simulation], None]], Awaitable[T]], *, after_s: float = 0.0) -> T:
    """Call a function that runs simulations, one after the other, show their progress, and return its result."""
    simulations: list[Simulation] = []
    displays: list[anyio.CancelScope] = []

    async def show(scope: anyio.CancelScope) -> None:
        with scope:
            await anyio.sleep(after_s)
            # A lambda, because further simulations may begin.
            await show_progress(lambda: simulations[-1].progress())  # noqa: PLW0108

    async def whole() -> T:
        async with anyio.create_task_group() as tasks:

            def on_begin(simulation: Simulation) -> None:
                is_anew = not simulations or simulation.tick < simulations[-1].tick  # and so not the next part of a run
                simulations.append(simulation)
                if is_anew and not output.is_quiet:
                    for before in displays:
                        before.cancel()
                    displays.append(anyio.CancelScope())
                    tasks.start_soon(show, displays[-1])

            result = await function(on_begin)
            tasks.cancel_scope.cancel()
        return result

    with logging_trouble(), ungrouped():
        return anyio.run(whole)


TOLD = (
    *("in_words", "digest", "status", "stopped_by", "ticks", "rounds", "not_as_configured", "no_effect"),
    *("cascade_sizes", *SIZE_TOTALS),
)
"""The fields that are told elsewhere: above, below, or in the first sentence."""
TOTALS_MAX = 10
"""The most totals that are shown without details."""


def parts_of_end(summary: Summary, directory: str, show: Show, *, details: bool = False) -> Iterator[RenderableType]:
    """Yield the end of a run: how it ended, what was not as configured, totals, the digest and the directory.

    `show` has the names that a domain shows; `details` adds all that was counted.
    """
    if summary.in_words:
        yield line(" ".join(summary.in_words))
        yield ""
    if summary.remarks:
        yield from (line(remark, "bold yellow") for remark in summary.remarks)
        yield ""
    yield _status(summary)
    if summary.resumes:  # earlier processes have run the ticks before
        done = counted(summary.wall_activations or 0, "activation")
        yield f"since resume {summary.resumes:,}: {done} in {duration(summary.wall_s)}"
        if summary.ticks_replayed:
            yield f"{counted(summary.ticks_replayed, 'tick')} done again"
    yield ""
    if details:  # all counts, as in summary.json
        fields = msgspec.json.decode(summary.to_json())
        yield facts_of({name: value for name, value in fields.items() if value and name not in TOLD})
    else:  # the measures of the configuration first
        numbers = {
            name: n for name, n in summary.world.items() if isinstance(n, int | float) and n and name not in TOLD
        }
        ordered = sorted(numbers.items(), key=lambda each: isinstance(each[1], int))
        rows = [(show.named(name).name, f"{n:,.6g}" if isinstance(n, float) else n) for name, n in ordered[:TOTALS_MAX]]
        yield table(("", ""), rows)
    if summary.crashes:
        crashes = "1 crash" if summary.crashes == 1 else f"{summary.crashes:,} crashes"
        yield line(f"{crashes}, {counted(summary.agents_quarantined, 'agent')} quarantined", "bold red")
    if (sharing := summary.sharing) is not None:
        if sharing.divergence is None:
            yield "sharing: no audits: the error of sharing is not known (oracle.sharing.audit)"
        else:
            bits = interval(sharing.divergence, 4, "too few audits")
            yield f"sharing: divergence from individual judgements {bits} bits"
        if is_far(sharing):
            yield "that is far: the model judges by more than the fields of archetypes (docs/language-models.md)"
    if (llm := summary.llm) is not None:
        wasted = f", {llm.wasted_tokens:,} wasted" if llm.wasted_tokens else ""
        yield f"  tokens: {llm.prompt_tokens:,} in, {llm.completion_tokens:,} out{wasted}"
        if llm.cost_usd is not None:
            of_it = f", {usd(llm.wasted_usd)} of it for calls without a usable answer" if llm.wasted_usd else ""
            yield f"  cost: {usd(llm.cost_usd)}{of_it}"
        yield f"  latency: p50 {llm.latency_s_p50:.3f} s, p95 {llm.latency_s_p95:.3f} s, p99 {llm.latency_s_p99:.3f} s"
    yield ""
    yield f"oracle calls per 1,000 activations: {summary.oracle_calls_per_1000_activations:.1f}"
    again = ", ".join(f"{reason} {count:,}" for reason, count in summary.retries_by_reason.items())
    retries = f"{summary.oracle_retries:,} asked again ({again}), " if summary.oracle_retries else ""
    questions = f"{counted(summary.oracle_questions, 'question')}, {counted(summary.oracle_calls, 'call')}"
    yield f"{questions}, {retries}{summary.fallback_share:.1%} fallbacks"
    yield f"digest {summary.digest}"
    yield f"files in {directory}{'' if details else '; all figures: --details'}"


def _status(summary: Summary) -> Text:
    status = Text(DONE if summary.is_done else summary.status)
    status.stylize("bold green" if summary.status == DONE else "bold yellow")
    if summary.status == DONE_WITH_FALLBACKS:
        status.append(f", {counted(summary.fallbacks, 'fallback')}")
    length = f"{counted(summary.rounds, 'round')}, " if summary.rounds else ""
    length += counted(summary.ticks, "tick")
    if summary.stopped_by is not None:
        status.append(f" by {summary.stopped_by} after tick {summary.ticks:,}")
        length = counted(summary.rounds, "round")
    took = "" if summary.resumes else f" in {duration(summary.wall_s)}"
    work = f"\n{counted(summary.activations, 'activation')}{took}"
    return Text.assemble(status, f": {counted(summary.agents, 'agent')}, {length}{work}")


@command()
@PACKED_RUN
@flag("--quick", help="Check CRCs and hashes only, and run nothing again.")
@TRUST
def verify(path: Path, *, quick: bool) -> None:
    """Check every file of a run, and that the files agree.

    RUN is the run's directory. First the CRCs and hashes in its files are checked. Then the run is done again without a
    model, as `prism replay` does, to compare each row of rounds.csv and the counts in summary.json.

    The exit code is 1 if the content of any file is not what was written; --quiet prints the lines of these alone. A
    torn end, as a crash leaves it, counts as damage here; `prism resume` cuts it off. Changes nothing.
    """
    directory = RunDirectory(path)
    checked = verify_run(directory)
    if quick:
        checked = without_replay(checked, "its numbers were not worked out again (--quick)")
    else:
        ask_to_run_code(path)
        checked = with_progress(partial(recompute, directory, checked))
    lines = [f"{shown(path) / finding.file}: {finding.word}: {finding.detail}" for finding in checked.findings]
    damaged = "\n".join(line for line, finding in zip(lines, checked.findings, strict=True) if not finding.is_good)
    show({"run": shown(path), "is_good": checked.is_good, "findings": checked.findings}, lambda: lines, brief=damaged)
    if not checked.is_good:
        sys.exit(EXIT_FAILED)

"""A run, made or made ready to be resumed, and its execution to the last tick: its oracle, its files, its actors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager, nullcontext, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import anyio
import msgspec
import structlog
from anyio import to_thread

from actors.core.errors import (
    ActorError,
    InterruptedRunError,
    JournalError,
    PlaceError,
    RunDirectoryError,
    ShardLostError,
    first_error,
    ungrouped,
)
from actors.core.events import CAPPED, RunEnded, RunStarted, emit, heard_by, tell
from actors.core.kinds import shapes_of
from actors.core.phase import ERROR, NO_ANSWER, OUTAGE, REFUSED, SPEND_CAP, UNAVAILABLE, Phase
from actors.core.ports import Observer
from actors.core.state import RoundsTable
from actors.core.threads import in_threads
from actors.factory.domains import BuiltDomain, build_domain
from actors.factory.oracle_backends import open_oracle
from actors.logs.setup import RunLog, open_log
from actors.metrics.observer import Observation
from actors.runs.compatibility import OWN_PACKAGE, changed_code, manifest_of, refuse_unless_compatible
from actors.runs.directory import TAPE, RunDirectory
from actors.runs.inputs import inputs_of, keep
from actors.runs.ray_shards import engine_of
from actors.runs.replay import restore
from actors.runs.run_store import Checkpointer, Execute, RunStore, in_thread, scatter
from actors.runs.signals import StopOnSignal, StopSignal
from actors.runs.summary import Summary, summarise
from actors.runtime.engine import EngineActor, do_nothing
from actors.runtime.gc_pause import collector_paused
from actors.runtime.simulation import PhaseWatch, Progress, Simulation
from actors.store.checkpoint import Checkpoint
from actors.store.disk import Disk, RealDisk, write_whole
from actors.store.journal import JOURNAL, create_journal, header_of, journal_size
from actors.store.lock import PhaseFile
from actors.store.manifest import (
    CONFIG,
    MANIFEST,
    SUMMARY,
    Manifest,
    Stop,
    broken_seals,
    is_as_written,
    read_manifest,
    read_summary,
)
from actors.store.oracle_log import create_answers
from actors.store.recovery import RecordedTicks, Recovered, recover
from actors.store.rounds import ROUNDS, content_of, read_content
from actors.store.run import header_in, read_resolved
from prism.config import Config
from prism.domain import Domain, HasTurns, said_by
from prism.errors import (
    OracleFailedError,
    OracleOutageError,
    OracleRefusedError,
    OracleSpentError,
    OracleUnavailableError,
    UnansweredError,
)
from prism.statechart import Oracle

log = structlog.get_logger(__name__)

_REASONS: dict[type[OracleUnavailableError], str] = {
    OracleOutageError: OUTAGE,
    OracleRefusedError: REFUSED,
    OracleFailedError: NO_ANSWER,
    OracleSpentError: SPEND_CAP,
}
"""The reasons of stops, by the error of the oracle that they follow from."""

Drive = Callable[[Simulation, Callable[[int], None], Callable[[], Awaitable[None]], int], Awaitable[str | None]]
"""A function that runs a simulation, given the arguments of `Simulation.run`; it returns what stopped it early."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is ready to begin or to be resumed."""

    directory: RunDirectory
    config: Config
    manifest: Manifest
    domain: Domain
    recorded: RecordedTicks  # the ticks of its journal after the checkpoint, to be run again and compared
    digest: str  # the digest after the journal's last tick
    # the checkpoint to start from, whose columns are released then; None for tick 0
    checkpoint: Checkpoint | None = None
    # whether every file is as the run wrote it, as far as a resume can check. If not, a resume writes the derived files
    # again, even of a run that has all its ticks.
    is_whole: bool = True

    @property
    def is_done(self) -> bool:
        """True if it has all its ticks and whole files, so that nothing is left to do."""
        summary = read_summary(self.directory.path)
        is_summarised = (summary.get("ticks"), summary.get("digest")) == (self.recorded.ticks, self.digest)
        return self.recorded.ticks == self.config.simulation.length and is_summarised and self.is_whole

    @property
    def has_new_ticks(self) -> bool:
        """True if the journal has grown since the run was opened."""
        return journal_size(RealDisk(self.directory.path)) > self.recorded.end


class Display:
    """A display of a run that shows nothing. The command line has one that shows progress."""

    def preparing(self) -> AbstractContextManager[None]:
        """Return a context that shows that the domain is being prepared. It may block, and so may the next."""
        return nullcontext()

    def greeting(self) -> AbstractContextManager[None]:
        """Return a context that shows that the oracle is being greeted."""
        return nullcontext()

    def begin(self, run: Run, oracle: str) -> None:
        """Show that the run begins, and with which oracle."""

    async def show(self, progress: Callable[[], Progress]) -> None:
        """Show the progress until cancelled."""


class Host(NamedTuple):
    """The process around a run: a command, a script or a notebook."""

    display: Display = Display()
    observer: Observer | None = None
    oracle: Oracle[Any] | None = None
    # makes the task that waits for the signal to stop, given the function that stops the run and `run.stop_within_s`
    stop_signal: Callable[[Callable[[], None], float], StopSignal] = StopOnSignal


async def execute(run: Run, host: Host, observed: Observation) -> Summary:
    """Run to the end or to the first signal, leave everything on disk that a resume needs, and return the summary.

    The caller holds the run's lock. If the oracle, the disk or an actor fails for good, every tick committed before is
    on disk.
    """
    directory, phases = run.directory, PhaseWatch()
    size_max = round(run.config.run.log_max_mb * 1_000_000)
    async with open_log(directory.log, size_max) as logs, in_threads(directory.publishing(observed.address)):
        observer = host.observer or observed.observe(directory.name)
        logs.run_id, logs.tick = directory.name, lambda: run.recorded.ticks
        was_sealed = await to_thread.run_sync(directory.is_tape_sealed)
        async with in_threads(PhaseFile(directory.path)) as file:
            with heard_by(observed.hear, file.hear), ungrouped(), telling_end(logs, phases):
                try:
                    summary = await _run(run, host._replace(observer=observer), logs, phases)
                except BaseException:
                    if was_sealed:
                        with suppress(ActorError), anyio.CancelScope(shield=True):
                            await to_thread.run_sync(directory.seal_tape)
                    raise
                if summary.stopped_by is not None:
                    await _record_stop(run, Stop(tick=summary.ticks, reason=summary.stopped_by))
                try:
                    await to_thread.run_sync(directory.write, SUMMARY, summary.to_json())
                    await to_thread.run_sync(directory.seal_end)
                except ActorError as error:
                    whole = "the run itself is whole, and `prism resume` writes its summary"
                    raise JournalError(f"{error}; {whole}") from None
                tell_end(summary, phases)
    return summary


def tell_end(summary: Summary, phases: PhaseWatch) -> None:
    phases.enter(Phase.ENDED)
    emit(RunEnded(reason=summary.stopped_by or summary.status, ticks=summary.ticks, digest=summary.digest))


@contextmanager
def telling_end(logs: RunLog, phases: PhaseWatch) -> Iterator[None]:
    """If the block raises, tell that the run has ended. Log it only if the run had begun: else no file may change."""
    try:
        yield
    except BaseException as error:
        say = tell if phases.phase is Phase.STARTING else emit
        ticks = logs.tick() if logs.tick is not None else 0
        stop = _stop_of(BaseExceptionGroup("", [error]), ticks)
        reason = ERROR if stop is None else stop.reason
        detail = type(error).__name__ if stop is None else stop.detail
        phases.enter(Phase.ENDED, reason, say)
        say(RunEnded(reason=reason, ticks=ticks, detail=detail))
        raise


async def _run(run: Run, host: Host, logs: RunLog, phases: PhaseWatch) -> Summary:
    async with AsyncExitStack() as stack:
        if isinstance(run.domain, HasTurns):
            async with in_threads(host.display.preparing()):
                await to_thread.run_sync(run.domain.prepare, run.domain.size * run.config.simulation.length)
        async with in_threads(host.display.greeting()):
            on_wait = partial(phases.enter, phases.phase)
            opening = open_oracle(run.config, run.domain.oracle, run.directory.path, host.oracle, on_wait)
            opened = await stack.enter_async_context(opening)

        def write_config() -> None:
            """Write configuration and manifest, now that the run can begin: before that no file may change."""
            run.directory.write_config(run.config)
            manifest = msgspec.structs.replace(
                run.manifest,
                oracle=opened.description,
                dialect=opened.dialect,
                sealed={name: seal for name, seal in run.manifest.sealed.items() if name != TAPE},
                checkpoints=(),
            )
            run.directory.write_manifest(run.directory.with_seals(manifest, [CONFIG]))

        await to_thread.run_sync(write_config)
        before, now, oracle = run.manifest.dialect, opened.dialect, opened.description
        if before and now and before != now:
            warning = f"asked otherwise than before the resume: {now}, was {before}"
            log.warning("llm_dialect_changed", change=warning)
            oracle = f"{oracle}; {warning}"
        host.display.begin(run, oracle)
        ticks, forks, resumed = run.recorded.ticks, run.manifest.forks, run.manifest.resumed
        is_fork = bool(forks) and resumed == (ticks,) and forks[-1].tick == ticks
        started = run_started(run.config, run.domain, opened.description, run.manifest.packages[OWN_PACKAGE])
        origin: dict[str, Any] = {"recovered": ticks - run.recorded.tick if resumed else 0}
        origin = {"parent": forks[-1].parent} if is_fork else origin
        emit(msgspec.structs.replace(started, from_tick=ticks, **origin))
        for note in said_by(run.domain).notes():
            log.info(CAPPED, note=note)
        return await _run_on_disk(run, opened.oracle, host, logs, phases)


def run_started(config: Config, domain: Domain, oracle: str, release: str) -> RunStarted:
    """Return the event with which a run begins at tick 0, with its oracle in words and the version of PRISM."""
    length, seed = config.simulation.length, config.simulation.seed
    return RunStarted(agents=domain.size, ticks=length, seed=seed, oracle=oracle, version=release)


async def _run_on_disk(run: Run, oracle: Oracle[Any], host: Host, logs: RunLog, phases: PhaseWatch) -> Summary:
    async def drive(
        simulation: Simulation, on_tick: Callable[[int], None], between: Callable[[], Awaitable[None]], every: int
    ) -> str | None:
        logs.tick = lambda: simulation.engine.tick

        async def watch() -> None:
            await anyio.lowlevel.checkpoint()  # the handlers of signals come first: who reads that it runs may stop it
            await phases.run(simulation.standing)

        tasks.start_soon(watch)
        try:
            return await simulate(simulation, host, on_tick, between, every)
        except BaseExceptionGroup as group:
            if (stop := _stop_of(group, max(simulation.engine.tick, run.recorded.ticks))) is not None:
                await _record_stop(run, stop)
            raise

    disk = RealDisk(run.directory.path, syncs=run.config.run.sync)
    begun = perf_counter()
    try:
        dividing = engine_of(run.config, run.domain, is_own=host.oracle is not None)
        async with dividing as engine, anyio.create_task_group() as tasks:
            simulation, stopped_by = await run_recorded(run, oracle, disk, drive, observer=host.observer, engine=engine)
            tasks.cancel_scope.cancel()
    finally:
        disk.close()
    resumes = len(run.manifest.resumed)
    return summarise(simulation, perf_counter() - begun, stopped_by, resumes=resumes)


def _stop_of(group: BaseExceptionGroup[BaseException], ticks: int) -> Stop | None:
    """Return the stop for an error of the oracle, or for a signal while the server was away; None for a crash."""
    if (interrupted := first_error(group, InterruptedRunError)) is not None:
        return Stop(tick=ticks, reason=interrupted.signal, detail=interrupted.reason)
    if (error := first_error(group, OracleUnavailableError)) is None:
        return None
    reason = next((reason for kind, reason in _REASONS.items() if isinstance(error, kind)), UNAVAILABLE)
    detail = error.failure if isinstance(error, UnansweredError | OracleOutageError) else ""
    return Stop(tick=ticks, reason=reason, detail=detail)


async def _record_stop(run: Run, stop: Stop) -> None:
    with suppress(ActorError), anyio.CancelScope(shield=True):
        # On a full disk it looks like a crash, but can be resumed in the same way.
        await to_thread.run_sync(run.directory.record_stop, stop)


async def run_recorded(  # each thing that a run needs once
    run: Run,
    oracle: Oracle[Any],
    disk: Disk,
    drive: Drive,
    *,
    observer: Observer | None = None,
    engine: Callable[..., EngineActor] = EngineActor,
    execute: Execute = in_thread,
) -> tuple[Simulation, str | None]:
    """Run a simulation with its store, checkpoints and rows; return it, and the reason if it stopped early."""
    settings, every = run.config, run.config.run.checkpoint_every_ticks
    every = run.domain.checkpoint_every_ticks if every is None else every
    # A spend cap can turn answers into fallbacks, and a higher one must not change the recorded ones.
    is_capped = {settings.oracle.max_calls, settings.oracle.max_tokens, settings.oracle.max_usd} != {None}
    store = RunStore(
        disk,
        run.recorded,
        keeps_answers=oracle.waits or is_capped or settings.oracle.sharing.by != "none",
        answered_after=settings.deliberation_ticks if oracle.waits and settings.oracle.mode == "pace" else None,
        segment_bytes=round(settings.run.segment_mb * 1_000_000),
        observer=observer,
        execute=execute,
    )
    with collector_paused():
        simulation = Simulation(settings, run.domain, oracle, store, observer, engine)
        restore(simulation, run.checkpoint)
        simulation.oracle.statistics.add_logged(run.recorded.effort)
    await scatter(simulation, run.checkpoint)
    with run.directory.writing():
        await execute(partial(write_whole, disk, ROUNDS, [content_of(simulation.rounds)]))
    columns = len(simulation.rounds)

    def append_row(tick: int) -> None:
        nonlocal columns
        if tick % settings.simulation.ticks_per_round:
            return
        if len(rounds := simulation.rounds) == columns:
            store.append_row(",".join(str(column[-1]) for column in rounds.values()))
        else:  # the totals of the world have a name that they lacked before
            columns = len(rounds)
            store.write_rows(content_of(rounds))

    async with anyio.create_task_group() as files:
        checkpointer = Checkpointer(simulation, store, every, files)
        files.start_soon(store.run)
        try:
            looks_every = every or settings.simulation.ticks_per_round
            stopped_by = await drive(simulation, append_row, checkpointer.between_ticks, looks_every)
            await checkpointer.end(is_stopped=stopped_by is not None)
        finally:
            with anyio.CancelScope(shield=True):
                await store.close()
    return simulation, stopped_by


async def simulate(
    simulation: Simulation,
    host: Host,
    on_tick: Callable[[int], None] = lambda _: None,
    between: Callable[[], Awaitable[None]] = do_nothing,
    every: int = 1,
) -> str | None:
    """Run a simulation to its end or to the first signal; return the reason if it stopped early.

    `on_tick`, `between` and `every` are those of `Simulation.run`.

    Raises:
        ExceptionGroup: the engine or the oracle failed; or a signal came while the oracle was away, which is an
            `InterruptedRunError`, because the tick under way cannot end then.
    """
    signals = host.stop_signal(simulation.stop, simulation.config.run.stop_within_s)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(signals.run)
            tasks.start_soon(host.display.show, simulation.progress)
            await simulation.run(on_tick, between, every)
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if signals.received is None or (outage := first_error(group, OracleOutageError)) is None:
            raise
        interrupted = InterruptedRunError(signals.received.name, simulation.engine.tick, outage.failure)
        raise BaseExceptionGroup("interrupted", [interrupted]) from None
    if signals.received is not None:
        return signals.received.name
    return simulation.stopped_for


RUN_ID = "in-memory"


async def execute_in_memory(
    config: Config, domain: Domain, host: Host, observed: Observation
) -> tuple[Summary, RoundsTable]:
    """Run to the end or to the first signal, and return the summary and the rounds.

    Raises:
        PrismError: the oracle or an actor failed for good.
        ConfigError: the configuration asks for a file, which needs a directory.
    """
    phases = PhaseWatch()
    own_version = await to_thread.run_sync(version, OWN_PACKAGE)  # it looks into directories
    async with open_log(None) as logs:
        logs.run_id = RUN_ID
        observer = observed.observe(RUN_ID)
        with heard_by(observed.hear), ungrouped(), telling_end(logs, phases):
            dividing = engine_of(config, domain, is_own=host.oracle is not None)
            async with open_oracle(config, domain.oracle, None, host.oracle) as opened, dividing as engine:
                with collector_paused():
                    watching = host.observer or observer
                    simulation = Simulation(config, domain, opened.oracle, None, watching, engine)
                logs.tick = lambda: simulation.engine.tick
                begun = perf_counter()
                emit(run_started(config, domain, opened.description, own_version))
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(phases.run, simulation.standing)
                    stopped_by = await simulate(simulation, host, every=config.simulation.ticks_per_round)
                    tasks.cancel_scope.cancel()
            summary = summarise(simulation, perf_counter() - begun, stopped_by)
            tell_end(summary, phases)
    return summary, simulation.rounds


def create_run(directory: RunDirectory, config: Config, built: BuiltDomain) -> Run:
    """Write the inputs, the configuration, the manifest and the journal's header into a directory, and return the run.

    It raises a RunDirectoryError if a file cannot be written, or an input has changed since it was read.
    """
    inputs = inputs_of(config, built.inputs, built.code)
    config, size, shapes = inputs.config, built.domain.size, shapes_of(built.domain)
    keep(directory, inputs)
    directory.write_config(config)
    manifest = directory.with_seals(manifest_of(config, inputs.hashes, built.code), [CONFIG])
    directory.write_manifest(manifest)
    disk = RealDisk(directory.path, syncs=config.run.sync)
    with directory.writing():
        create_answers(disk)
        create_journal(disk, header_of(config, inputs.hashes, size, version(OWN_PACKAGE), shapes))
    recovered = recover(disk)
    return Run(
        directory=directory,
        config=config,
        manifest=manifest,
        domain=built.domain,
        recorded=recovered.recorded,
        digest=recovered.digest,
    )


def resume_run(  # one for each way to resume
    path: Path,
    *,
    ticks: int | None = None,
    overrides: Sequence[str] = (),
    accept_settings: bool = False,
    cut_damage: bool = False,
    build: Callable[[Config], BuiltDomain] = build_domain,
    reading: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> tuple[Run, list[str]]:
    """Repair the files of a run, and return it ready to continue, with the repairs, a sentence each.

    The caller holds its lock. A run that may not be resumed is refused before any file changes, by a RunDirectoryError.

    Args:
        ticks, overrides: its length and settings (`a.b=value` each) from now on; without them they stay as they are.
        accept_settings: accept settings that cannot change the past.
        cut_damage: cut off damage that no crash explains.
        build, reading: builds the domain, and returns a context in which the journal is read; both may show progress.
    """
    directory, before = RunDirectory(path), read_manifest(path)
    if directory.is_unstarted:
        ended = "nothing was run here: its process ended before the journal was written"
        raise RunDirectoryError(f"{path}: {ended}; start it again with: prism run CONFIG --out {path}")
    if not (path / JOURNAL).exists():
        raise RunDirectoryError(f"{path / JOURNAL}: is missing; without it the run cannot be resumed")
    length = () if ticks is None else (f"simulation.ticks={ticks}",)
    config = read_resolved(path / CONFIG, [*overrides, *length])
    disk = RealDisk(path, syncs=config.run.sync)
    built = build(config)
    inputs = inputs_of(config, built.inputs, built.code)
    config, header = inputs.config, header_in(path)
    manifest = refuse_unless_compatible(path, header, before, config, built, accept_settings=accept_settings)
    run_of = partial(_run_of, directory, config, built.domain, before, manifest)
    # With other code the run would have ticks of two versions.
    if changes := changed_code(before, manifest):
        run = run_of(recover(disk, repair=False, cut_damage=cut_damage))
        if run.recorded.ticks and not run.is_done:
            remedy = "Resume it with the code that it was run with, or branch off with `prism fork`, which does its "
            problem = f"cannot continue: {'; '.join(changes)}. {remedy}ticks again with this code."
            raise RunDirectoryError(f"{path}: {problem}")
    with reading():
        keep(directory, inputs)
        damaged = _damaged(directory, before)
        recovered = recover(disk, cut_damage=cut_damage)
        run, notes = run_of(recovered), [*recovered.notes]
        if not read_content(disk).startswith(_rows_at(recovered)):
            notes.append(f"{ROUNDS}: rows up to the latest checkpoint are missing or damaged, and are written again")
        disk.close()
    return run, [*notes, *(f"{name}: {problem}" for name, problem in damaged.items())]


def _run_of(
    directory: RunDirectory, config: Config, domain: Domain, before: Manifest, manifest: Manifest, recovered: Recovered
) -> Run:
    """Return the run that continues where its files end, with the manifest that it had before and the one from now on.

    It is refused if it would end before its journal, stop again at once, or is a fork without a checkpoint.
    """
    path, recorded, problem = directory.path, recovered.recorded, ""
    ticks = recorded.ticks
    if ticks > config.simulation.length:
        problem = f"it has {ticks:,} ticks already, and was to end after {config.simulation.length:,}. "
        problem += f"Ask for --ticks {ticks} or more."
    at = 0 if recovered.checkpoint is None else recovered.checkpoint.position.tick
    if manifest.forks and (recovered.checkpoint is None or at < manifest.forks[-1].tick):
        origin = manifest.forks[-1]  # its first ticks were run with other settings than it has
        problem = f"it branched off {origin.parent} after {origin.tick} ticks, and no checkpoint from then on can be "
        problem += f"used. Branch off again with: prism fork {origin.parent} --at {origin.tick}"
    # At the same spend cap it would only stop again.
    stopped, oracles = before.stopped, (read_resolved(path / CONFIG).oracle, config.oracle)
    caps = [(each.max_calls, each.max_tokens, each.max_usd, each.when_spent) for each in oracles]
    if stopped is not None and (stopped.reason, stopped.tick) == (SPEND_CAP, ticks) and caps[0] == caps[1]:
        remedy = "Raise it with --accept-settings --set oracle.max_calls=..., or max_tokens, or max_usd."
        problem = f"its spend cap is reached. {remedy}"
    if problem:
        raise RunDirectoryError(f"{path}: cannot continue: {problem}")
    # Whole: no file of a run with all its ticks is such that a resume could write it again.
    written_again = {CONFIG, MANIFEST, SUMMARY, *before.checkpoints}
    is_whole = (
        not (before.checkpoints and at != ticks)
        and read_content(RealDisk(path)) == _rows_at(recovered)
        and written_again.isdisjoint(_damaged(directory, before))
    )
    return Run(
        directory=directory,
        config=config,
        manifest=msgspec.structs.replace(manifest, resumed=(*manifest.resumed, ticks), stopped=None),
        domain=domain,
        recorded=recorded,
        digest=recovered.digest,
        checkpoint=recovered.checkpoint,
        is_whole=is_whole,
    )


def _rows_at(recovered: Recovered) -> bytes:
    """Return the rows of the rounds up to the checkpoint from which a run continues."""
    return b"" if recovered.checkpoint is None else content_of(recovered.checkpoint.state.rounds)


def _damaged(directory: RunDirectory, manifest: Manifest) -> dict[str, str]:
    """Return `{file: its problem}` of the files beside the journal that are not as the run wrote them."""
    damaged = broken_seals(directory.path, manifest)
    if not is_as_written(directory.path):
        damaged[MANIFEST] = "is not what the run has written; what it says of the run's past may be wrong"
    return damaged


LOSSES_MAX = 5
"""The losses in a row without a new tick after which a run ends. One node can cost two: until the head knows that it is
gone, new shards may be sent there."""


async def execute_through_losses(run: Run, host: Host, observed: Observation) -> Summary:
    """Do what `execute` does; after the loss of a shard go on from the latest checkpoint, as `prism resume` does.

    If shards are lost again and again, or the cluster is gone, or has no room for another one, it is a ShardLostError.
    """
    losses, ticks, shard = 0, run.recorded.ticks, 0
    while True:
        try:
            return await execute(run, host, observed)
        except PlaceError as error:
            if not losses:
                raise
            raise ShardLostError(shard, str(error)) from None
        except ShardLostError as error:
            run, _ = await to_thread.run_sync(resume_run, run.directory.path)
            shard = error.shard
            losses = losses + 1 if run.recorded.ticks == ticks else 1
            ticks = run.recorded.ticks
            if losses >= LOSSES_MAX:
                raise

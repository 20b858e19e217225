"""Resume: it makes a run ready to continue, however it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import msgspec
from anyio import to_thread

from actors.core.errors import PlaceError, RunDirectoryError, ShardLostError
from actors.core.phase import SPEND_CAP
from actors.factory.domains import BuiltDomain, build_domain
from actors.metrics.observation import Observation
from actors.runs.compatibility import changed_code, refuse_unless_compatible
from actors.runs.directory import RunDirectory
from actors.runs.execute import Host, Run, execute
from actors.runs.inputs import inputs_of, keep
from actors.runs.summary import Summary
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL
from actors.store.manifest import CONFIG, MANIFEST, SUMMARY, Manifest, broken_seals, is_as_written, read_manifest
from actors.store.recovery import Recovered, recover
from actors.store.rounds import ROUNDS, content_of, read_content
from actors.store.run import header_in, read_resolved
from prism.config import Config
from prism.domain import Domain


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

    The caller holds its lock. A run that may not be resumed is refused before any file changes.

    Args:
        ticks: its length from now on; None keeps it.
        overrides: `a.b=value` each: settings from now on.
        accept_settings: accept settings that cannot change the past.
        cut_damage: cut off damage that no crash explains.
        build: builds the domain, and may show its progress.
        reading: returns a context that shows that the journal is being read.

    Raises:
        RunDirectoryError: it is no run, or may not be resumed.
        JournalError: its files cannot be used or repaired.
        ConfigError: its configuration cannot be used.
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

    Raises:
        RunDirectoryError: it would end before its journal does, stop again at once, or is a fork without a checkpoint.
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

    Raises:
        ShardLostError: shards are lost again and again, or the cluster is gone, or has no room for another one.
        PrismError: as `execute`.
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

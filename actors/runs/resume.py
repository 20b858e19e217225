"""Resume: it makes a run ready to continue, however it ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from actors.core.errors import ResumeRefusedError, RunDirectoryError
from actors.core.files import read_regular
from actors.factory.domains import build_domain
from actors.persistence.checkpoint import Checkpoint
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL, read_header
from actors.persistence.recovery import recover
from actors.runs.compatibility import refuse_unless_compatible
from actors.runs.directory import CONFIG, RunDirectory
from actors.runs.execute import Run
from actors.runs.manifest import SPEND_CAP, Manifest
from actors.runs.rounds_csv import ROUNDS, covered_ticks
from prism.config import LENGTH_MAX, Config, load_config
from prism.errors import ConfigError

RESOLVED_LENGTH_MAX = 16 * LENGTH_MAX
"""The longest resolved configuration. With all defaults, and a line for each item, it is several times longer."""


class ResumedRun(NamedTuple):
    """A run that is ready to continue, and the repairs of its files, a sentence each."""

    run: Run
    notes: list[str]


def resume_run(
    path: Path, *, ticks: int | None = None, overrides: Sequence[str] = (), force: bool = False
) -> ResumedRun:
    """Return a run that continues where its files end. The caller holds its lock.

    Args:
        ticks: its length from now on; None keeps it.
        overrides: `a.b=value` each: settings from now on.
        force: resume despite changes that cannot change the past, and despite damage.

    Raises:
        RunDirectoryError: it is no run, or may not be resumed.
        JournalError: its journal cannot be used.
        ConfigError: its configuration cannot be used.
    """
    directory = RunDirectory(path)
    manifest = directory.manifest()
    _refuse_without_journal(directory)
    length = () if ticks is None else (f"simulation.ticks={ticks}",)
    config = read_resolved(path / CONFIG, [*overrides, *length])
    disk = RealDisk(path, syncs=config.run.sync)
    domain, inputs = build_domain(config)
    manifest = refuse_unless_compatible(path, read_header(disk)[0], manifest, config, inputs, force=force)
    # A fork's past cannot be run again with the fork's settings, so its rows are kept as they are.
    covered = None if manifest.forks else covered_ticks(disk, config.simulation.ticks_per_round)
    recovered = recover(disk, before=covered, force=force)
    recorded, checkpoint, notes = recovered.recorded, recovered.checkpoint, recovered.notes
    disk.close()
    if recovered.skipped:
        at = 0 if checkpoint is None else checkpoint.position.tick
        notes.append(f"{ROUNDS}: rows up to the latest checkpoint are missing or damaged; begun again at tick {at:,}")
    if recorded.ticks > config.simulation.length:
        raise ResumeRefusedError(
            path,
            [f"it has {recorded.ticks:,} ticks already, and was to end after {config.simulation.length:,}"],
            f"Ask for --ticks {recorded.ticks} or more.",
        )
    _refuse_without_fork(path, manifest, checkpoint)
    _refuse_spent(directory, config, recorded.ticks)
    run = Run(
        directory=directory,
        config=config,
        manifest=msgspec.structs.replace(manifest, resumed=(*manifest.resumed, recorded.ticks), stopped=None),
        domain=domain,
        recorded=recorded,
        digest=recovered.digest,
        checkpoint=checkpoint,
        lacks_rows=covered is not None and covered < recorded.ticks,
        lookahead_ticks=longest_lookahead(directory, config),
    )
    return ResumedRun(run, notes)


def _refuse_without_journal(directory: RunDirectory) -> None:
    path = directory.path
    if directory.is_unstarted:
        raise RunDirectoryError(
            f"{path}: nothing was run here: its process ended before the journal was written; "
            f"start it again with: prism run CONFIG --out {path}"
        )
    if not (path / JOURNAL).exists():
        raise RunDirectoryError(f"{path / JOURNAL}: is missing; without it the run cannot be resumed")


def _refuse_without_fork(path: Path, manifest: Manifest, checkpoint: Checkpoint | None) -> None:
    """Refuse a fork without a checkpoint after the fork: its first ticks were run with other settings than it has."""
    if not manifest.forks:
        return
    origin = manifest.forks[-1]
    if checkpoint is None or checkpoint.position.tick < origin.tick:
        raise ResumeRefusedError(
            path,
            [f"it branched off {origin.parent} after {origin.tick} ticks, and no checkpoint from then on can be used"],
            f"Branch off again with: prism fork {origin.parent} --at {origin.tick}",
        )


def _refuse_spent(directory: RunDirectory, config: Config, ticks: int) -> None:
    """Refuse a run that its spend cap has stopped: it would stop again, after a tick of fallbacks."""
    summary, before = directory.summary() or {}, read_resolved(directory.path / CONFIG).oracle
    caps = [
        (oracle.max_calls, oracle.max_tokens, oracle.max_usd, oracle.when_spent) for oracle in (before, config.oracle)
    ]
    if summary.get("stopped_by") == SPEND_CAP and summary.get("ticks") == ticks and caps[0] == caps[1]:
        raise ResumeRefusedError(
            directory.path,
            ["its spend cap is reached"],
            "Raise it with --force --set oracle.max_calls=..., or max_tokens, or max_usd.",
        )


def read_resolved(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Read a run's own configuration, without the settings of the environment.

    Raises:
        ConfigError: it is missing, or is not what PRISM wrote.
    """
    try:
        text = read_regular(path, 4 * RESOLVED_LENGTH_MAX).decode()
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), f"cannot be read: {error}") from None
    return load_config(text, str(path), environment={}, overrides=overrides, length_max=RESOLVED_LENGTH_MAX)


def longest_lookahead(directory: RunDirectory, config: Config) -> int:
    """Return the longest lookahead of a run and of the runs that it branched off, in ticks."""
    before = (read_resolved(directory.path / fork.config) for fork in directory.manifest().forks)
    return max(part.oracle.lookahead_ticks for part in (config, *before))

"""The runs in a directory, and how they stand."""

from __future__ import annotations

from enum import StrEnum, unique
from pathlib import Path

import msgspec

from actors.core.errors import ActorError
from actors.core.frames import ORIGIN, digest_of
from actors.persistence.checkpoint import checkpoint_names, read_checkpoint
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL, read_header, scan_journal
from actors.runs.directory import CONFIG, MANIFEST, RunDirectory
from actors.runs.lock import holder_of
from actors.runs.resume import read_resolved
from prism.errors import ConfigError


@unique
class RunStatus(StrEnum):
    """How a run stands.

    `running`: a process is at work in it. `done` and `stopped`: it ended so. `crashed`: it ended otherwise.
    `damaged`: its journal cannot be read.
    """

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    CRASHED = "crashed"
    DAMAGED = "damaged"


class ListedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    Args:
        ticks: whole ticks in its journal; `length`: how many there are to be.
        digest: of those ticks.
        is_resumable: whether `prism resume` could go on with it.
        holder: the process at work in it.
        parent: the run it branched off.
    """

    path: Path
    standing: RunStatus
    ticks: int
    length: int
    agents: int
    digest: str
    is_resumable: bool
    holder: str | None = None
    parent: str | None = None


def runs_in(root: Path) -> list[ListedRun]:
    """The runs right below a directory, by name; or the one that it is."""
    if (root / MANIFEST).is_file():
        return [run_line(root)]
    return [run_line(path) for path in sorted(root.iterdir()) if (path / MANIFEST).is_file() and not _is_backtest(path)]


def _is_backtest(path: Path) -> bool:
    """Whether `prism backtest` has written this: nothing was run there."""
    return (path / "backtest.csv").exists() and not (path / JOURNAL).exists()


def run_line(path: Path) -> ListedRun:
    """How one run stands. Reads the journal from the latest checkpoint on, and changes nothing."""
    directory, holder = RunDirectory(path), holder_of(path)
    try:
        length = read_resolved(path / CONFIG).simulation.length
        manifest = directory.manifest()
        agents, ticks, digest = _journal(path)
    except (ActorError, ConfigError, OSError):
        return ListedRun(
            path=path,
            standing=RunStatus.DAMAGED,
            ticks=0,
            length=0,
            agents=0,
            digest="",
            is_resumable=False,
            holder=holder,
        )
    summary = directory.summary()
    if holder is not None:
        standing = RunStatus.RUNNING
    elif summary is not None and summary.get("ticks") == ticks:  # else it tells of the run before it went on
        standing = RunStatus.DONE if ticks >= length else RunStatus.STOPPED
    else:
        standing = RunStatus.STOPPED if manifest.spent_at == ticks else RunStatus.CRASHED
    return ListedRun(
        path=path,
        standing=standing,
        ticks=ticks,
        length=length,
        agents=agents,
        digest=digest,
        is_resumable=standing in {RunStatus.STOPPED, RunStatus.CRASHED},
        holder=holder,
        parent=manifest.forks[-1].parent if manifest.forks else None,
    )


def _journal(path: Path) -> tuple[int, int, str]:
    """Agents, whole ticks and the digest of a run's journal."""
    disk = RealDisk(path)
    header, offset = read_header(disk)
    tick, link = 0, ORIGIN
    for name in checkpoint_names(disk)[:1]:
        try:
            at = read_checkpoint(disk, name).position
        except (ActorError, OSError):  # a run at work may have removed it this moment
            break
        tick, link, offset = at.tick, at.link, at.journal_bytes
    found = scan_journal(disk, offset, tick=tick, link=link)
    return header.agents, found.ticks, digest_of(found.link)

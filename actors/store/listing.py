"""The list of the runs in a directory, with their status."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum, unique
from pathlib import Path

import msgspec

from actors.core.errors import ActorError, JournalError
from actors.core.files import read_json
from actors.store.journal import JOURNAL
from actors.store.lock import LOCK, PHASE, PhaseNote, holder_of
from actors.store.manifest import MANIFEST, SUMMARY
from actors.store.rounds import ROUNDS
from actors.store.run import Recorded
from prism.errors import ConfigError
from prism.no_effect import remarks


@unique
class RunStatus(StrEnum):
    """The status of a run.

    `running`: a process works on it. `done`: it has all its ticks. `stopped`: it ended early, by a signal, a limit or
    its oracle. `crashed`: it ended in another way. `damaged`: its journal, manifest or configuration cannot be read, at
    least in part: a segment that is missing, or cut, or does not follow from the one before it. `prism verify` reads
    all.
    """

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    CRASHED = "crashed"
    DAMAGED = "damaged"


class ListedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run in the list.

    Args:
        domain: the name of its domain; empty if it is so damaged that nothing is known of it.
        ticks: whole ticks in its journal; `length`: ticks of the whole run.
        digest: the digest after those ticks.
        is_resumable: whether `prism resume` can continue it.
        holder: the process that works on it.
        phase: the phase of that process; None if there is no process, or it has not written its phase yet.
        stopped_by: what stopped it, in a word or two; empty unless it is `stopped`.
        fallbacks: the choices that were made without the oracle, if the run has ended with a summary.
        remarks: what was not as configured, a line each, if the run has ended with a summary.
        parent: the run that it branched off.
    """

    path: Path
    status: RunStatus
    domain: str = ""
    ticks: int = 0
    length: int = 0
    agents: int = 0
    digest: str = ""
    is_resumable: bool = False
    holder: str | None = None
    phase: PhaseNote | None = None
    stopped_by: str = ""
    fallbacks: int = 0
    remarks: tuple[str, ...] = ()
    parent: str | None = None


def runs_in(root: Path) -> list[ListedRun]:
    """Return the runs directly below a directory, the newest first; or the one run that the directory is."""
    return [list_run(path) for path in run_paths(root)]


def run_paths(root: Path) -> list[Path]:
    """Return the directories of the runs directly below a directory, or the directory itself, if it is a run's.

    The run that was begun or resumed last is the first; runs of one moment are ordered by name.
    """
    if (root / MANIFEST).is_file():
        return [root]
    found = [path for path in sorted(root.iterdir()) if (path / MANIFEST).is_file()]
    return sorted(found, key=lambda path: -_mark(path / MANIFEST)[0])


def list_run(path: Path) -> ListedRun:
    """Return one run with its status. It reads the heads of segments and the ticks after them, and changes nothing."""
    working = holder_of(path)
    phase = None if working is None else _phase(path)
    try:
        run = Recorded(path)
        length, agents, has_gap = run.config.simulation.length, run.header.agents, False
        try:
            for _ in run.blocks({}):  # no column is read
                pass
        except JournalError:
            has_gap = True
    except (ActorError, ConfigError, OSError):
        return ListedRun(path=path, status=RunStatus.DAMAGED, holder=working, phase=phase)
    ticks = run.length
    summary = run.summary_fields if run.summary_fields.get("ticks") == ticks else {}  # else that of an earlier end
    stop, stopped_by = run.manifest.stopped, str(summary.get("stopped_by") or "")
    if stop is not None and stop.tick == ticks:
        stopped_by = str(stop)
    if working is not None:
        status = RunStatus.RUNNING
    elif has_gap:
        status = RunStatus.DAMAGED
    elif summary:
        status = RunStatus.DONE if ticks >= length else RunStatus.STOPPED
    else:
        status = RunStatus.STOPPED if stopped_by else RunStatus.CRASHED
    fork = run.manifest.forks[-1] if run.manifest.forks else None
    reasons = kept if isinstance(kept := summary.get("fallbacks_by_reason"), dict) else {}
    return ListedRun(
        path=path,
        status=status,
        domain=run.domain_name,
        ticks=ticks,
        length=length,
        agents=agents,
        digest=run.digest,
        is_resumable=status in {RunStatus.STOPPED, RunStatus.CRASHED},
        holder=working,
        phase=phase,
        stopped_by=stopped_by if status is RunStatus.STOPPED else "",
        fallbacks=sum(count for count in reasons.values() if isinstance(count, int)),
        remarks=tuple(remarks({"not_as_configured": summary.get("not_as_configured", [])})),
        parent=None if fork is None else fork.parent,
    )


Marks = tuple[tuple[int, int], ...]
"""The time and size of some files: as long as they are the same, so are these files."""


def marks_of(path: Path) -> Marks:
    """Return the marks of the files that `list_run` reads: equal marks mean an equal result."""
    return tuple(_mark(path / name) for name in (MANIFEST, JOURNAL, LOCK, PHASE, ROUNDS, SUMMARY))


def _mark(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _phase(path: Path) -> PhaseNote | None:
    """Return the phase note of the process that holds the lock; None for a note that an earlier process left."""
    with suppress(OSError):
        note = read_json(path / PHASE, PhaseNote)
        return note if note.since >= (path / LOCK).stat().st_mtime else None
    return None

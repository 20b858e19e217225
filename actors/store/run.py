"""A run that is read from its directory: its manifest, settings and ticks; and a list of runs with their status."""

from __future__ import annotations

import os
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from enum import StrEnum, unique
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import msgspec

from actors.core.errors import ActorError, DamagedError, JournalError, RunDirectoryError
from actors.core.files import read_json, read_regular
from actors.core.frames import ORIGIN, digest_of
from actors.core.state import RoundsTable
from actors.factory.domains import show_of
from actors.factory.input_files import kept_inputs, missing_inputs, note_places
from actors.store.checkpoint import checkpoint_names, read_head
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL, Header, journal_size, read_tail
from actors.store.lock import LOCK, PHASE, PhaseNote, holder_of
from actors.store.manifest import CONFIG, MANIFEST, SUMMARY, read_manifest, read_summary
from actors.store.record import Block, Record, Wanted
from actors.store.rounds import ROUNDS, Rows, columns_of, read_content, rows_in
from prism.clock import SimulatedClock
from prism.config import LENGTH_MAX, Config
from prism.config.load import PlacedConfig, load_placed_config
from prism.errors import ConfigError, together
from prism.no_effect import remarks
from prism.show import Show

RESOLVED_LENGTH_MAX = 16 * LENGTH_MAX
"""The longest resolved configuration. With all defaults, and a line for each item, it is several times longer."""


def shown_path(path: Path) -> str:
    """Return a path as a text that every format can hold: a name may have bytes that are no UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def names_of(paths: Sequence[Path]) -> list[str]:
    """Return the name of each run beside the others: that of its directory, or the path if another has the same name.

    A run that is named twice is a RunDirectoryError.
    """
    resolved = [path.resolve() for path in paths]
    for place, path in enumerate(resolved):
        if path in resolved[:place]:
            raise RunDirectoryError(f"{paths[place]}: is named twice")
    names = [shown_path(Path(path.name)) for path in resolved]
    return [name if names.count(name) == 1 else shown_path(path) for name, path in zip(names, paths, strict=True)]


def read_resolved(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Read a run's own configuration, without the settings of the environment, and note where its inputs are.

    It is a ConfigError if it is missing, was not written by PRISM, or names an input that is not kept and does not
    exist.
    """
    try:
        text = read_regular(path, 4 * RESOLVED_LENGTH_MAX).decode()
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), f"cannot be read: {error}") from None
    placed = _loaded(text, str(path), tuple(overrides))
    kept = kept_inputs(placed.config)
    note_places(kept, path.parent)
    if missing := [*missing_inputs(placed, placed.config, but=kept)]:
        raise together(missing)
    return placed.config


@lru_cache(maxsize=2)
def _loaded(text: str, source: str, overrides: tuple[str, ...]) -> PlacedConfig:
    """Load a configuration. Several measures read the same run one after the other, and most of their time was this."""
    return load_placed_config(text, source, environment={}, overrides=overrides, length_max=RESOLVED_LENGTH_MAX)


def header_in(path: Path) -> Header:
    return read_tail(RealDisk(path)).header


class Recorded:
    """A run in a directory, which may be under way. A file is read when it is first needed; no file is changed.

    A directory of no run is a RunDirectoryError. Properties and methods raise a JournalError if the journal or the
    rounds cannot be read, and a ConfigError if the configuration cannot. `name`: its name beside other runs.
    """

    def __init__(self, path: Path, name: str = "") -> None:
        self.path = path
        self.name = name
        self.disk = RealDisk(path)
        self.manifest = read_manifest(path)
        self.length = 0  # whole ticks read so far
        self.digest = digest_of(ORIGIN)
        self._is_read = False
        self.notes: list[str] = []  # sentences on what is damaged, or lacking

    @cached_property
    def config(self) -> Config:
        return read_resolved(self.path / CONFIG)

    @cached_property
    def show(self) -> Show:
        """The names, tables and pictures that the domain declares for its runs."""
        return show_of(self.config)

    @cached_property
    def summary_fields(self) -> dict[str, Any]:
        """The content of `summary.json`; empty if the run has not ended, or did not end well."""
        return read_summary(self.path)

    @cached_property
    def record(self) -> Record:
        return Record(self.disk)

    @property
    def header(self) -> Header:
        return self.record.header

    @cached_property
    def journal_bytes(self) -> int:
        """The length of its journal when this was first asked for."""
        return journal_size(self.disk)

    @property
    def rows(self) -> Rows:
        return rows_in(read_content(self.disk), self.config.simulation.ticks_per_round)

    @cached_property
    def rounds(self) -> RoundsTable:
        rows = self.rows
        return columns_of(self.path, rows.header, rows.rows)

    def rounds_until(self, ticks: int) -> RoundsTable:
        count = bisect(self.rounds.get("tick", ()), ticks)
        return {name: column[:count] for name, column in self.rounds.items()}

    @cached_property
    def _clock(self) -> SimulatedClock:
        return SimulatedClock(self.config.simulation.epoch, self.config.simulation.tick_seconds)

    @property
    def domain_name(self) -> str:
        return self.config.simulation.domain

    def time_at(self, tick: int) -> int:
        """Return the simulated time at the beginning of a tick, in microseconds since 1970."""
        return self._clock.microseconds_at(tick)

    def blocks(self, wanted: Wanted, on_read: Callable[[int], None] = lambda _: None) -> Iterator[Block]:
        """Yield the whole ticks in blocks, up to a frame that a crash has torn.

        Once they were read to their end, they are read up to the same tick again, if the run goes on meanwhile. Damage
        that no crash explains is a DamagedError. `wanted`: as for `Record.blocks`. `on_read`: called after some ticks
        with the bytes read so far.
        """
        until = self.length if self._is_read else None
        for block in self.record.blocks(until=until, wanted=wanted):
            if (damage := block.damage) is not None:
                # At the end of the journal, behind all that is durable, a crash leaves a torn frame.
                durable = 0
                for name in checkpoint_names(self.disk):
                    with suppress(OSError, JournalError):  # a process that works on the run may have just removed it
                        durable = max(durable, read_head(self.disk, name).position.journal_bytes)
                if damage.offset < durable <= self.journal_bytes:
                    kept = f"`prism report` shows the {block.first + block.ticks:,} ticks before it"
                    remedy = f"{kept}; the summary and the rounds are other files; `prism verify {self.path}` says more"
                    raise DamagedError(str(self.path / JOURNAL), damage.offset, damage.problem, remedy)
            if until is None:
                self.length = block.first + block.ticks
                self.digest = self.digest if block.end is None else digest_of(block.end.link)
            yield block
            if block.end is not None:
                on_read(min(block.end.offset, self.journal_bytes))
        self._is_read = True


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


Marks = tuple[tuple[int, int], ...]  # the time and size of some files: as long as they are the same, so are these files


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
